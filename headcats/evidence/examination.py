"""All of the evidence for and against a set of categories, from one pass over held-out prompts."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import xarray as xr

from headcats.errors import DataError
from headcats.evidence import contrasts, curves, reading, self_repair, specificity, trials
from headcats.evidence.contrast_reading import contrast_sentences
from headcats.evidence.damage import TaskDamage, blocks_needed, measure_damage
from headcats.evidence.selection import Selection, most_specific, select
from headcats.formatting import format_duration, pluralize
from headcats.models import Head, HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.rules import Rule
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
        category_of: Task -> category, for every task of the suite (corrupted prompts show them).
        reference: Prompts of the means that replace z.
    """

    batches: Mapping[str, Sequence[PromptBatch]]
    category_of: Mapping[str, str]
    reference: Reference


def examine(
    model: HookedModel,
    held: HeldOut,
    scores: xr.Dataset,
    *,
    options: Options,
    advance: Callable[[str], None] = lambda task: None,
) -> xr.DataTree:
    """Test every category of some scores on prompts that its heads were not chosen by.

    Args:
        model: The model.
        held: Held-out prompts.
        scores: What `hc.score` returns, made of other query items than those of `held`.
        options: How heads are chosen and tested.
        advance: Called with the name of each task that is done.

    Returns:
        Nodes `specificity` and `exclusive` (see `headcats.evidence.specificity`; the second with heads of one category
        alone), `contrasts`, `curves`, `self_repair`. Attributes of the root: `reading` (one sentence a line),
        `options` (JSON), `left_out` (JSON: task -> why it could not be tested).

    Raises:
        DataError: No task can be tested; the message says why for each.
    """
    categories = [entry["name"] for entry in json.loads(scores.attrs["categories"])]
    tasks = [task for task in scores["task"].values.tolist() if task in held.batches]
    whole = select(scores, rule=options.rule, min_tasks=options.min_tasks)
    chosen = {task: select(scores, rule=options.rule, min_tasks=options.min_tasks, without=task) for task in tasks}
    planned = _Plan(chosen, whole, model.n_heads, options)
    needed = {task: planned.sets(task, held.category_of[task]) for task in tasks}
    _say_how_long(model, held, needed, options)
    measured: dict[str, TaskDamage] = {}
    left_out: dict[str, str] = {}
    for task in tasks:
        try:
            measured[task] = measure_damage(
                model,
                held.batches[task],
                needed[task],
                category=held.category_of[task],
                reference=held.reference,
                positions=options.positions,
                seed=options.seed,
            )
        except DataError as error:
            left_out[task] = str(error).rstrip(".")
        advance(task)
    if not measured:
        listed = "; ".join(f"{task}: {why}" for task, why in left_out.items()) or "no task was scored"
        raise DataError(f"No task can be tested on held-out prompts ({listed}).")
    direct, notes = _direct(model, held, measured, planned.tested)
    nodes = {
        name: specificity.specificity(designed, measured, categories=categories, seed=options.seed)
        for name, designed in (("specificity", planned.trials), ("exclusive", planned.exclusive))
    }
    for name in nodes:
        nodes[name] = _described(nodes[name], measured).assign(verdict=reading.verdicts(nodes[name]))
    nodes["contrasts"] = contrasts.contrasts(
        planned.trials, measured, categories=categories, category_of=held.category_of
    )
    nodes["curves"] = curves.curves(planned.sequences, measured, categories=categories)
    nodes["self_repair"] = self_repair.self_repair(
        planned.tested, measured, direct, notes=notes, positions=options.positions
    )
    root = xr.Dataset(
        attrs={
            "reading": "\n".join(
                " ".join(sentence.split())
                for sentence in _reading(nodes, left_out, [*_relaxed(chosen, options), *notes.values()], options)
            ),
            "options": json.dumps(asdict(options) | {"rule": scores.attrs.get("rule", repr(options.rule))}),
            "left_out": json.dumps(left_out, ensure_ascii=False),
        }
    )
    return xr.DataTree.from_dict({"/": root, **{f"/{name}": table for name, table in nodes.items()}})


