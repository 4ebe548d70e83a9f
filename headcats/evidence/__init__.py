"""What speaks for a category: its heads, chosen on some prompts, are ablated on others, beside random heads; and what
its heads depend on: protocols, prompts, models.

Loaded at first use, so that comparing saved results needs no torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "HeldOut": "examination",
    "JudgedProtocols": "comparison.protocols",
    "Options": "examination",
    "Selection": "selection",
    "SteeringSettings": "steering.prompts",
    "agreement": "comparison.agreeing",
    "category_structure": "comparison.models",
    "disagreements": "comparison.method_agreeing",
    "examine": "examination",
    "half_agreement": "comparison.halves",
    "judge_protocols": "comparison.protocols",
    "method_agreement": "comparison.method_agreeing",
    "method_scores": "comparison.method_grid",
    "select": "selection",
    "most_specific": "selection",
    "steer": "steering.steer",
    "steering_heads": "steering.steer",
}

__all__ = [
    "HeldOut",
    "JudgedProtocols",
    "Options",
    "Selection",
    "SteeringSettings",
    "agreement",
    "category_structure",
    "disagreements",
    "examine",
    "half_agreement",
    "judge_protocols",
    "method_agreement",
    "method_scores",
    "most_specific",
    "select",
    "steer",
    "steering_heads",
]

if TYPE_CHECKING:
    from headcats.evidence.comparison.agreeing import agreement
    from headcats.evidence.comparison.halves import half_agreement
    from headcats.evidence.comparison.method_agreeing import disagreements, method_agreement
    from headcats.evidence.comparison.method_grid import method_scores
    from headcats.evidence.comparison.models import category_structure
    from headcats.evidence.comparison.protocols import JudgedProtocols, judge_protocols
    from headcats.evidence.examination import HeldOut, Options, examine
    from headcats.evidence.selection import Selection, most_specific, select
    from headcats.evidence.steering.prompts import SteeringSettings
    from headcats.evidence.steering.steer import steer, steering_heads


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
