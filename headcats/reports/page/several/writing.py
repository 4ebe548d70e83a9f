"""Write the page of several runs."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import xarray as xr

from headcats.categories.map_spec import MapSpec
from headcats.evidence.comparison.runs import Runs
from headcats.reports.page.markup import document
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Tab, target_of
from headcats.reports.page.several.compared import Compared, compare_runs
from headcats.reports.page.several.first_screen import first_screen
from headcats.reports.page.several.sections import (
    agreement_of_runs,
    revision_pages,
    settings,
    side_by_side_heads,
    training,
)
from headcats.results.block_files import slug
from headcats.results.finding import first_names, line
from headcats.results.sources import is_bundled
from headcats.results.whole_file import write_whole

_log = logging.getLogger("headcats")
_NAMED = 2
"""Runs that the name of the file and the title hold before the others are counted."""


@dataclass(frozen=True)
class Together(Material):
    """Material of this page: the panel of a head shows its numbers in every run."""

    by_run: Mapping[str, xr.Dataset] = field(default_factory=dict)

    @property
    def scores(self) -> dict[str, xr.Dataset]:
        """Scores of every run."""
        return dict(self.by_run)

    @property
    def strengths(self) -> None:
        """Joint methods are left to the report of each run."""


def write_several(
    runs: Runs, path: str | os.PathLike[str] | None, reading: MapSpec, *, write_run: Callable[..., Path]
) -> Path:
    """Write the page, and of a series that of every revision by `write_run`; returns the file of the first."""
    compared = compare_runs(runs, reading)
    target = _target(path, compared)
    # Of a revision without a scored task joint methods are shown, to which the reading does not apply.
    readings = {name: reading if run.tasks else MapSpec() for name, run in runs.items()}
    pages = {} if runs.series is None else {name: write_run(run, None, readings[name]) for name, run in runs.items()}
    for name, reason in compared.left_out.items() if not pages else ():
        _log.warning("%s", line("several.left_out", name=name, reason=reason))
    first = first_screen(compared, with_toy=any(is_bundled(run.manifest.model) for run in compared.runs.values()))
    together = _together(compared, target)
    compared = replace(compared, pages={name: together.address(page) for name, page in pages.items()})
    heading = runs.model or first_names(list(compared.runs), _NAMED)
    tabs = list(_tabs(compared))
    page = document(together, tabs, first=first, heading=f"Attention heads of {heading}")
    write_whole(target, page.encode("utf-8"))
    return target


def _tabs(compared: Compared) -> Iterator[Tab]:
    makers = [side_by_side_heads, agreement_of_runs] if compared.runs.corresponds else []
    if compared.runs.is_training:
        makers = [training, *makers]
    sections = [make(compared) for make in [*makers, revision_pages, settings]]
    yield from (Tab(f"tab-{each.name}", _TITLES.get(each.name, each.title), (each,)) for each in sections if each.parts)


_TITLES = {"side_by_side_heads": "Heads", "training": "Over training"}


def _together(compared: Compared, target: Path) -> Material:
    """The first run, with the maps and numbers of all where heads correspond."""
    run = next(iter(compared.runs.values()))
    if not compared.runs.corresponds:
        return Material(run, None, target)
    maps = [replace(each, name=f"{run_name}, {compared.name}") for run_name, each in compared.maps.items()]
    result = replace(maps[0], task_specific=None, others=tuple(maps[1:]), left_out={})
    scores = {run_name: each.tables["scores"] for run_name, each in compared.maps.items()}
    return Together(run, result, target, by_run=scores)


def _target(path: str | os.PathLike[str] | None, compared: Compared) -> Path:
    runs, suffix = compared.runs, compared.reading.file_suffix(next(iter(compared.runs.values())))
    if path is not None or runs.series is not None or any(run.place is None for run in runs.values()):
        return target_of(path, runs.series, suffix)
    names = list(runs)
    more = [f"{len(names) - _NAMED}-more"] if len(names) > _NAMED else []
    return Path("-".join(["report", *(slug(name) for name in names[:_NAMED]), *more]) + f"{suffix}.html")
