"""What speaks for a category: its heads, chosen on some prompts, are ablated on others, beside random heads; and what
its heads depend on: protocols, prompts, models.

Loaded at first use, so that comparing saved results needs no torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "HeldOut": "examination",
    "JudgedProtocols": "protocols",
    "Options": "examination",
    "Selection": "selection",
    "agreement": "agreeing",
    "category_structure": "models",
    "examine": "examination",
    "half_agreement": "halves",
    "judge_protocols": "protocols",
    "select": "selection",
    "most_specific": "selection",
}

__all__ = [
    "HeldOut",
    "JudgedProtocols",
    "Options",
    "Selection",
    "agreement",
    "category_structure",
    "examine",
    "half_agreement",
    "judge_protocols",
    "most_specific",
    "select",
]

if TYPE_CHECKING:
    from headcats.evidence.agreeing import agreement
    from headcats.evidence.examination import HeldOut, Options, examine
    from headcats.evidence.halves import half_agreement
    from headcats.evidence.models import category_structure
    from headcats.evidence.protocols import JudgedProtocols, judge_protocols
    from headcats.evidence.selection import Selection, most_specific, select


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
