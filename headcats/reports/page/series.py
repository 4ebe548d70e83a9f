"""The page of a series: categories over the revisions of a model, and links to the page of each."""

import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import xarray as xr

from headcats.categories.reading import Reading
from headcats.categories.run_maps import run_maps
from headcats.errors import StatisticsWarning
from headcats.evidence.comparison.revisions import judge_revisions
from headcats.figures.checkpoints import checkpoints
from headcats.reports.page.markup import document
from headcats.reports.page.material import Material
from headcats.reports.page.one_run import target_of, write_run
from headcats.reports.page.parts import Drawn, Link, Part, Section, Tab
from headcats.reports.page.python_lines import figure_command
from headcats.reports.text.revisions import check_reading, course_reading, judged_revisions, revision_findings
from headcats.results.finding import Finding, first_names, line
from headcats.results.place import find_place
from headcats.results.run_results import RunResults
from headcats.results.whole_file import write_whole


def write_series(series: xr.DataTree, path: str | os.PathLike[str] | None, reading: Reading) -> Path:
    """Write the page, and that of every revision into its folder; returns the file of the first.

    An OptionError for a reading that the table over revisions does not have.
    """
    check_reading(reading, by="The page of a series")
    course = judge_revisions(series, reading)
    run = RunResults(series.children[judged_revisions(course)[-1]]).without_untried()
    judged_by = course_reading(course, reading)
    target = target_of(path, find_place(series.encoding["source"]), judged_by.file_suffix(run))
    # Of a revision without a scored task joint methods are shown, to which the reading does not apply.
    readings = {name: reading if RunResults(tree).tasks else Reading() for name, tree in series.children.items()}
    pages = {str(name): write_run(tree, None, readings[name]) for name, tree in series.children.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # those of the pages have been given
        maps = run_maps(run, judged_by)
    material = Material(run, maps, judged_by.resolve(run), place=None, target=target)
    sections = [
        Section(
            "revisions",
            "Categories over the revisions",
            tuple(_revisions(course, judged_by, material, series.encoding["source"])),
        ),
        Section("pages", "Each revision", tuple(_links(course, pages, material))),
    ]
    tabs = [Tab(f"tab-{section.name}", section.title, (section,)) for section in sections]
    under = f"headcats report on suite {run.manifest.plan.suite}, {course.sizes['revision']} revisions"
    page = document(material, tabs, heading=f"Attention heads of {course.attrs['model']}", under=under)
    write_whole(target, page.encode("utf-8"))
    return target


def _revisions(course: xr.Dataset, reading: Reading, material: Material, series: str) -> Iterator[Part]:
    suite = material.run.manifest.plan.suite
    yield line("revisions.in_short", n=course.sizes["revision"], model=course.attrs["model"], suite=suite)
    code = figure_command(find_place(series), "checkpoints", reading.options)
    yield Drawn("checkpoints", checkpoints(course, title=reading.title), line("revisions.figure"), code)
    yield line("revisions.head_numbers", revision=judged_revisions(course)[-1])
    yield from revision_findings(course, reading)


def _links(course: xr.Dataset, pages: Mapping[str, Path], material: Material) -> Iterator[Part]:
    for name, page in pages.items():
        yield Link(material.address(page), name, str(_content(course.sel(revision=name))))


def _content(revision: xr.Dataset) -> Finding:
    sizes = revision["size"].to_series().dropna()
    listing = first_names([f"{category} {int(n)}" for category, n in sizes.items()], len(sizes))
    return line("revisions.page", sizes=listing) if len(sizes) else line("revisions.page_not_judged")
