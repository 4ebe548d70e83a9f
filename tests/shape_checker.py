"""The checker of shapes and types in tests, for pytest's `--jaxtyping-packages=headcats,shape_checker.checker`."""

from beartype import BeartypeConf, beartype

# As type checkers read annotations (PEP 484): a whole number is a float.
checker = beartype(conf=BeartypeConf(is_pep484_tower=True))
