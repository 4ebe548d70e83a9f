"""Findings of a series: the heads of every category at every revision, and which come and go."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.evidence.comparison.revisions import NOT_RUN
from headcats.reports.text.answer import approximated
from headcats.results.finding import (
    Finding,
    Short,
    Table,
    first_names,
    interval_text,
    item,
    line,
    note,
    number_text,
    table,
)
from headcats.results.visible import shortened

NAMED = 8
"""Heads or tasks that are named before the rest is counted."""
_DIFFERING = 20
_LONGEST_NAME = 16
"""Characters of a revision that a heading names."""


def short_revisions(
    course: xr.Dataset, *, warnings: Iterable[Finding], next_command: str, colours: Mapping[str, str]
) -> Short:
    """Make the short answer on a series: heads at the first and the last judged revision, and changes."""
    of_run = {name: course.attrs[name] for name in ("model", "method", "metric", "rule")}
    verdict = (line("short.revisions", n=course.sizes["revision"], **of_run), changes_finding(course))
    known = (*approximated(course), *other_prompts(course), *skipped_findings(course), *warnings)
    judged = judged_revisions(course)
    ends = list(dict.fromkeys([judged[0], judged[-1]]))
    rows = []
    for category in course["category"].values.tolist():
        cell = course.sel(category=category)
        sizes = [size_text(cell.sel(revision=name)) for name in ends]
        rows.append([category, *sizes, str(int((cell["change"] != 0).sum())), str(int(cell["change_found"].sum()))])
    changes = [str(line(f"short.{name}")) for name in ("changes", "differences")]
    headings = [str(line("short.heads_at", revision=shortened(name, most=_LONGEST_NAME))) for name in ends]
    columns = ["category", *headings, *changes]
    listed = table("text.untitled", columns, rows, numeric=changes)
    return Short(verdict, lambda most: replace(listed, colours=colours), (), known, next_command, colours)


def revision_findings(course: xr.Dataset, title: str) -> Iterator[Finding]:
    """Sizes of the table of `hc.evidence.over_revisions`, changes with their test, and what was skipped."""
    categories = course["category"].values.tolist()
    rows = [
        [
            name,
            *(size_text(course.sel(revision=name, category=category)) for category in categories),
            *_changes(course, name),
        ]
        for name in course["revision"].values.tolist()
    ]
    yield table("revisions.heads", ["revision", *categories, "comes", "goes"], rows, reading=title)
    yield line("revisions.columns")
    if tests := int(course["difference_p"].notnull().sum()):
        yield line("revisions.test", alpha=course.attrs["alpha"], tests=tests)
    yield changes_finding(course)
    yield from other_prompts(course)
    yield from skipped_findings(course)


def changes_finding(course: xr.Dataset) -> Finding:
    """Count changes of a call for which a difference of effects is found."""
    if not course["difference_p"].notnull().any():
        return line("revisions.no_test")
    found, calls = course["difference_q"] <= course.attrs["alpha"], course["change"] != 0
    of_calls = int(course["change_found"].sum())
    return line("revisions.found", found=int(found.sum()), calls=int(calls.sum()), of_calls=of_calls)


def effect_changes(course: xr.Dataset) -> pd.DataFrame:
    """Heads and categories whose mean effect differs at the last revision, the largest difference first."""
    last = course.isel(revision=-1)[["difference", "difference_low", "difference_high", "difference_q"]]
    frame = last.reset_coords(drop=True).to_dataframe().reset_index()
    frame = frame.rename(columns=lambda name: name.removeprefix("difference_"))
    frame = frame[frame["q"] <= course.attrs["alpha"]]
    return frame.sort_values("difference", key=np.abs, ascending=False, kind="stable")


def differing_finding(differing: pd.DataFrame, course: xr.Dataset) -> Finding:
    """Count heads and categories whose mean effect differs."""
    tests = int(course["difference_p"].notnull().sum())
    return line("revisions.effects", n=len(differing), tests=tests, alpha=course.attrs["alpha"])


def differing_table(differing: pd.DataFrame) -> Table:
    """List the largest differences of effects."""
    rows = [
        [f"L{row.layer}H{row.head}", row.category, number_text(row.difference, 3), interval_text(row.low, row.high)]
        for row in differing.head(_DIFFERING).itertuples()
    ]
    columns = ["head", "category", "difference", "95 % interval"]
    return table("revisions.differing", columns, rows, numeric=columns[2:])


def other_prompts(course: xr.Dataset) -> Iterator[Finding]:
    """Count tasks with other prompts at the next revision, so that nothing can be paired."""
    if (n := int(course["n_other_prompts"].sum())) > 0:
        yield line("revisions.other_prompts", n=n)


def judged_revisions(course: xr.Dataset) -> list[str]:
    """Names of the revisions at which any category is judged, in order."""
    judged = course["effect"].notnull().any(("category", "layer", "head"))
    return course["revision"].values[judged.values].tolist()


def skipped_findings(course: xr.Dataset) -> Iterator[Finding]:
    """The tasks that a revision cannot do, and the revisions that are not judged, with the reason."""
    reasons = json.loads(course.attrs["not_judged"])
    for name in course["revision"].values.tolist():
        skipped = course["skipped"].sel(revision=name)
        tasks = [str(task) for task in course["task"].values[(skipped != "").values]]
        if reasons.get(name) == NOT_RUN:
            yield note("revisions.not_run", revision=name)
        elif len(tasks) == course.sizes["task"]:
            yield item("revisions.all_skipped", revision=name, n=len(tasks))
        else:
            if name in reasons:
                yield item("revisions.not_judged", revision=name, reason=reasons[name])
            if tasks:
                listing = first_names(tasks, NAMED)
                yield item("revisions.skipped", revision=name, n=len(tasks), total=course.sizes["task"], tasks=listing)


def size_text(cell: xr.Dataset) -> str:
    """Heads of a category at a revision, with the undecided ones, and its tasks where some are skipped."""
    tasks, skipped = int(cell["n_tasks"]), int(cell["n_skipped"])
    share = f" in {tasks}/{tasks + skipped} tasks" if skipped else ""
    if not np.isfinite(cell["size"]):
        return f"-{share}"
    undecided = int(cell["undecided"])
    return number_text(cell["size"], 0) + (f" ({undecided} undecided)" if undecided else "") + share


def changed_heads(cell: xr.Dataset) -> dict[int, list[dict[str, Any]]]:
    """Heads that come (1) and go (-1) in a category at a revision, with the test of their difference."""
    cell = cell.transpose(..., "layer", "head")
    changes: dict[int, list[dict[str, Any]]] = {1: [], -1: []}
    for layer, head in zip(*np.nonzero(cell["change"].values), strict=True):
        place = cell.isel(layer=layer, head=head)
        name = f"L{place['layer'].item()}H{place['head'].item()}"
        test = {"difference": place["difference"].item(), "q": place["difference_q"].item()}
        changes[int(place["change"])].append({"head": name, **test, "found": place["change_found"].item()})
    return changes


def _changes(course: xr.Dataset, revision: str) -> Iterator[str]:
    """Heads that come and heads that go, by category; a star where the difference is found."""
    of_categories = {
        category: changed_heads(course.sel(revision=revision, category=category))
        for category in course["category"].values.tolist()
    }
    for change in (1, -1):
        names = [
            f"{head['head']}{'*' if head['found'] else ''} {category}"
            for category, changes in of_categories.items()
            for head in changes[change]
        ]
        yield first_names(names, NAMED)
