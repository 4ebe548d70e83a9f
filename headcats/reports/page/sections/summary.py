"""The page in a few sentences."""

from collections.abc import Iterator

import xarray as xr

from headcats.categories.head_list import head_table
from headcats.errors import pluralize
from headcats.evidence.verdicts import SUPPORTED, damaged_more
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Part, section

NAMED = 8
"""Heads of a category that are named before the rest is counted."""


@section("In short")
def summary(material: Material) -> Iterator[Part]:
    """What was asked, and what came out."""
    yield _asked(material)
    if material.tables:
        yield from _heads(material)
    for label, block in material.blocks.items():
        yield f"`{label}` was run over the whole suite: {_size(block)}. See [other methods](#methods)."
    if material.evidence:
        yield from _verdicts(material)
    elif material.tables and bool((material.tables["overlap"]["member"] == 1).any()):
        yield (
            "Whether these categories are real has not been tested, and a map always shows something: see "
            "[evidence](#evidence)."
        )


def _asked(material: Material) -> str:
    manifest = material.manifest
    tasks, model = manifest.tasks, manifest.model
    scored = len(tasks) - len(manifest.skipped())
    grid = f"{pluralize(len(model.layers), 'layer')} with {pluralize(sum(model.heads), 'head')}"
    of = f"; its heads were scored on {scored} of {pluralize(len(tasks), 'task')}" if tasks else ""
    return f"The model {model.name} has {grid}. It was run on suite {manifest.plan.suite}{of}."


def _heads(material: Material) -> Iterator[Part]:
    members, overlap = material.tables["members"], material.tables["overlap"]
    if why := members.attrs.get("not_judged"):
        yield f"No head can be judged, so the map shows every head as undecided: {why}"
        return
    kind = "Suppressing heads" if overlap.attrs.get("sign") == "suppressing" else "Heads that help"
    listed = head_table(overlap)
    mine = listed[listed["kind"] == ("suppressing" if kind.startswith("S") else "helping")]
    yield f"{kind}, by {material.reading.title}:"
    for name in members["category"].values.tolist():
        known = bool(members["effect"].sel(category=name).notnull().any())
        yield f"- {name}: {_named(mine[mine['category'] == name]['head'].tolist()) if known else 'not judged'}"
    several = [k for k in overlap["k"].values.tolist() if k > 1]
    if several:
        observed, expected = (float(overlap[name].sel(k=several).sum()) for name in ("observed", "expected"))
        yield (
            f"{pluralize(int(observed), 'head is', 'heads are')} in more than one category; {expected:.1f} would be by "
            "chance, if each category had as many heads anywhere."
        )


def _named(heads: list[str]) -> str:
    more = f" and {len(heads) - NAMED} more" if len(heads) > NAMED else ""
    return f"{len(heads)} ({', '.join(heads[:NAMED])}{more})" if heads else "none"


def _verdicts(material: Material) -> Iterator[Part]:
    nodes = [material.evidence[0].tree[name].to_dataset() for name in ("specificity", "exclusive")]
    yield "Tested on prompts that the map has not seen ([evidence](#evidence)):"
    for name in nodes[0]["category"].values.tolist():
        verdict, exclusive = (str(table["verdict"].sel(category=name).item()) for table in nodes)
        targets = damaged_more(nodes[0], name)
        but = "though" if verdict == SUPPORTED else "and"
        more = f", {but} its heads damage {' and '.join(targets)} more" if targets else ""
        by_exclusive = "" if exclusive == verdict else f"; by heads in no other category: {exclusive}"
        yield f"- {name}: {verdict}{more}{by_exclusive}."


def _size(block: xr.Dataset) -> str:
    axes = [axis for axis in ("task", "dataset", "function", "seed") if axis in block.sizes]
    return " x ".join(pluralize(block.sizes[axis], axis) for axis in axes) or "one map of layers and tokens"
