"""Findings of a series: the heads of every category at every revision, and which come and go."""

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import xarray as xr

from headcats.categories.reading import Reading
from headcats.errors import OptionError
from headcats.evidence.comparison.revisions import NOT_RUN
from headcats.results.finding import Finding, first_names, item, line, note, number_text, table
from headcats.results.label import Label

NAMED = 8
"""Heads or tasks that are named before the rest is counted."""


def revision_findings(course: xr.Dataset, reading: Reading) -> Iterator[Finding]:
    """What `hc.evidence.over_revisions` returns, by a reading: sizes, changes with their test, what was skipped."""
    categories = course["category"].values.tolist()
    rows = [
        [
            name,
            *(size_text(course.sel(revision=name, category=category)) for category in categories),
            *_changes(course, name),
        ]
        for name in course["revision"].values.tolist()
    ]
    yield table("revisions.heads", ["revision", *categories, "comes", "goes"], rows, reading=reading.title)
    yield line("revisions.columns")
    if tests := int(course["difference_p"].notnull().sum()):
        yield line("revisions.test", alpha=course.attrs["alpha"], tests=tests)
    yield changes_finding(course)
    yield from other_prompts(course)
    yield from skipped_findings(course)


def changes_finding(course: xr.Dataset) -> Finding:
    """For how many changes of a call a difference of effects is found."""
    if not course["difference_p"].notnull().any():
        return line("revisions.no_test")
    found, calls = course["difference_q"] <= course.attrs["alpha"], course["change"] != 0
    of_calls = int(course["change_found"].sum())
    return line("revisions.found", found=int(found.sum()), calls=int(calls.sum()), of_calls=of_calls)


def other_prompts(course: xr.Dataset) -> Iterator[Finding]:
    """How many tasks have other prompts at the next revision, so that nothing can be paired."""
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


def check_reading(reading: Reading, *, by: str) -> None:
    """An OptionError for options that a series is not read by."""
    if unused := [f"--{name}" for name in ("effect", "sign") if name in reading.options]:
        raise OptionError(f"{by} does not read {' and '.join(unused)}: leave that out.")


def course_reading(course: xr.Dataset, reading: Reading) -> Reading:
    """The reading of a table over revisions, with the model whose revisions they are."""
    label = Label.parse(course.attrs["method"]).at(course.attrs["positions"])
    return replace(reading, label=label, metric=course.attrs["metric"], model=course.attrs["model"])


def size_text(cell: xr.Dataset) -> str:
    """Heads of a category at a revision, with the undecided ones, and its tasks where some are skipped."""
    tasks, skipped = int(cell["n_tasks"]), int(cell["n_skipped"])
    share = f" in {tasks}/{tasks + skipped} tasks" if skipped else ""
    if not np.isfinite(cell["size"]):
        return f"-{share}"
    undecided = int(cell["undecided"])
    return number_text(cell["size"], 0) + (f" ({undecided} undecided)" if undecided else "") + share


def _changes(course: xr.Dataset, revision: str) -> list[str]:
    """Heads that come and heads that go, by category; a star where the difference is found."""
    texts = []
    for change in (1, -1):
        names = []
        for category in course["category"].values.tolist():
            cell = course.sel(revision=revision, category=category).transpose(..., "layer", "head")
            for layer, head in zip(*np.nonzero(cell["change"].values == change), strict=True):
                name = f"L{course['layer'].values[layer]}H{course['head'].values[head]}"
                names.append(f"{name}{'*' if cell['change_found'].values[layer, head] else ''} {category}")
        texts.append(first_names(names, NAMED))
    return texts
