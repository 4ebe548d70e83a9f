"""Heads that a joint method sorts into categories, how many share categories, and where they are."""

import functools
from collections.abc import Iterator, Sequence
from typing import Literal

from headcats.base.errors import HeadcatsError
from headcats.base.registry import lookup
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import joint_map
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn, Folded, Part, drawn_or_why_not
from headcats.reports.page.python_lines import figure_command
from headcats.reports.text.joint_blocks import block_findings
from headcats.results.finding import Finding, line
from headcats.results.head_axes import HEAD
from headcats.results.label import Label

_MAPS = ("overlap_map", "set_counts", "layer_profile")


def requested_heads(material: Material, result: MapResult) -> Iterator[Part]:
    """Heads of the joint method that the page is of, as its rule and its options select them."""
    yield from block_findings(result)
    yield from _figures(material, result, _MAPS, id_end="selected")


def sorted_heads(material: Material, label: str, number: int) -> Iterator[Part]:
    """Heads of any other joint method, by the rule of its paper; folded."""
    try:
        result = joint_map(material.run, label, MapSpec(Label.parse(label)))
    except HeadcatsError as problem:  # a probe at chance, for example
        yield line("text.not_drawn", reason=str(problem))
        return
    yield Folded(line("methods.heads", label=label), tuple(block_findings(result)))
    # The figure of relations, which stands above, is their map already.
    figures = _MAPS[1:] if result.is_of_relations else _MAPS
    if shown := tuple(_figures(material, result, figures, id_end=str(number))):
        yield Folded(line("methods.maps", label=label), shown)


def _figures(material: Material, result: MapResult, names: Sequence[str], *, id_end: str) -> Iterator[Drawn | Finding]:
    """None where no head is in a category."""
    if not result.inside.any():
        return
    for name in names:
        draw = functools.partial(lookup("figure", name), result.overlap, title=result.title)
        code = figure_command(material.place, name, {"method": result.name, **result.options})
        shown = line("methods.figure", label=result.name, name=name)
        # A cell of a head says nothing of the groups that the page is about.
        heads: Literal["layer-head", ""] = "layer-head" if name == "overlap_map" and material.unit == HEAD else ""
        yield drawn_or_why_not(f"{name}_{id_end}", draw, shown, code, heads)
