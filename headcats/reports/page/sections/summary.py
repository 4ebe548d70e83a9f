"""The page in a few sentences."""

from collections.abc import Iterator

import xarray as xr

from headcats.categories.membership import head_table
from headcats.errors import pluralize
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Part, section
from headcats.reports.text.evidence import verdict_findings
from headcats.reports.text.maps import unit_note
from headcats.results.finding import Finding, by_category, first_names, item, line

NAMED = 8
"""Heads of a category that are named before the rest is counted."""


@section("In short")
def summary(material: Material) -> Iterator[Part]:
    """The model, what a cell is, the heads of every category, joint methods, and the verdicts."""
    yield _model(material)
    if material.tables:
        yield from unit_note(material.tables["members"])
        yield from _heads(material)
    for label, block in material.run.joint_blocks.items():
        yield line("summary.joint", label=label, size=_size(block))
    if material.evidence:
        yield from verdict_findings(material.evidence[0])
    elif material.tables and bool((material.tables["overlap"]["member"] == 1).any()):
        yield line("summary.test_lost" if material.lost_evidence else "summary.not_tested")


def _model(material: Material) -> Finding:
    manifest = material.run.manifest
    tasks, model = manifest.tasks, manifest.model
    scored = len(material.run.scored_tasks)
    return line(
        "summary.model",
        model=model.name,
        layers=len(model.layers),
        heads=sum(model.heads),
        suite=manifest.plan.suite,
        tasks=line("summary.tasks", scored=scored, n=len(tasks)) if tasks else None,
    )


def _heads(material: Material) -> Iterator[Finding]:
    members, overlap = material.tables["members"], material.tables["overlap"]
    if material.not_judged:
        yield line("map.not_judged", reason=material.not_judged)
        return
    heads, kind = head_table(overlap), material.reading.sign
    heads = heads[heads["kind"] == kind]
    yield line(f"summary.{kind}", reading=material.reading.title)
    for category, row in by_category(members):
        has_numbers = bool(row["effect"].notnull().any())
        names = heads[heads["category"] == category]["head"].tolist()
        listing = f"{len(names)} ({first_names(names, NAMED)})" if names else "none"
        yield item("summary.category", category=category, heads=listing if has_numbers else "not judged")
    several = [k for k in overlap["k"].values.tolist() if k > 1]
    if several:
        observed, expected = (float(overlap[name].sel(k=several).sum()) for name in ("observed", "expected"))
        most = int((overlap["n_possible"] > 1).sum())
        possible = line("summary.shared_most", n=most) if most > observed else None
        yield line("summary.shared", n=int(observed), expected=expected, most=possible)


def _size(block: xr.Dataset) -> str:
    axes = [axis for axis in ("task", "dataset", "function", "seed") if axis in block.sizes]
    return " x ".join(pluralize(block.sizes[axis], axis) for axis in axes) or str(line("summary.one_map"))
