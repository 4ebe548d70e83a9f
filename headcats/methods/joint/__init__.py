"""Joint methods: they judge heads over all tasks at once. Names for those of other packages are in `__init__.pyi`."""

from headcats.base.registry import public_names

__getattr__, __all__ = public_names(__name__, __file__)
