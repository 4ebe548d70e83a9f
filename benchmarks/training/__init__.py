"""How the bundled models were trained, measured and chosen; `benchmarks/train.py` is the command."""
