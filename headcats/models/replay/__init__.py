"""Running parts of a model again: what the fast paths of `headcats.sweeps` are made of."""
