"""The test of categories on held-out prompts: every ablation it needs in one pass, and what they show."""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import xarray as xr

from headcats.errors import DataError, format_duration, pluralize
from headcats.evidence import contrasts, curves, self_repair, specificity, trials
from headcats.evidence.damage import TaskDamage, blocks_needed, measure_damage
from headcats.evidence.findings import contrast_findings, multiplicity_findings, redundancy_findings, verdict_findings
from headcats.evidence.trials import most_specific, select
from headcats.evidence.verdicts import verdicts
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.prompts.batch import PromptBatch
from headcats.results.finding import Finding, line
from headcats.rules.rule import Rule
from headcats.sweeps.reference import Reference
from headcats.sweeps.tree import HeadSet

_log = logging.getLogger("headcats")
_PROBED_SETS = 32


@dataclass(frozen=True)
class Options:
    """How heads are chosen and tested.

    Attributes:
        rule: Rule of membership; None is the default of `hc.categorize`.
        min_tasks: As in `hc.categorize`.
        positions: Where heads are ablated: "last" or "all".
        controls: Random sets, and relabellings, per tested set.
        seed: Seed of random sets and resamples.
    """

    rule: Rule | None = None
    min_tasks: int | str = "half"
    positions: str = "last"
    controls: int = 100
    seed: int = 0


@dataclass(frozen=True)
class HeldOut:
    """Prompts that heads are tested on.

    Attributes:
        batches: Task -> its prompts, about query items that heads were not chosen by.
        category_of: Task -> category, for every task of the suite (any may be a distractor).
        reference: Prompts of the means that replace z.
    """

    batches: Mapping[str, Sequence[PromptBatch]]
    category_of: Mapping[str, str]
    reference: Reference


def examine(model: HookedModel, held: HeldOut, scores: xr.Dataset, *, options: Options) -> xr.DataTree:
    """Test every category of the scores on prompts that its heads were not chosen by.

    Nodes `specificity` and `exclusive` (see `headcats.evidence.specificity`; the second with heads of one category
    alone), `contrasts`, `curves`, `self_repair`. Attributes of the root: `reading` (one sentence a line), `options`
    (JSON), `left_out` (JSON: task -> why it could not be tested). A DataError with these reasons if no task can be.
    """
    categories = [entry["name"] for entry in json.loads(scores.attrs["categories"])]
    tasks = [task for task in scores["task"].values.tolist() if task in held.batches]
    by_all_tasks = select(scores, rule=options.rule, min_tasks=options.min_tasks)
    selections = {task: select(scores, rule=options.rule, min_tasks=options.min_tasks, without=task) for task in tasks}
    tested = {name: most_specific(selection.members, model.n_heads) for name, selection in by_all_tasks.items()}
    all_heads, exclusive = (
        trials.trials(selections, model.n_heads, n=options.controls, seed=options.seed, exclusive=is_exclusive)
        for is_exclusive in (False, True)
    )
    sequences = curves.sequences(selections, model.n_heads, seed=options.seed)
    sets = {
        task: trials.sets_of(all_heads, task)
        | trials.sets_of(exclusive, task)
        | curves.sets_of(sequences, task)
        | self_repair.sets_of(tested.get(held.category_of[task], ()))
        for task in tasks
    }
    _log_expected_time(model, held, sets, options)
    measured, left_out = _measured(model, held, sets, options)
    direct, notes = _direct_effects(model, held, measured, tested)
    nodes = {}
    for name, designed in (("specificity", all_heads), ("exclusive", exclusive)):
        table = specificity.specificity(designed, measured, categories=categories, seed=options.seed)
        nodes[name] = table.assign(verdict=verdicts(table))
    nodes["contrasts"] = contrasts.contrasts(all_heads, measured, categories=categories, category_of=held.category_of)
    nodes["curves"] = curves.curves(sequences, measured, categories=categories)
    nodes["self_repair"] = self_repair.self_repair(tested, measured, direct, notes=notes, positions=options.positions)
    relaxed = {
        name: selection.relaxed
        for by_category in selections.values()
        for name, selection in by_category.items()
        if selection.relaxed
    }
    findings = [
        *_findings(nodes, options),
        *(line("evidence.task_not_tested", task=task, reason=reason) for task, reason in left_out.items()),
        *(line("evidence.relaxed", category=name, min_tasks=options.min_tasks, n=n) for name, n in relaxed.items()),
        *notes.values(),
        *multiplicity_findings(nodes["specificity"], nodes["exclusive"]),
    ]
    root = xr.Dataset(
        attrs={
            "reading": "\n".join(" ".join(str(finding).split()) for finding in findings),
            "options": json.dumps(asdict(options) | {"rule": scores.attrs.get("rule", repr(options.rule))}),
            "left_out": json.dumps(left_out, ensure_ascii=False),
        }
    )
    return xr.DataTree.from_dict({"/": root, **{f"/{name}": table for name, table in nodes.items()}})


