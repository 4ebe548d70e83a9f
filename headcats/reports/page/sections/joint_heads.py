"""Heads that a joint method sorts into categories, how many share categories, and where they are."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import xarray as xr

from headcats.errors import HeadcatsError
from headcats.registry import lookup
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn, Folded, Part, drawn_or_why_not
from headcats.reports.page.python_lines import figure_command
from headcats.reports.text.joint_blocks import block_findings, block_tables, block_title, of_tasks
from headcats.reports.text.selected import Selected
from headcats.results.finding import Finding, line
from headcats.results.head_axes import HEAD
from headcats.rules.rule import Rule

_MAPS = ("overlap_map", "set_counts", "layer_profile")


def selected_heads(material: Material, selected: Selected) -> Iterator[Part]:
    """Of the method that the page is of, as its rule and its options select them."""
    (label,) = selected.names
    yield from _findings(material, label, selected.tables, rule=material.reading.named_rule)
    yield from _figures(material, label, selected.tables, _MAPS, id_end="selected", options=selected.options)


def sorted_heads(material: Material, label: str, number: int) -> Iterator[Part]:
    """Of any other, by the rule of its paper; folded."""
    try:
        tables = block_tables(material.run, label)
    except HeadcatsError as problem:  # a probe at chance, for example
        yield line("text.not_drawn", reason=str(problem))
        return
    yield Folded(line("methods.heads", label=label), tuple(_findings(material, label, tables)))
    # The figure of relations, which stands above, is their map already.
    figures = _MAPS[1:] if of_tasks(material.run.joint_blocks[label]) else _MAPS
    if shown := tuple(_figures(material, label, tables, figures, id_end=str(number), options={})):
        yield Folded(line("methods.maps", label=label), shown)


def _findings(
    material: Material, label: str, tables: Mapping[str, xr.Dataset], *, rule: Rule | None = None
) -> Sequence[Finding]:
    block, tried = material.run.joint_blocks[label], material.run.tried_categories(label)
    return block_findings(block, tables, rule=rule, tried=tried)


def _figures(
    material: Material,
    label: str,
    tables: Mapping[str, xr.Dataset],
    names: Sequence[str],
    *,
    id_end: str,
    options: Mapping[str, str],
) -> Iterator[Drawn | Finding]:
    """None where no head is in a category."""
    if not bool((tables["overlap"]["member"] == 1).any()):
        return
    title = block_title(material.run.joint_blocks[label], tables)
    for name in names:
        draw = functools.partial(lookup("figure", name), tables["overlap"], title=title)
        code = figure_command(material.place, name, {"method": label, **options})
        shown = line("methods.figure", label=label, name=name)
        # A cell of a head says nothing of the groups that the page is about.
        heads: Literal["layer-head", ""] = "layer-head" if name == "overlap_map" and material.unit == HEAD else ""
        yield drawn_or_why_not(f"{name}_{id_end}", draw, shown, code, heads)
