"""Models: one adapter over TransformerLens' two classes, loading, and the checks before any number is trusted."""

from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_clean_unchanged, check_hooks, check_model, check_residual
from headcats.models.head import Head
from headcats.models.loading import load_model

__all__ = [
    "Head",
    "HookedModel",
    "adapt",
    "check_clean_unchanged",
    "check_hooks",
    "check_model",
    "check_residual",
    "load_model",
]
