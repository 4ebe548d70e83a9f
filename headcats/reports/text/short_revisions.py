"""What the commands on a series end in: heads at its first and last revision, and changes."""

from collections.abc import Mapping
from dataclasses import replace

import xarray as xr

from headcats.reports.text.revisions import (
    changes_finding,
    judged_revisions,
    other_prompts,
    size_text,
    skipped_findings,
)
from headcats.reports.text.short import Short
from headcats.results.finding import Table, line, table


def short_revisions(course: xr.Dataset, *, suite: str, next_command: str, colours: Mapping[str, str]) -> Short:
    """The answer on what `hc.evidence.over_revisions` returns.

    Args:
        course: The categories at every revision.
        suite: What all were run on.
        next_command: What to do now.
        colours: Category -> its colour.
    """
    n = course.sizes["revision"]
    verdict = (line("revisions.in_short", n=n, model=course.attrs["model"], suite=suite), changes_finding(course))
    warnings = (*other_prompts(course), *skipped_findings(course))
    listed = replace(_category_table(course), colours=colours)
    return Short(verdict, lambda most: listed, (), warnings, next_command, colours)


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
    columns = ["category", *(str(line("short.heads_at", revision=name)) for name in ends), *changes]
    return table("text.untitled", columns, rows, numeric=changes, optional=[*reversed(changes)])
