"""headcats: which attention heads serve which kind of task, how sure is that, and show me.

The tree is the sentence: a *task* gives *prompts*; a *method* *sweeps* the *model*'s heads and yields *scores*; a
*rule* turns scores into *categories*; *evidence* tests them; *figures* show them. What is passed on from step to step
is labelled arrays (xarray): in memory, in a results folder, or your own.

    >>> import headcats as hc
    >>> results = hc.load("results/mini-icl")  # what the command `headcats run` writes
    >>> scores = hc.score(results, method="denoising_patch", metric="logit_diff")
    >>> scores.effect.dims
    ('task', 'layer', 'head')
    >>> members = hc.categorize(scores)
    >>> [str(name) for name in members.category.values]
    ['Algorithmic', 'Knowledge', 'Linguistic', 'Translation']
    >>> fig = hc.figures.overlap_map(hc.overlap(members))  # fig.show()

An effect is the share of the gap between the clean and the corrupted prompt that one head accounts for; positive means
that the head helps. A head is `in` a category (1), `out` of it (-1) or undecided (0). Layers and heads count from 0,
and layer 9, head 6 prints as `L9H6`. Every example of these pages runs in a directory that holds `results/mini-icl`.

## Models

`load_model` takes a name, a folder or a model of TransformerLens and gives a `HookedModel`; a `Head` is a place in it.

## Tasks and prompts

A function that returns pairs of words becomes a `Task` by `task`; a `suite` names the tasks of a study, `make_suite`
makes one (a `Suite`) of your own. A task may also give finished prompts (`PromptPair`), and a script may bring its own
tokens (`PromptBatch`). `task_prompts` makes the prompts of a run again. Methods that read texts take `AnsweredText` or
`AnsweredBatch` (from `task_texts`, or of the CogQA files from `cogqa_texts`), or a `Question` that the model answers.

## Run

`run` scores every head on every task of a suite, with the options of a paper by `preset`; `load` reads what it wrote,
and `suite_blocks` what methods that look at all tasks at once have left there. `sweep` replaces every head of a model
on one batch, `joint_sweep` whole sets of heads, such as those of `cumulative`.

## Score and sort

`score` gives effects with intervals and p values, `categorize` the heads of every category, `overlap` which are shared
and how many would be by chance (`subsampled_overlap` with as many tasks in each). `head_table` lists them. Other
answers: `relation_members` of relations in the weights, `always_any` of fitted gates, `importance_effects` of function
probes, `function_vector_heads` by effects over tasks.

## Is it real?

`run_evidence` ablates the heads of a category on new prompts, beside random heads. `judge_protocols`, `agreement` and
`replicated` ask whether methods, metrics and positions agree, `half_agreement` whether two halves of the prompts do,
`method_scores`, `method_agreement` and `disagreements` whether kinds of method do, and `category_structure` compares
different models.

## Asked in another way

`dynamic_relation` and `relation_ablation` test relations of the weights in running text, and `salient_tokens` shows the
words that a head changes most. `toggle_curves` switches gated heads off, `contrastive_gates` fits gates that one kind
of text needs and another does not. `scale_function_heads` switches the heads of a probe off. What fits has its settings
in `GatingSettings`, `FunctionProbeSettings` and `TokenProbeSettings`.

## Where in the prompt, and does it steer?

`patching_by_role` and `attention_by_role` are maps of layers and token roles. `steering_heads` ranks the heads whose
mean output `steer` adds to prompts that do not show the task (`SteeringSettings`).

## Look at it

`report` writes one page that explains finished results, `write_views` pages that show where the heads of every category
look; the functions of `headcats.figures` draw single figures.

## Ways to score, to judge and to draw

`headcats.methods`, `headcats.metrics`, `headcats.rules` and `headcats.figures` hold what can be named in the calls
above, and what registers more of them. Errors are those of `headcats.errors`.
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
    "report": "headcats.page",
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
    "write_views": "headcats.views.writing",
}
_MODULES = ("errors", "figures", "methods", "metrics", "rules")

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
    "errors",
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
    "report",
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
    "write_views",
]

if TYPE_CHECKING:
    from headcats import errors, figures, methods, metrics, rules
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
    from headcats.page import report
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
    from headcats.views.writing import write_views


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"headcats.{name}")
    raise AttributeError(f"module 'headcats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
