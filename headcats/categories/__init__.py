"""Tasks to categories, and categories to their overlap."""

from headcats.base.registry import public_names

__getattr__, __all__ = public_names(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
