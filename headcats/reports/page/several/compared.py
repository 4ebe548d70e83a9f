"""The maps of several runs, judged once and matched."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import xarray as xr

from headcats.base.errors import DataError, HeadcatsError, StatisticsWarning
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import scored_map
from headcats.evidence.comparison.revisions import course
from headcats.evidence.comparison.runs import Runs
from headcats.reports.text.comparison import Membership, memberships
from headcats.results.finding import Finding, line
from headcats.results.head_axes import noun
from headcats.results.run_results import RunResults


@dataclass(frozen=True)
class Compared:
    """Runs that can be compared, with their maps; `changes` are tested differences where heads correspond."""

    runs: Runs
    maps: Mapping[str, MapResult]
    left_out: Mapping[str, str | Finding]
    reading: MapSpec
    changes: xr.Dataset | None
    pages: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The method of the maps, in words."""
        names = dict.fromkeys(each.name for each in self.maps.values())
        return next(iter(names)) if len(names) == 1 else str(line("several.own_methods"))

    @property
    def overlaps(self) -> dict[str, xr.Dataset]:
        """Run -> overlap of its map."""
        return {name: each.overlap for name, each in self.maps.items()}

    @property
    def members(self) -> dict[str, xr.Dataset]:
        """Run -> memberships of its map."""
        return {name: each.tables["members"] for name, each in self.maps.items()}

    @cached_property
    def memberships(self) -> list[Membership]:
        """Heads that any run has in a category."""
        return memberships(self.overlaps, self.changes)


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
    same_method = len({each.name for each in maps.values()}) == 1
    changes = _changes(maps, runs) if runs.corresponds and same_method else None
    return Compared(replace(runs, results={name: runs[name] for name in maps}), maps, left_out, reading, changes)


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
