"""Write the page of several runs."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.categories.reading import Reading
from headcats.categories.run_maps import RunMap, RunMaps
from headcats.reports.page.markup import document
from headcats.reports.page.material import Material
from headcats.reports.page.one_run import target_of
from headcats.reports.page.parts import Section, Tab
from headcats.reports.page.several.compared import Compared, compare_runs
from headcats.reports.page.several.first_screen import first_screen
from headcats.reports.page.several.sections import (
    agreement_of_runs,
    checks,
    depth,
    settings,
    side_by_side_heads,
    structure,
)
from headcats.results.finding import first_names
from headcats.results.folder import slug
from headcats.results.sources import is_bundled
from headcats.results.whole_file import write_whole

_NAMED = 2
"""Runs that the name of the file and the title hold before the others are counted."""


@dataclass(frozen=True)
class Together(Material):
    """What the panel of a head shows on this page: its numbers in every run.

    Attributes:
        by_run: Run -> scores, all of the same heads.
    """

    by_run: Mapping[str, xr.Dataset] = field(default_factory=dict)

    @property
    def scores(self) -> dict[str, xr.Dataset]:
        """Of every run."""
        return dict(self.by_run)

    @property
    def strengths(self) -> None:
        """Joint methods are left to the report of each run."""


def write_several(
    results: Sequence[Any] | Mapping[str, Any], path: str | os.PathLike[str] | None, reading: Reading
) -> tuple[Path, Compared]:
    """Write the page; returns its file and what it is of.

    Args:
        results: As `compare_runs` takes them, with its errors.
        path: File to write; None writes `report-NAME-NAME.html` into the current directory.
        reading: How all runs are judged.
    """
    compared = compare_runs(results, reading)
    target = _target(path, compared)
    materials = {
        name: Material(
            run, compared.maps[name], compared.maps[name].mapped.reading, run.place, target, compared.cautions[name]
        )
        for name, run in compared.runs.items()
    }
    first = first_screen(compared, with_toy=any(is_bundled(run.manifest.model) for run in compared.runs.values()))
    names = list(compared.runs)
    page = document(
        _together(compared, target),
        list(_tabs(compared, materials)),
        first=first,
        heading=f"Attention heads of {first_names(names, _NAMED)}",
    )
    write_whole(target, page.encode("utf-8"))
    return target, compared


def _tabs(compared: Compared, materials: dict[str, Material]) -> list[Tab]:
    makers = [side_by_side_heads, agreement_of_runs] if compared.corresponds else [structure, depth]
    sections = [make(compared) for make in makers]
    tabs = [Tab(f"tab-{each.name}", _TITLES.get(each.name, each.title), (each,)) for each in sections if each.parts]
    about: tuple[Section, ...] = (settings(compared), checks(materials))
    return [*tabs, Tab("tab-runs", "Settings and checks", tuple(each for each in about if each.parts))]


_TITLES = {"side_by_side_heads": "Heads", "structure": "Structure"}


def _together(compared: Compared, target: Path) -> Material:
    """The first run, with the maps and numbers of all where heads correspond."""
    name, run = next(iter(compared.runs.items()))
    mapped = compared.protocols[0].maps
    reading = mapped[name].reading
    if not compared.corresponds:
        return Material(run, None, reading, None, target)
    # The map that the page's switch shows comes first: that of the first run by each method.
    of_first = [_named(next(iter(each.maps.items())), each.name) for each in compared.protocols]
    others = [_named(pair, each.name) for each in compared.protocols for pair in list(each.maps.items())[1:]]
    maps = RunMaps(of_first[0], None, (*of_first[1:], *others), {})
    scores = {run_name: each.tables["scores"] for run_name, each in mapped.items()}
    return Together(run, maps, reading, None, target, by_run=scores)


def _named(pair: tuple[str, RunMap], method: str) -> RunMap:
    name, each = pair
    return replace(each, name=f"{name}, {method}")


def _target(path: str | os.PathLike[str] | None, compared: Compared) -> Path:
    if path is not None or any(run.place is None for run in compared.runs.values()):
        return target_of(path, None, "")
    names = list(compared.runs)
    more = [f"{len(names) - _NAMED}-more"] if len(names) > _NAMED else []
    suffix = compared.reading.file_suffix(next(iter(compared.runs.values())))
    return Path("-".join(["report", *(slug(name) for name in names[:_NAMED]), *more]) + f"{suffix}.html")
