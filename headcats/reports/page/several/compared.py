"""Several runs, read and judged once, with what can be said of them together."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

import pandas as pd
import xarray as xr

from headcats.categories.reading import Reading
from headcats.categories.run_maps import RunMap, RunMaps
from headcats.errors import DataError, HeadcatsError, OptionError
from headcats.evidence.comparison.agreement import agreement, pairs
from headcats.evidence.comparison.revisions import changes_between
from headcats.reports.page.one_run import read_maps, read_run
from headcats.reports.text.side_by_side import Membership, memberships
from headcats.results.finding import Finding, line
from headcats.results.head_axes import noun
from headcats.results.place import HUB
from headcats.results.run_results import RunResults
from headcats.results.series import is_series
from headcats.results.visible import visible

_LONGEST = 40
"""Characters of the name of a run."""


@dataclass(frozen=True)
class Protocol:
    """One way to judge, in all runs that have it.

    Attributes:
        name: In the switch of methods.
        maps: Run -> its map.
        corresponds: Whether heads of the same name are the same head.
        changes: Differences of effects between consecutive runs; None where none can be tested.
    """

    name: str
    maps: Mapping[str, RunMap]
    corresponds: bool
    changes: xr.Dataset | None = None

    @property
    def overlaps(self) -> dict[str, xr.Dataset]:
        """Run -> overlap of its map."""
        return {name: each.tables["overlap"] for name, each in self.maps.items()}

    @cached_property
    def agreement(self) -> xr.Dataset:
        """What `hc.evidence.agreement` says of the runs."""
        members = {name: each.tables["members"] for name, each in self.maps.items()}
        return agreement(members, sign=next(iter(self.maps.values())).reading.sign)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """What `hc.evidence.pairs` makes of it."""
        return pairs(self.agreement)

    @cached_property
    def memberships(self) -> list[Membership]:
        """Heads that any run has in a category."""
        return memberships(self.overlaps, self.changes)


@dataclass(frozen=True)
class Compared:
    """Runs that can be compared.

    Attributes:
        runs: Name -> results, in the order that was asked for.
        maps: Name -> all maps.
        cautions: Name -> warnings of the statistics.
        left_out: Name -> why a run is not compared.
        protocols: What the switch of methods offers; the one that was asked for first.
        alone: Name of a way to judge that fewer runs have -> those that have it.
        corresponds: Whether heads of the same name are the same head in all runs.
        reading: What was asked for.
    """

    runs: Mapping[str, RunResults]
    maps: Mapping[str, RunMaps]
    cautions: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, str | Finding]
    protocols: tuple[Protocol, ...]
    alone: Mapping[str, Sequence[str]]
    corresponds: bool
    reading: Reading


def compare_runs(results: Sequence[Any] | Mapping[str, Any], reading: Reading) -> Compared:
    """Read and judge runs.

    Args:
        results: What `hc.report` takes of each run, or name -> that.
        reading: How all are judged.

    Raises:
        OptionError: The same results twice.
        DataError: A series among them, or fewer than two runs that can be compared, with every reason.
    """
    loaded = _named(results)
    maps, cautions, left_out = dict[str, RunMaps](), dict[str, tuple[str, ...]](), dict[str, str | Finding]()
    runs = {name: run.without_untried(*loaded.values()) for name, run in loaded.items()}
    for name, run in runs.items():
        if not run.tasks:
            left_out[name] = line("several.no_task")
            continue
        try:
            judged, warned = read_maps(run, reading.resolve(run))
        except HeadcatsError as error:  # a method that it lacks, or a damaged file
            left_out[name] = str(error)
            continue
        if maps and (reason := _misfit(judged, run, *next((maps[first], runs[first], first) for first in maps))):
            left_out[name] = reason
        else:
            maps[name], cautions[name] = judged, warned
    if len(maps) < 2:
        reasons = "".join(f"\n- {name}: {reason}" for name, reason in left_out.items())
        raise DataError(
            f"Two runs at least have to be comparable; here {len(maps)} of {len(runs)} can be read:{reasons}"
        )
    runs = {name: runs[name] for name in maps}
    corresponds = _corresponds(list(runs.values()))
    protocols, alone = _protocols(maps, runs, corresponds)
    return Compared(runs, maps, cautions, left_out, protocols, alone, corresponds, reading)


def _named(results: Sequence[Any] | Mapping[str, Any]) -> dict[str, RunResults]:
    """Name -> results; an OptionError for the same twice."""
    given = list(results.values()) if isinstance(results, Mapping) else list(results)
    if not given:
        raise DataError("A report needs results of at least one run; got none.")
    for each in given:
        if isinstance(each, str | os.PathLike) and is_series(each):
            raise DataError(
                f"{os.fspath(each)} is a series of revisions. Its own report is over all of them; to compare some, "
                "name their folders within it."
            )
    runs = [read_run(each) for each in given]
    places = [run.place for run in runs]
    keys = [str(id(run.tree)) if run.place is None else str(run.place.folder.resolve()) for run in runs]
    for place, key in enumerate(keys):
        if key in keys[:place]:
            raise OptionError(f"{places[place] or 'The same results'} was given twice: name every run once.")
    if isinstance(results, Mapping):
        return dict(zip(map(str, results), runs, strict=True))
    folders = [
        None if place is None else (place.address if place.on_hub else str(place.folder.resolve())) for place in places
    ]
    return dict(zip(_names(folders), runs, strict=True))


def _names(folders: Sequence[str | None]) -> list[str]:
    """The ends of paths, as long as they need to be to differ; results in memory are numbered."""
    parts = [
        PurePath(folder.removeprefix(HUB)).parts if folder else (f"results {n}",) for n, folder in enumerate(folders, 1)
    ]
    longest = max(map(len, parts))
    ends = (["/".join(of_one[-n:]) for of_one in parts] for n in range(1, longest + 1))
    names = next(names for names in ends if len(set(names)) == len(names) or names == ["/".join(p) for p in parts])
    short = [name if len(visible(name)) <= _LONGEST else f"…{visible(name)[1 - _LONGEST :]}" for name in names]
    return short if len(set(short)) == len(short) else [f"{n}: {name}" for n, name in enumerate(short, 1)]


def _misfit(judged: RunMaps, run: RunResults, first: RunMaps, first_run: RunResults, first_name: str) -> Finding | None:
    """Why a run cannot be compared with the first."""
    units = [noun(each.mapped.reading.label.unit) for each in (judged, first)]
    if units[0] != units[1]:
        return line("several.other_unit", noun=units[0], other=units[1], first=first_name)
    categories, of_first = (each.mapped.tables["overlap"]["category"].values.tolist() for each in (judged, first))
    if not set(categories) & set(of_first):
        return line("several.other_categories", categories=categories, first=first_name)
    if not set(run.scored_tasks) & set(first_run.scored_tasks):
        return line("several.other_tasks", first=first_name)
    return None


def _corresponds(runs: Sequence[RunResults]) -> bool:
    """Whether all runs are of the same heads: of one model, or of revisions of one."""
    models = [run.manifest.model for run in runs]
    first = models[0]
    return all(
        (model.layers, model.heads) == (first.layers, first.heads)
        and (
            model.weights_hash == first.weights_hash or (model.name == first.name and model.revision != first.revision)
        )
        for model in models[1:]
    )


def _protocols(
    maps: Mapping[str, RunMaps], runs: Mapping[str, RunResults], corresponds: bool
) -> tuple[tuple[Protocol, ...], dict[str, list[str]]]:
    """The mapped ones, then what at least two runs have; and what fewer have."""
    mapped = {name: each.mapped for name, each in maps.items()}
    ways: dict[tuple[str, str], dict[str, RunMap]] = {}
    for name, each in maps.items():
        for shown in each.all:
            ways.setdefault((str(shown.reading.label), shown.reading.effect), {})[name] = shown
    names = list(dict.fromkeys(each.name for each in mapped.values()))
    title = names[0] if len(names) == 1 else str(line("several.own_methods"))
    changes = _changes(mapped, runs) if corresponds and len(names) == 1 else None
    protocols, alone = [Protocol(title, mapped, corresponds, changes)], dict[str, list[str]]()
    for of_runs in ways.values():
        name = next(iter(of_runs.values())).name
        if len(of_runs) < len(runs):
            alone[name] = list(of_runs)
        if len(of_runs) > 1 and any(of_runs.get(run) is not shown for run, shown in mapped.items()):
            protocols.append(Protocol(name, of_runs, corresponds))
    return tuple(protocols), alone


def _changes(mapped: Mapping[str, RunMap], runs: Mapping[str, RunResults]) -> xr.Dataset | None:
    """Tested differences between consecutive runs, of total effects."""
    reading = next(iter(mapped.values())).reading
    metrics = {each.reading.metric for each in mapped.values()}
    if reading.effect != "total" or reading.sign != "helping" or len(metrics) > 1:
        return None
    tables = {name: each.tables for name, each in mapped.items() if not each.not_judged}
    if len(tables) < 2:
        return None
    return changes_between(tables, runs, reading=reading)
