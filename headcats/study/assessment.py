"""Before any head is scored: can the model do a task, what does it say instead, and what memory will sweeps take?"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from headcats.base.errors import StatisticsWarning
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.replay.record import is_replayable
from headcats.prompts.batch import PromptBatch
from headcats.prompts.padding import in_order, keys_of
from headcats.prompts.template import has_query
from headcats.results.records import NOT_USED, DropCounts, GivenAnswer, TaskRecord
from headcats.statistics.task import mean_interval
from headcats.study.plan import Study
from headcats.study.preparation import Preparation, Prepared
from headcats.sweeps.memory import MemoryPlan
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.within_memory import budget
from headcats.tasks.definition import Task

SHOWN = 3
"""Wrong answers of a task that are kept."""
_PROMPT_END = 40
"""Characters of the end of a finished prompt that are kept."""


class Measured(NamedTuple):
    """Metrics of the unpatched runs of a task: the one that decides on the gap, accuracy and logit difference.

    `answers`, of a few prompts that the model gets wrong, may be made only when they are read.
    """

    clean: Float[np.ndarray, "metric prompt"]
    corrupted: Float[np.ndarray, "metric prompt"]
    answers: Iterable[GivenAnswer]


def measure(metric: str, runs: Sequence[BaseRuns], scored: Sequence[PromptBatch]) -> Measured:
    """Measurements that a task is judged by, in the order of its `scored` prompts; `metric` decides on the gap."""
    order = in_order(keys_of([run.batch for run in runs]), keys_of(scored))
    clean, corrupted = (
        np.concatenate(
            [run.measured((metric, "accuracy", "logit_diff"), run.base_run(side)).cpu().numpy() for run in runs], axis=1
        )[:, order]
        for side in ("clean", "corrupted")
    )
    return Measured(clean, corrupted, given_answers(runs[0].model, scored, clean[1]))


def assess(study: Study, prepared: Prepared, runs: Sequence[BaseRuns]) -> TaskRecord:
    """Entry of a task in the manifest, by runs of its prompts (see `judge`)."""
    return judge(study, prepared, None if prepared.problem else measure(study.metrics[0], runs, prepared.scored))


def judge(study: Study, prepared: Prepared, measured: Measured | None) -> TaskRecord:
    """Entry of a task in the manifest; `measured` is None of one without prompts.

    Skipped: no prompt; a clean accuracy below `min_accuracy`, or a clean logit difference not clearly above
    `min_logit_diff`; a gap whose 95 % interval reaches 0 (effects are shares of the gap); or a task marked as solvable
    without demonstrations. A StatisticsWarning names near-duplicates.
    """
    scored = prepared.scored
    record = TaskRecord(
        **source_fields(study, prepared.task.name),
        category=study.suite.category_of(prepared.task).name,
        source=prepared.task.source,
        rows=_rows(prepared.task, n_used=len(study.pairs[prepared.task.name])),
        word_pairs=DropCounts() if prepared.words is None else DropCounts(**asdict(prepared.words)),
        prompts=DropCounts(**asdict(prepared.prompts)),
        reference_prompts=DropCounts(**asdict(prepared.references)),
        refusal=prepared.problem,
        refused_by="prompts" if prepared.problem else "",
        near_duplicates=len(prepared.near_duplicates),
        n_left=prepared.n_left,
        corruption=prepared.corruption if prepared.corruption != study.corruption else "",
        prompt_tokens=_mean(batch.length for batch in scored for _ in range(len(batch))),
        answer_tokens=_mean(n for batch in scored for n in (batch.answers >= 0).sum(1).tolist()),
        distractors=tuple(sorted({name for batch in scored for name in batch.distractor_tasks})),
    )
    if measured is None:
        return record
    if keys := prepared.near_duplicates:
        warnings.warn(
            f"{len(keys)} prompts of task {prepared.task.name!r} have the answer, the distractor and the words that "
            f"differ between clean and corrupted of a prompt with another item, such as {keys[0]!r} and {keys[1]!r}. "
            "Every item counts as a case of its own: if these are wordings of one case, give them one item.",
            StatisticsWarning,
            stacklevel=3,
        )
    metric, (clean, corrupted, wrong_answers) = study.metrics[0], measured
    items = np.array([item for batch in prepared.scored for item in batch.items])
    gap, low, high = interval = mean_interval(clean[0] - corrupted[0], items)
    refused_by, reason = _not_done(study, clean[1], clean[2], items)
    answers = tuple(wrong_answers) if reason else ()
    if not prepared.task.needs_demonstrations:
        refused_by = "demonstrations"
        reason = "marked as solvable without demonstrations, so its corrupted prompts test nothing"
    elif not reason and not low > 0:
        refused_by = "gap"
        reason = f"no clear gap between clean and corrupted prompts: {metric} {_interval_text(interval)}"
    by_gap = replace(study, min_accuracy=0.0, min_logit_diff=0.0)
    has_gap = refused_by == "min_accuracy" and low > 0 and not _not_done(by_gap, clean[1], clean[2], items)[0]
    return replace(
        record,
        accuracy=float(clean[1].mean()),
        corrupted_accuracy=float(corrupted[1].mean()),
        metric=metric,
        gap=gap,
        low=low,
        high=high,
        n_items=len(np.unique(items)),
        refusal=reason,
        refused_by=refused_by,
        has_gap=has_gap,
        given_answers=answers,
        prompt_hash=tuple(batch.fingerprint() for batch in prepared.scored),
    )


def source_fields(study: Study, task: str) -> dict[str, Any]:
    """Fields of a task's record that say which source it is of, and the template of its prompts."""
    sources = study.sources
    return {
        "independent_source": sources.labels[task],
        "joined_by": sources.joined_by[task],
        "linked": sources.linked[task],
        "template": sources.templates.get(task, study.template.name),
    }


