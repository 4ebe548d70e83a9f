"""Constants of Todd et al. (2024)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PAPERS_RUN: Mapping[str, Any] = MappingProxyType(
    {
        "methods": ("function_vector_patch",),
        "n_prompts": 25,
        "n_demos": 10,
        "template": "question",
        "corruption": "shuffled_labels",
        "answers": "first_token",
        "metrics": ("prob",),
    }
)
"""Options of `hc.run`."""