def _measured(
    model: HookedModel, held: HeldOut, sets: Mapping[str, set[HeadSet]], options: Options
) -> tuple[dict[str, TaskDamage], dict[str, str]]:
    """Task -> damage by its sets, and task -> why it cannot be tested."""
    measured: dict[str, TaskDamage] = {}
    left_out: dict[str, str] = {}
    for task, task_sets in sets.items():
        try:
            measured[task] = measure_damage(
                model,
                held.batches[task],
                task_sets,
                category=held.category_of[task],
                reference=held.reference,
                positions=options.positions,
                seed=options.seed,
            )
        except DataError as error:
            left_out[task] = str(error).rstrip(".")
    if not measured:
        reasons = "; ".join(f"{task}: {reason}" for task, reason in left_out.items()) or "no task was scored"
        raise DataError(f"No task can be tested on held-out prompts ({reasons}).")
    return measured, left_out


def _log_expected_time(model: HookedModel, held: HeldOut, sets: Mapping[str, set[HeadSet]], options: Options) -> None:
    """Log the time that the ablations will take, estimated from a few of them."""
    blocks = {
        task: blocks_needed(held.batches[task], task_sets, positions=options.positions, n_layers=model.n_layers)
        for task, task_sets in sets.items()
    }
    task = next((task for task in sets if blocks[task]), None)
    if task is None:
        return
    few = sorted(sets[task])[:: max(1, len(sets[task]) // _PROBED_SETS)]
    probe = held.batches[task][:1]
    seconds = 0.0
    try:
        # The first time also pays for checks and the means of the reference, which later tasks share.
        for _ in range(2):
            started = time.monotonic()
            measure_damage(model, probe, few, category="", reference=held.reference, positions=options.positions)
            seconds = time.monotonic() - started
    except DataError:
        return
    probed = blocks_needed(probe, few, positions=options.positions, n_layers=model.n_layers)
    _log.info(
        "Time: at most about %s for %s (sets of heads x tasks) at positions '%s', estimated from a few of them.",
        format_duration(seconds * sum(blocks.values()) / probed),
        pluralize(sum(map(len, sets.values())), "ablation"),
        options.positions,
    )


def _direct_effects(
    model: HookedModel, held: HeldOut, measured: Mapping[str, TaskDamage], tested: Mapping[str, tuple[Head, ...]]
) -> tuple[dict[str, dict[Head, float]], dict[int, Finding]]:
    """Task -> head -> direct effect, and layer -> why its heads have none."""
    layers = sorted({head.layer for heads in tested.values() for head in heads})
    tokens = next(iter(held.batches[next(iter(measured))])).clean
    notes = {layer: note for layer in layers if (note := self_repair.why_not_additive(model, tokens, layer))}
    direct = {}
    for task, damage in measured.items():
        heads = tested.get(damage.category, ())
        additive = [head for head in heads if head.layer not in notes]
        effects = self_repair.direct_effects(model, held.batches[task], additive, reference=held.reference)
        direct[task] = {head: effects.get(head, float("nan")) for head in heads}
    return direct, notes


def _findings(nodes: Mapping[str, xr.Dataset], options: Options) -> list[Finding]:
    """What the tables show."""
    all_heads, n_requested = nodes["specificity"], options.controls
    findings = verdict_findings(all_heads, n_requested=n_requested)
    findings += verdict_findings(nodes["exclusive"], n_requested=n_requested, exclusive=True, beside=all_heads)
    if (all_heads["heads"] != "").any():
        findings += contrast_findings(nodes["contrasts"])
        findings += redundancy_findings(nodes["self_repair"])
        if options.positions != "last":
            findings.append(self_repair.NOT_COMPARABLE)
    return findings
