"""headcats: which attention heads serve which kind of task, how sure is that, and show me.

The tree is the sentence: a *task* gives *prompts*; a *method* *sweeps* the *model*'s heads and yields *scores*; a
*rule* turns scores into *categories*; *figures* show them.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> where it lives; imported at first use, so that reading results needs no torch.
_HOMES = {
    "HookedModel": "headcats.models",
    "Head": "headcats.models",
    "load_model": "headcats.models",
    "PromptBatch": "headcats.prompts.batch",
    "PromptPair": "headcats.prompts",
    "Suite": "headcats.tasks",
    "Task": "headcats.tasks",
    "make_suite": "headcats.tasks",
    "suite": "headcats.tasks",
    "task": "headcats.tasks",
    "cumulative": "headcats.sweeps",
    "joint_sweep": "headcats.sweeps",
    "sweep": "headcats.sweeps",
    "run": "headcats.study",
    "run_evidence": "headcats.study",
    "load": "headcats.results",
    "suite_blocks": "headcats.results",
    "preset": "headcats.presets",
    "AnsweredBatch": "headcats.prompts.answered",
    "AnsweredText": "headcats.prompts.answered",
    "score": "headcats.scores",
    "categorize": "headcats.categories",
    "head_table": "headcats.categories",
    "overlap": "headcats.categories",
    "replicated": "headcats.categories",
    "subsampled_overlap": "headcats.categories",
    "agreement": "headcats.evidence",
    "category_structure": "headcats.evidence",
    "half_agreement": "headcats.evidence",
    "judge_protocols": "headcats.evidence",
}
_MODULES = ("figures", "methods", "metrics", "rules")

__all__ = [
    "AnsweredBatch",
    "AnsweredText",
    "Head",
    "HookedModel",
    "PromptBatch",
    "PromptPair",
    "Suite",
    "Task",
    "__version__",
    "agreement",
    "categorize",
    "category_structure",
    "cumulative",
    "figures",
    "half_agreement",
    "head_table",
    "joint_sweep",
    "judge_protocols",
    "load",
    "load_model",
    "make_suite",
    "methods",
    "metrics",
    "overlap",
    "preset",
    "replicated",
    "rules",
    "run",
    "run_evidence",
    "score",
    "subsampled_overlap",
    "suite",
    "suite_blocks",
    "sweep",
    "task",
]

if TYPE_CHECKING:
    from headcats import figures, methods, metrics, rules
    from headcats.categories import categorize, head_table, overlap, replicated, subsampled_overlap
    from headcats.evidence import agreement, category_structure, half_agreement, judge_protocols
    from headcats.models import Head, HookedModel, load_model
    from headcats.presets import preset
    from headcats.prompts import PromptPair
    from headcats.prompts.answered import AnsweredBatch, AnsweredText
    from headcats.prompts.batch import PromptBatch
    from headcats.results import load, suite_blocks
    from headcats.scores import score
    from headcats.study import run, run_evidence
    from headcats.sweeps import cumulative, joint_sweep, sweep
    from headcats.tasks import Suite, Task, make_suite, suite, task


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"headcats.{name}")
    raise AttributeError(f"module 'headcats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
