"""The maps of several runs, judged once and matched."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pandas as pd
import xarray as xr

from headcats.base.errors import DataError, HeadcatsError, StatisticsWarning
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import scored_map
from headcats.evidence.comparison.agreement import agreement, pairs
from headcats.evidence.comparison.revisions import course
from headcats.evidence.comparison.runs import Runs
from headcats.reports.text.side_by_side import Membership, memberships
from headcats.results.finding import Finding, line
from headcats.results.head_axes import noun
from headcats.results.run_results import RunResults


@dataclass(frozen=True)
class Protocol:
    """One way to judge, in all runs that have it; `corresponds` if heads of the same name are the same head."""

    name: str
    maps: Mapping[str, MapResult]
    corresponds: bool
    changes: xr.Dataset | None = None

    @property
    def overlaps(self) -> dict[str, xr.Dataset]:
        """Run -> overlap of its map."""
        return {name: each.overlap for name, each in self.maps.items()}

    @cached_property
    def agreement(self) -> xr.Dataset:
        """Agreement of the runs (`hc.evidence.agreement`)."""
        members = {name: each.tables["members"] for name, each in self.maps.items()}
        return agreement(members, sign=next(iter(self.maps.values())).spec.sign)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Pairs of runs (`hc.evidence.pairs`)."""
        return pairs(self.agreement)

    @cached_property
    def memberships(self) -> list[Membership]:
        """Heads that any run has in a category."""
        return memberships(self.overlaps, self.changes)


@dataclass(frozen=True)
class Compared:
    """Runs that can be compared, their maps, and the ways to judge them, the requested one first."""

    runs: Runs
    maps: Mapping[str, MapResult]
    left_out: Mapping[str, str | Finding]
    protocols: tuple[Protocol, ...]
    alone: Mapping[str, Sequence[str]]
    reading: MapSpec
    pages: Mapping[str, str] = field(default_factory=dict)


def compare_runs(runs: Runs, reading: MapSpec) -> Compared:
    """Judge runs, and match their maps; a DataError if fewer than two (of a series, one) can be compared."""
    maps, left_out = dict[str, MapResult](), dict[str, str | Finding]()
    left_out |= {name: line("several.copy", first=first) for name, first in runs.copies.items()}
    for name, run in runs.items():
        if not run.tasks:
            left_out[name] = line("several.no_task")
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StatisticsWarning)  # the page shows them
                judged = scored_map(run, reading)
        except HeadcatsError as error:  # a method that it lacks, or a damaged file
            left_out[name] = str(error)
            continue
        if maps and (reason := _misfit(judged, run, *next((maps[first], runs[first], first) for first in maps))):
            left_out[name] = reason
        else:
            maps[name] = judged
    if len(maps) < (2 if runs.series is None else 1):
        reasons = "".join(f"\n- {name}: {reason}" for name, reason in left_out.items())
        raise DataError(
            f"Two runs at least have to be comparable; here {len(maps)} of {len(runs) + len(runs.copies)} can be "
            f"read:{reasons}"
        )
    protocols, alone = _protocols(maps, runs)
    runs = replace(runs, results={name: runs[name] for name in maps})
    return Compared(runs, maps, left_out, protocols, alone, reading)


def _misfit(
    judged: MapResult, run: RunResults, first: MapResult, first_run: RunResults, first_name: str
) -> Finding | None:
    """Why a run cannot be compared with the first."""
    units = [noun(each.spec.label.unit) for each in (judged, first)]
    if units[0] != units[1]:
        return line("several.other_unit", noun=units[0], other=units[1], first=first_name)
    categories, of_first = (each.overlap["category"].values.tolist() for each in (judged, first))
    if not set(categories) & set(of_first):
        return line("several.other_categories", categories=categories, first=first_name)
    if not set(run.scored_tasks) & set(first_run.scored_tasks):
        return line("several.other_tasks", first=first_name)
    return None


def _protocols(maps: Mapping[str, MapResult], runs: Runs) -> tuple[tuple[Protocol, ...], dict[str, list[str]]]:
    """The mapped ones, then what at least two runs have; and what fewer have."""
    ways: dict[tuple[str, str], dict[str, MapResult]] = {}
    for name, each in maps.items():
        for shown in each.all:
            ways.setdefault((str(shown.spec.label), shown.spec.effect), {})[name] = shown
    names = list(dict.fromkeys(each.name for each in maps.values()))
    title = names[0] if len(names) == 1 else str(line("several.own_methods"))
    changes = _changes(maps, runs) if runs.corresponds and len(names) == 1 else None
    protocols, alone = [Protocol(title, maps, runs.corresponds, changes)], dict[str, list[str]]()
    for of_runs in ways.values():
        name = next(iter(of_runs.values())).name
        if len(of_runs) < len(maps):
            alone[name] = list(of_runs)
        if len(of_runs) > 1 and any(of_runs.get(run) is not shown for run, shown in maps.items()):
            protocols.append(Protocol(name, of_runs, runs.corresponds))
    return tuple(protocols), alone


def _changes(maps: Mapping[str, MapResult], runs: Runs) -> xr.Dataset | None:
    """Tested differences between consecutive runs, of total effects; all revisions of a training."""
    reading = next(iter(maps.values())).spec
    metrics = {each.spec.metric for each in maps.values()}
    if reading.effect != "total" or reading.sign != "helping" or len(metrics) > 1:
        return None
    tables = {name: each.tables for name, each in maps.items() if not each.not_judged}
    if not runs.is_training:
        runs = replace(runs, results={name: runs[name] for name in tables})
    if len(tables) < (1 if runs.is_training else 2):
        return None
    reasons = {name: each.not_judged for name, each in maps.items() if each.not_judged}
    reasons |= {name: "every task is skipped" for name, run in runs.items() if not run.scored}
    return course(tables, runs, reading, not_judged=reasons)
