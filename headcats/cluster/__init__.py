"""A run on a Ray cluster: where it is, workers that hold the model, and who does what."""