def _mean(numbers: Iterable[float]) -> float | None:
    listed = list(numbers)
    return float(np.mean(listed)) if listed else None


def _rows(task: Task, *, n_used: int) -> DropCounts:
    """Counts of the rows of a task's file: of more than a study can use, some are drawn."""
    if task.drops is None:
        return DropCounts()
    counts = DropCounts(**asdict(task.drops))
    if counts.kept is None or counts.kept <= n_used:
        return counts
    return replace(counts, kept=n_used, dropped={**counts.dropped, NOT_USED: counts.kept - n_used})


def _not_done(
    study: Study,
    accuracy: Float[np.ndarray, " prompt"],
    logit_diff: Float[np.ndarray, " prompt"],
    items: Shaped[np.ndarray, " prompt"],
) -> tuple[str, str]:
    """Which gate a task fails by its clean prompts, and why in words; empty texts if it passes both."""
    if accuracy.mean() < study.min_accuracy:
        share = f"accuracy {accuracy.mean():.2f} on clean prompts, below min_accuracy={study.min_accuracy:g}"
        return "min_accuracy", f"the model cannot do it: {share}"
    if study.min_logit_diff is None:
        return "", ""
    interval = mean_interval(logit_diff, items)
    if interval[1] > study.min_logit_diff:
        return "", ""
    least = f"not clearly above min_logit_diff={study.min_logit_diff:g}"
    shown = f"logit_diff {_interval_text(interval)} on clean prompts, {least}"
    return "min_logit_diff", f"the model does not prefer the answer: {shown}"


def _interval_text(interval: tuple[float, float, float]) -> str:
    mean, low, high = interval
    return f"{mean:.2f}, 95 % interval {low:.2f} to {high:.2f}"


def memory_plan(
    model: HookedModel, study: Study, preparation: Preparation, *, limit: str | int | None, path: str = "auto"
) -> MemoryPlan | None:
    """Plan of the sweep that needs most; None if no task can be written as prompts, or no method plans its own.

    An OptionError for a limit that cannot be read, or that nothing fits into.
    """
    available = budget(limit, *model.devices)
    path = path if is_replayable(model) else "hooked"
    plans = [
        plan_of(spec, model, study, batch, budget=available, path=path)
        for task, specs in study.cells.items()
        for spec in specs
        for batch in preparation.batches(task.name, spec)
    ]
    return max((sweep for sweep in plans if sweep), key=lambda sweep: sweep.peak, default=None)


def plan_of(
    spec: MethodSpec, model: HookedModel, study: Study, batch: PromptBatch, *, budget: int, path: str
) -> MemoryPlan | None:
    """Plan of the sweep of a batch by one method, into so many bytes; None for one that plans none."""
    planned: MemoryPlan | None = spec.method.memory_plan(
        model,
        batch,
        positions=spec.positions,
        n_metrics=len(study.metrics),
        budget=budget,
        path=path,
        **dict(spec.options),
    )
    return planned


def given_answers(
    model: HookedModel, batches: Sequence[PromptBatch], accuracy: Float[np.ndarray, " prompt"]
) -> Iterator[GivenAnswer]:
    """Greedy continuations of the first prompts of `accuracy` 0, each of another query item, as long as the answers."""
    prompts = [(batch, row) for batch in batches for row in range(len(batch))]
    wrong: dict[str, tuple[PromptBatch, int]] = {}
    for (batch, row), right in zip(prompts, accuracy, strict=True):
        if not right:
            wrong.setdefault(batch.items[row], (batch, row))
    return (_given_answer(model, *prompt) for prompt in islice(wrong.values(), SHOWN))


def _given_answer(model: HookedModel, batch: PromptBatch, row: int) -> GivenAnswer:
    tokenizer, prompt = model.text_tokenizer, batch.clean[row]
    answer = [token for token in batch.answers[row].tolist() if token >= 0]
    given = tokenizer.decode(_continuation(model, prompt, n=len(answer)))
    end = tokenizer.decode(prompt, skip_special_tokens=True).rstrip(" ")[-_PROMPT_END:]
    shown = batch.items[row] if has_query(batch.roles[row]) else end
    return GivenAnswer(shown, tokenizer.decode(answer), given)


def _continuation(model: HookedModel, prompt: Tensor, *, n: int) -> list[int]:
    """The `n` most likely tokens, one after the other; fewer at the end of the text or of the context."""
    tokens, start = prompt[None], len(prompt)
    while tokens.shape[1] < min(start + n, model.n_ctx):
        token = int(model.logits(tokens)[0].argmax())
        if token == model.text_tokenizer.eos_token_id:
            break
        tokens = torch.cat([tokens, torch.tensor([[token]])], 1)
    return tokens[0, start:].tolist()
