"""Every map of a run: the one that is read, and those that could contradict it."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr
from jaxtyping import Bool, Shaped

from headcats.categories.map_tables import kept_judged, kept_map
from headcats.categories.outcome import IN, NOT_JUDGED, outcomes
from headcats.categories.reading import Reading
from headcats.errors import HeadcatsError, StatisticsWarning
from headcats.results.declaration import controls_of
from headcats.results.head_axes import noun
from headcats.results.label import Label
from headcats.results.run_results import RunResults

_SPECIFIC = " (task-specific)"


@dataclass(frozen=True)
class RunMap:
    """One way to sort the heads of a run into categories.

    Attributes:
        reading: What the tables are of.
        tables: `scores`, `members` and `overlap`.
        name: How a reader tells it from the other maps of the run, such as "mean ablation".
    """

    reading: Reading
    tables: Mapping[str, xr.Dataset]
    name: str

    @property
    def not_judged(self) -> str:
        """Why the rule can judge no head; "" where it can."""
        return str(self.tables["members"].attrs.get("not_judged", ""))

    @cached_property
    def inside(self) -> Bool[np.ndarray, "category layer head"]:
        """Whether each head is in each category, in the order of `overlap`."""
        return (self.tables["overlap"]["member"] == 1).transpose("category", "layer", "head").to_numpy()

    def members_of(self, place: int) -> list[tuple[int, int]]:
        """Places along `layer` and `head` of the heads in the category at a place; the largest effect first."""
        effect = self.tables["overlap"]["effect"].transpose("category", "layer", "head").to_numpy()[place]
        places = np.argwhere(self.inside[place])
        order = np.argsort(-abs(effect[self.inside[place]]), kind="stable")
        return [(i, j) for i, j in places[order].tolist()]

    def outcomes_on(self, mapped: "RunMap") -> Shaped[np.ndarray, "category layer head"]:
        """What this map says of the categories and heads of another one; "not judged" of those that it lacks."""
        here = outcomes(self.tables["overlap"]).reindex_like(mapped.tables["overlap"], fill_value=NOT_JUDGED)
        return here.transpose("category", "layer", "head").to_numpy()

    def names_too(self, mapped: "RunMap") -> Bool[np.ndarray, "category layer head"]:
        """Which memberships of another map this one has as well; categories that were not judged here have none."""
        return mapped.inside & (self.outcomes_on(mapped) == IN)


@dataclass(frozen=True)
class RunMaps:
    """All maps of a run.

    Attributes:
        mapped: The one that was asked for.
        task_specific: The same by task-specific effects; None where they are mapped already or not known.
        others: By the other exact methods of the run.
        left_out: Name -> why there is no such map.
        longest_list: Rows of the longest file of finished prompts where all tasks are such files; None elsewhere.
    """

    mapped: RunMap
    task_specific: RunMap | None
    others: tuple[RunMap, ...]
    left_out: Mapping[str, str]
    longest_list: int | None = None

    @property
    def no_task_specific(self) -> str:
        """Why there are no task-specific effects beside total ones, or no head can be judged by them; else ""."""
        if self.task_specific is not None:
            return self.task_specific.not_judged
        return self.left_out.get(f"{self.mapped.name}{_SPECIFIC}", "")

    @property
    def all(self) -> tuple[RunMap, ...]:
        """The mapped one first."""
        return tuple(filter(None, (self.mapped, self.task_specific, *self.others)))


def run_maps(run: RunResults, reading: Reading, *, jobs: int = 1) -> RunMaps:
    """The map of a reading with its tests, and the maps of the same metric and rule that could contradict it.

    Approximations and controls are no maps of their own. Warnings of the statistics are those of the reading.
    """
    reading = reading.resolve(run)
    mapped = RunMap(reading, kept_map(run, reading, jobs=jobs), _name(run, reading))
    candidates = [replace(reading, effect="task_specific")] if reading.effect == "total" else []
    exact = [label for label in run.scored if not run.declarations[str(label)].control_of and label != reading.label]
    candidates += [
        replace(reading, label=label, effect="total").resolve(run) for label in exact if not run.approximation(label)
    ]
    maps, left_out = list[RunMap](), dict[str, str]()
    for candidate in candidates:
        name = _name(run, candidate)
        if candidate.label.unit != reading.label.unit:
            left_out[name] = f"its effects are of one {noun(candidate.label.unit)} at a time"
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StatisticsWarning)  # those of the mapped reading have been given
                maps.append(RunMap(candidate, kept_judged(run, candidate, jobs=jobs), name))
        except HeadcatsError as error:  # no controls, or measured in other metrics alone
            left_out[name] = _skipped_control(run, candidate) or str(error)
    specific = next((each for each in maps if each.reading.effect == "task_specific"), None)
    others = tuple(each for each in maps if each is not specific)
    return RunMaps(mapped, specific, others, left_out, _longest_list(run))


def _longest_list(run: RunResults) -> int | None:
    tasks = run.manifest_or_empty.tasks
    records = [tasks[name] for name in run.scored_tasks if name in tasks]
    rows = [record.rows.kept for record in records if record.word_pairs.kept is None]
    counts = [n for n in rows if n is not None]
    return max(counts) if counts and len(counts) == len(records) else None


def _skipped_control(run: RunResults, reading: Reading) -> str:
    """Why a run skipped the control that task-specific effects are made with; "" where it did not, or they are none."""
    control = controls_of(reading.label.name).get("task") if reading.effect == "task_specific" else None
    records = [pair for of_task in run.manifest_or_empty.blocks.values() for pair in of_task.items()]
    refusals = [record.refusal for label, record in records if Label.parse(label).name == control and record.refusal]
    return f"{control} was skipped: {refusals[0]}" if refusals else ""


def _name(run: RunResults, reading: Reading) -> str:
    """The method in words; with options and positions where the run has the method in several ways."""
    label = reading.label
    alike = [scored for scored in run.scored if scored.name == label.name]
    name = str(label) if len(alike) > 1 else label.name.replace("_", " ")
    return f"{name}{_SPECIFIC}" if reading.effect == "task_specific" else name
