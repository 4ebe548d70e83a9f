"""The study of a real language model: the way to its weights, and checks against what is known."""
