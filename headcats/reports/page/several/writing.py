"""Write the page of several runs, with the tabs below their maps."""

import logging
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import xarray as xr

from headcats.categories.map_spec import MapSpec
from headcats.evidence.comparison.agreement import agreement
from headcats.evidence.comparison.runs import Runs
from headcats.figures.checkpoints import checkpoints
from headcats.reports.page.markup import document
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Drawn, Heading, Link, Part, Tab, section, target_of
from headcats.reports.page.several.compared import Compared, compare_runs
from headcats.reports.page.several.first_screen import first_screen
from headcats.reports.text.agreement import agreement_findings, replicate_findings
from headcats.reports.text.comparison import membership_table, plan_findings
from headcats.reports.text.revisions import revision_findings
from headcats.results.block_files import slug
from headcats.results.finding import first_names, line, note
from headcats.results.sources import is_bundled
from headcats.results.whole_file import write_whole

_log = logging.getLogger("headcats")
_NAMED = 2
"""Runs that the name of the file and the title hold before the others are counted."""
_TITLES = {"side_by_side_heads": "Heads", "training": "Over training"}
_MOST = 2000
"""Rows of a table."""


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


@section("Heads in every run")
def side_by_side_heads(compared: Compared) -> Iterator[Part]:
    """One row per head and category, with a column per run."""
    yield line("several.heads_meaning")
    if rows := compared.memberships:
        yield membership_table(rows[:_MOST], list(compared.maps), method=compared.name)
        if len(rows) > _MOST:
            yield line("several.more_rows", n=len(rows) - _MOST)


@section("Agreement")
def agreement_of_runs(compared: Compared) -> Iterator[Part]:
    """Pairs of runs by category, and which heads all of them, or any, have."""
    yield from agreement_findings(agreement(compared.members, sign=compared.reading.sign), {})
    yield from replicate_findings(compared.members, sign=compared.reading.sign)


@section("Categories over the revisions")
def training(compared: Compared) -> Iterator[Part]:
    """Curves of one model over its training: heads that come and go, and whether their effects differ."""
    changes, reading = compared.changes, next(iter(compared.maps.values())).spec
    if changes is None:
        return
    title = replace(reading, model=compared.runs.model).title
    yield Drawn("checkpoints", checkpoints(changes, title=title), line("revisions.figure"))
    yield from revision_findings(changes, title)


@section("Each revision")
def revision_pages(compared: Compared) -> Iterator[Part]:
    """Links to the report of every revision of a series."""
    changes = compared.changes
    for name, page in compared.pages.items():
        sizes = {} if changes is None else changes["size"].sel(revision=name).to_series().dropna().to_dict()
        listing = first_names([f"{category} {int(n)}" for category, n in sizes.items()], len(sizes))
        content = line("revisions.page", sizes=listing) if sizes else line("revisions.page_not_judged")
        yield Link(page, name, str(content))


@section("Settings")
def settings(compared: Compared) -> Iterator[Part]:
    """Differences of the runs, those that are not compared and why, and how to do it again."""
    yield from plan_findings(compared.runs)
    for name, reason in compared.left_out.items():
        yield note("several.left_out", name=name, reason=reason)
    yield Heading("Again")
    places = [run.place for run in compared.runs.values()]
    if folders := [place.shown for place in places if place is not None]:
        yield Code("\n".join(_commands(folders, compared)))


def _commands(folders: Sequence[str], compared: Compared) -> Iterator[str]:
    # The comparison reads no effect, and heads of different models do not correspond.
    unread = {"report": "", "compare": "effect"} if compared.runs.corresponds else {"report": ""}
    for name in unread:
        options = {key: value for key, value in compared.reading.options.items() if key != unread[name]}
        flags = "".join(f" --{key} {shlex.quote(value)}" for key, value in options.items())
        yield f"headcats {name} {shlex.join(folders)}{flags}"
