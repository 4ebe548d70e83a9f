"""The test of categories on held-out prompts: every ablation it needs in one pass, and what they show."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.base.errors import DataError, check_count
from headcats.evidence.chosen_heads import chosen_sets
from headcats.evidence.confounders import StratifiedLabellings, Value, stratified_labellings
from headcats.evidence.damage import Work, done_here, measure_tasks
from headcats.evidence.findings import verdict_findings
from headcats.evidence.labelling_statistics import DAMAGED
from headcats.evidence.likeness import alike_sources
from headcats.evidence.specificity import tested_categories
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.prompts.batch import PromptBatch
from headcats.results.finding import first_names, line
from headcats.sweeps.reference import Reference

# What each damages is held in memory, by source and category; the smallest p then has five digits.
MOST_RELABELLINGS = 100_000


@dataclass(frozen=True)
class Options:
    """Options of the test of categories; an OptionError for more relabellings than can be held."""

    positions: str = "last"  # where heads are ablated: "last" or "all"
    relabellings: int = 200  # beside the true labels
    seed: int = 0  # of relabellings

    def __post_init__(self) -> None:
        why = "the result of each is held in memory"
        check_count("relabellings", self.relabellings, most=MOST_RELABELLINGS, why_most=why)


@dataclass(frozen=True)
class HeldOut:
    """Prompts that heads are tested on, with the category and independent source of every task."""

    batches: Mapping[str, Sequence[PromptBatch]]  # about query items that heads were not chosen by
    category_of: Mapping[str, str]  # of every task of the suite
    source_of: Mapping[str, str]  # of every task
    linked: Mapping[str, Collection[str]]  # task -> tasks of other sources with a third of its words
    grouped: Collection[str]  # tasks whose source the user has named, however alike they are
    covariates: Mapping[str, Mapping[str, Value]]  # property -> task -> what may explain its effects
    reference: Reference  # prompts of the means that replace z


@dataclass(frozen=True)
class LabelledStudy:
    """Study that heads are chosen by, with the labels of its tasks."""

    tasks: list[str]  # with numbers on both halves of the items
    heads: list[Head]
    effects: tuple[Float[np.ndarray, "task head"], Float[np.ndarray, "task head"]]  # heads are chosen by the first
    stratified: StratifiedLabellings
    alike: list[list[str]]  # tasks that count as one source for their profiles
    left_out: dict[str, str]  # task -> why


def examine(
    model: HookedModel,
    held: HeldOut,
    halves: tuple[xr.Dataset, xr.Dataset],
    *,
    options: Options,
    work: Work | None = None,
    memory: str | int | None = None,
) -> xr.DataTree:
    """Test every category of the scores on prompts that its heads were not chosen by; nodes: docs/schema.md.

    `halves` are the scores of both halves of the query items; the held-out prompts are about the second. `work` does
    the ablations, by default here and one after the other.
    """
    categories = [entry["name"] for entry in json.loads(halves[0].attrs["categories"])]
    study = labelled_study(held, halves, categories, options)
    chosen = dict(
        zip(study.tasks, chosen_sets(study.effects[0], study.stratified.labellings, study.heads), strict=True)
    )
    sets = {task: set(chosen[task][0]) for task in study.tasks}
    measured, not_measured = measure_tasks(
        held.batches,
        sets,
        reference=held.reference,
        positions=options.positions,
        work=work or done_here(model),
        memory=memory,
    )
    left_out = study.left_out | not_measured
    if not measured:
        raise DataError(_nothing_tested(left_out))
    shares = {task: measured[task].shares(chosen[task][0]) for task in measured}
    tested, table = tested_categories(study.effects, study.stratified, chosen, shares, categories=categories)
    undamaged = [task for task in measured if any(chosen[task][0]) and not tested["damaged"].sel(task=task)]
    nodes = {"relabelling": tested, "specificity": table}
    findings = [
        *verdict_findings(tested, table),
        *(line("evidence.alike", tasks=tasks, category=held.category_of[tasks[0]]) for tasks in study.alike),
        *([line("evidence.undamaged", tasks=undamaged, n=len(undamaged), least=DAMAGED)] if undamaged else []),
        *(
            line("evidence.tasks_not_tested", tasks=tasks, n=len(tasks), reason=reason)
            for reason, tasks in _by_reason(left_out).items()
        ),
    ]
    root = xr.Dataset(
        attrs={
            "reading": "\n".join(" ".join(str(finding).split()) for finding in findings),
            "options": json.dumps(asdict(options)),
            "left_out": json.dumps(left_out, ensure_ascii=False),
        }
    )
    return xr.DataTree.from_dict({"/": root, **{f"/{name}": node for name, node in nodes.items()}})


def labelled_study(
    held: HeldOut, halves: tuple[xr.Dataset, xr.Dataset], categories: list[str], options: Options
) -> LabelledStudy:
    """The tasks with an effect of every head on both halves, and other labels for them."""
    scored = [task for task in halves[0]["task"].values.tolist() if task in held.batches]
    common = [task for task in scored if task in halves[1]["task"].values]
    grids = [half["effect"].transpose("task", "layer", "head").sel(task=common).values for half in halves]
    exists = ~np.isnan(grids[0]).all(axis=0)
    rows = [grid[:, exists] for grid in grids]
    left_out = {task: "all query items are in one half" for task in scored if task not in common}
    for task, *effects in zip(common, *rows, strict=True):
        if any(np.isnan(row).any() or not row.size for row in effects):
            left_out[task] = "the effects of heads are unknown on half of the query items"
        elif not all(row.any() for row in effects):
            left_out[task] = "no head has any effect on half of the query items"
    tasks = [task for task in common if task not in left_out]
    if not tasks:
        raise DataError(_nothing_tested(left_out))
    kept = [task in tasks for task in common]
    layers, numbers = halves[0]["layer"].values, halves[0]["head"].values
    labels = np.array([categories.index(held.category_of[task]) for task in tasks])
    sources = np.unique([held.source_of[task] for task in tasks], return_inverse=True)[1]
    halves_of_effects = rows[0][kept], rows[1][kept]
    merged = alike_sources(halves_of_effects, labels, sources, apart=[task in held.grouped for task in tasks])
    stratified = stratified_labellings(
        labels,
        merged,
        np.array([[other in held.linked[task] for other in tasks] for task in tasks]),
        {name: [of_task[task] for task in tasks] for name, of_task in held.covariates.items()},
        n_categories=len(categories),
        n=options.relabellings,
        seed=options.seed,
    )
    grown = [np.flatnonzero(merged == source) for source in np.unique(merged)]
    return LabelledStudy(
        tasks,
        [Head(int(layers[layer]), int(numbers[head])) for layer, head in np.argwhere(exists)],
        halves_of_effects,
        stratified,
        [[tasks[place] for place in places] for places in grown if len(np.unique(sources[places])) > 1],
        left_out,
    )


def _nothing_tested(left_out: Mapping[str, str]) -> str:
    grouped = _by_reason(left_out).items()
    reasons = "; ".join(f"{first_names(tasks, 8)}: {reason}" for reason, tasks in grouped) or "no task was scored"
    return f"No task can be tested on held-out prompts ({reasons})."


def _by_reason(left_out: Mapping[str, str]) -> dict[str, list[str]]:
    return {reason: [task for task in left_out if left_out[task] == reason] for reason in left_out.values()}
