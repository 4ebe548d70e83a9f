"""What the commands on a series end in: heads at its first and last revision, and changes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import xarray as xr

from headcats.reports.text.answer import approximated
from headcats.reports.text.revisions import (
    changes_finding,
    judged_revisions,
    other_prompts,
    size_text,
    skipped_findings,
)
from headcats.reports.text.short import Short
from headcats.results.finding import Finding, Table, line, table
from headcats.results.visible import shortened

_LONGEST_NAME = 16
"""Characters of a revision that a heading names."""


def short_revisions(
    course: xr.Dataset, *, warnings: Iterable[Finding], next_command: str, colours: Mapping[str, str]
) -> Short:
    """The answer on what `hc.evidence.over_revisions` returns.

    Args:
        course: The categories at every revision.
        warnings: Further ones, which come last.
        next_command: What to do now.
        colours: Category -> its colour.
    """
    of_run = {name: course.attrs[name] for name in ("model", "method", "metric", "rule")}
    verdict = (line("short.revisions", n=course.sizes["revision"], **of_run), changes_finding(course))
    known = (*approximated(course), *other_prompts(course), *skipped_findings(course), *warnings)
    listed = replace(_category_table(course), colours=colours)
    return Short(verdict, lambda most: listed, (), known, next_command, colours)


def _category_table(course: xr.Dataset) -> Table:
    """A row per category: heads at the first and the last revision that are judged, changes of a call in all."""
    judged = judged_revisions(course)
    ends = list(dict.fromkeys([judged[0], judged[-1]]))
    rows = []
    for category in course["category"].values.tolist():
        cell = course.sel(category=category)
        sizes = [size_text(cell.sel(revision=name)) for name in ends]
        counts = [str(int((cell["change"] != 0).sum())), str(int(cell["change_found"].sum()))]
        rows.append([category, *sizes, *counts])
    changes = [str(line(f"short.{name}")) for name in ("changes", "differences")]
    headings = [str(line("short.heads_at", revision=shortened(name, most=_LONGEST_NAME))) for name in ends]
    return table(
        "text.untitled", ["category", *headings, *changes], rows, numeric=changes, optional=[*reversed(changes)]
    )
