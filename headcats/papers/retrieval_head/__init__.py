"""Retrieval heads: heads that copy a piece of a long text when it is asked for."""

from headcats.base.registry import public_names

__getattr__, __all__, __dir__ = public_names(__name__, __file__)