class _Plan:
    """Every set of heads that will be ablated, and what for."""

    def __init__(
        self,
        chosen: Mapping[str, Mapping[str, Selection]],
        whole: Mapping[str, Selection],
        n_heads: Mapping[int, int],
        options: Options,
    ) -> None:
        n, seed = options.controls, options.seed
        self.trials = trials.trials(chosen, n_heads, n=n, seed=seed)
        self.exclusive = trials.trials(chosen, n_heads, n=n, seed=seed, exclusive=True)
        self.sequences = curves.sequences(chosen, n_heads, seed=seed)
        self.tested = {category: most_specific(one.members, n_heads) for category, one in whole.items()}

    def sets(self, task: str, category: str) -> set[HeadSet]:
        """What has to be ablated on one task."""
        return (
            trials.sets_of(self.trials, task)
            | trials.sets_of(self.exclusive, task)
            | curves.sets_of(self.sequences, task)
            | self_repair.sets_of(self.tested.get(category, ()))
        )


def _say_how_long(model: HookedModel, held: HeldOut, needed: Mapping[str, set[HeadSet]], options: Options) -> None:
    """The time that the ablations will take, by that of a few of them."""
    blocks = {
        task: blocks_needed(held.batches[task], sets, positions=options.positions, n_layers=model.n_layers)
        for task, sets in needed.items()
    }
    task = next((task for task in needed if blocks[task]), None)
    if task is None:
        return
    few = sorted(needed[task])[:: max(1, len(needed[task]) // _PROBED_SETS)]
    probe = held.batches[task][:1]
    seconds = []
    try:
        # The first time also pays for checks and the means of the reference, which later tasks share.
        for _ in range(2):
            started = time.monotonic()
            measure_damage(model, probe, few, category="", reference=held.reference, positions=options.positions)
            seconds.append(time.monotonic() - started)
    except DataError:
        return
    share = blocks_needed(probe, few, positions=options.positions, n_layers=model.n_layers)
    expected = seconds[-1] * sum(blocks.values()) / share
    _log.info(
        "Time: at most about %s for %s (sets of heads x tasks) at positions '%s', judged by a few of them.",
        format_duration(expected),
        pluralize(sum(map(len, needed.values())), "ablation"),
        options.positions,
    )


def _direct(
    model: HookedModel,
    held: HeldOut,
    measured: Mapping[str, TaskDamage],
    tested_heads: Mapping[str, tuple[Head, ...]],
) -> tuple[dict[str, dict[Head, float]], dict[int, str]]:
    """Task -> head -> direct effect, and layer -> why its heads have none."""
    layers = sorted({head.layer for heads in tested_heads.values() for head in heads})
    tokens = next(iter(held.batches[next(iter(measured))])).clean
    notes = {layer: why for layer in layers if (why := self_repair.why_not_additive(model, tokens, layer))}
    found = {}
    for task, one in measured.items():
        heads = tested_heads.get(one.category, ())
        asked = [head for head in heads if head.layer not in notes]
        effects = self_repair.direct_effects(model, held.batches[task], asked, reference=held.reference)
        found[task] = {head: effects.get(head, float("nan")) for head in heads}
    return found, notes


def _described(table: xr.Dataset, measured: Mapping[str, TaskDamage]) -> xr.Dataset:
    tasks = [measured[task] for task in table["task"].values.tolist()]
    return table.assign(
        gap=("task", np.array([one.gap.mean() for one in tasks])),
        n_prompts=("task", np.array([len(one.gap) for one in tasks])),
        n_items=("task", np.array([len(set(one.items)) for one in tasks])),
    )


def _reading(
    nodes: Mapping[str, xr.Dataset], left_out: Mapping[str, str], notes: Sequence[str], options: Options
) -> list[str]:
    of_all, alone = nodes["specificity"], nodes["exclusive"]
    said = reading.sentences(of_all, asked=options.controls)
    said += reading.sentences(alone, asked=options.controls, exclusive=True, beside=of_all)
    if (of_all["heads"] != "").any():
        said += contrast_sentences(nodes["contrasts"])
        said += reading.redundancy_sentences(nodes["self_repair"])
        if options.positions != "last":
            said.append(self_repair.NOT_COMPARABLE)
    said += [f"{task} was not tested: {why}." for task, why in left_out.items()]
    return [*said, *notes, *reading.multiplicity_sentences(of_all, alone)]


def _relaxed(chosen: Mapping[str, Mapping[str, Selection]], options: Options) -> list[str]:
    """Where leaving out a task left fewer tasks than min_tasks asks for, as sentences."""
    found = {name: one.relaxed for own in chosen.values() for name, one in own.items() if one.relaxed}
    return [
        f"{name} has as many tasks as min_tasks={options.min_tasks} asks for: with one of its tasks put aside, its "
        f"heads were chosen with min_tasks={left}."
        for name, left in found.items()
    ]
