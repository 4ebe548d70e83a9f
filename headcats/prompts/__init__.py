"""From word pairs to batches of clean and corrupted tokens."""
