"""Tasks to categories, and categories to their overlap."""

from headcats.base.registry import public_names

__getattr__, __all__, __dir__ = public_names(__name__, __file__)
