"""Parts of `benchmarks/recovery.py`: data with a known truth, what is found in them, and how it is shown."""
