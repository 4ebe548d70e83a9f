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
    "SteeringSettings": "steering_prompts",
    "agreement": "agreeing",
    "category_structure": "models",
    "disagreements": "method_agreeing",
    "examine": "examination",
    "half_agreement": "halves",
    "judge_protocols": "protocols",
    "method_agreement": "method_agreeing",
    "method_scores": "method_grid",
    "select": "selection",
    "most_specific": "selection",
    "steer": "steering",
    "steering_heads": "steering",
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
    from headcats.evidence.agreeing import agreement
    from headcats.evidence.examination import HeldOut, Options, examine
    from headcats.evidence.halves import half_agreement
    from headcats.evidence.method_agreeing import disagreements, method_agreement
    from headcats.evidence.method_grid import method_scores
    from headcats.evidence.models import category_structure
    from headcats.evidence.protocols import JudgedProtocols, judge_protocols
    from headcats.evidence.selection import Selection, most_specific, select
    from headcats.evidence.steering import steer, steering_heads
    from headcats.evidence.steering_prompts import SteeringSettings


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
