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
    "task_texts": "headcats.tasks.texts",
    "cumulative": "headcats.sweeps",
    "joint_sweep": "headcats.sweeps",
    "sweep": "headcats.sweeps",
    "run": "headcats.study",
    "run_evidence": "headcats.study",
    "task_prompts": "headcats.study",
    "load": "headcats.results",
    "suite_blocks": "headcats.results",
    "preset": "headcats.presets",
    "AnsweredBatch": "headcats.prompts.answered",
    "AnsweredText": "headcats.prompts.answered",
    "score": "headcats.scores",
    "categorize": "headcats.categories",
    "head_table": "headcats.categories",
    "overlap": "headcats.categories",
    "relation_members": "headcats.categories",
    "replicated": "headcats.categories",
    "subsampled_overlap": "headcats.categories",
    "agreement": "headcats.evidence",
    "category_structure": "headcats.evidence",
    "half_agreement": "headcats.evidence",
    "judge_protocols": "headcats.evidence",
    "always_any": "headcats.scores.always_any",
    "function_vector_heads": "headcats.scores",
    "SteeringSettings": "headcats.evidence",
    "steering_heads": "headcats.evidence",
    "steer": "headcats.evidence",
    "method_scores": "headcats.evidence",
    "method_agreement": "headcats.evidence",
    "disagreements": "headcats.evidence",
    "relation_ablation": "headcats.evidence.relation_ablation",
    "dynamic_relation": "headcats.relations",
    "salient_tokens": "headcats.relations",
    "contrastive_gates": "headcats.gates",
    "toggle_curves": "headcats.gates",
    "GatingSettings": "headcats.gates",
    "FunctionProbeSettings": "headcats.probes.functions.settings",
    "TokenProbeSettings": "headcats.probes.tokens.settings",
    "cogqa_texts": "headcats.probes.functions.cogqa",
    "importance_effects": "headcats.probes.functions.results",
    "scale_function_heads": "headcats.probes.functions.scaling",
    "Question": "headcats.probes.tokens.question",
    "patching_by_role": "headcats.evidence.roles.patching",
    "attention_by_role": "headcats.evidence.roles.attention",
}
_MODULES = ("figures", "methods", "metrics", "rules")

__all__ = [
    "AnsweredBatch",
    "AnsweredText",
    "FunctionProbeSettings",
    "GatingSettings",
    "Head",
    "HookedModel",
    "PromptBatch",
    "PromptPair",
    "Question",
    "SteeringSettings",
    "Suite",
    "Task",
    "TokenProbeSettings",
    "__version__",
    "agreement",
    "always_any",
    "attention_by_role",
    "categorize",
    "category_structure",
    "cogqa_texts",
    "contrastive_gates",
    "cumulative",
    "disagreements",
    "dynamic_relation",
    "figures",
    "function_vector_heads",
    "half_agreement",
    "head_table",
    "importance_effects",
    "joint_sweep",
    "judge_protocols",
    "load",
    "load_model",
    "make_suite",
    "method_agreement",
    "method_scores",
    "methods",
    "metrics",
    "overlap",
    "patching_by_role",
    "preset",
    "relation_ablation",
    "relation_members",
    "replicated",
    "rules",
    "run",
    "run_evidence",
    "salient_tokens",
    "scale_function_heads",
    "score",
    "steer",
    "steering_heads",
    "subsampled_overlap",
    "suite",
    "suite_blocks",
    "sweep",
    "task",
    "task_prompts",
    "task_texts",
    "toggle_curves",
]

if TYPE_CHECKING:
    from headcats import figures, methods, metrics, rules
    from headcats.categories import categorize, head_table, overlap, relation_members, replicated, subsampled_overlap
    from headcats.evidence import (
        SteeringSettings,
        agreement,
        category_structure,
        disagreements,
        half_agreement,
        judge_protocols,
        method_agreement,
        method_scores,
        steer,
        steering_heads,
    )
    from headcats.evidence.relation_ablation import relation_ablation
    from headcats.evidence.roles.attention import attention_by_role
    from headcats.evidence.roles.patching import patching_by_role
    from headcats.gates import GatingSettings, contrastive_gates, toggle_curves
    from headcats.models import Head, HookedModel, load_model
    from headcats.presets import preset
    from headcats.probes.functions.cogqa import cogqa_texts
    from headcats.probes.functions.results import importance_effects
    from headcats.probes.functions.scaling import scale_function_heads
    from headcats.probes.functions.settings import FunctionProbeSettings
    from headcats.probes.tokens.question import Question
    from headcats.probes.tokens.settings import TokenProbeSettings
    from headcats.prompts import PromptPair
    from headcats.prompts.answered import AnsweredBatch, AnsweredText
    from headcats.prompts.batch import PromptBatch
    from headcats.relations import dynamic_relation, salient_tokens
    from headcats.results import load, suite_blocks
    from headcats.scores import function_vector_heads, score
    from headcats.scores.always_any import always_any
    from headcats.study import run, run_evidence, task_prompts
    from headcats.sweeps import cumulative, joint_sweep, sweep
    from headcats.tasks import Suite, Task, make_suite, suite, task
    from headcats.tasks.texts import task_texts


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"headcats.{name}")
    raise AttributeError(f"module 'headcats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
