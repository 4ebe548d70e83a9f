"""Tests of categories: relabelled tasks, held-out ablation, and what heads depend on.

Loaded at first use, so that comparing saved results needs no torch.
"""

from headcats.base.registry import public_names

__getattr__, __all__, __dir__ = public_names(__name__, __file__)
