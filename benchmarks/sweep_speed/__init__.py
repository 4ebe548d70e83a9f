"""Parts of `benchmarks/speed.py`: what is computed, by whom, how it is measured and how it is shown."""
