"""What joint methods found, and how far all methods agree."""

import functools
from collections.abc import Iterator, Mapping

import plotly.graph_objects as go
import xarray as xr

from headcats.categories.reading import Reading
from headcats.errors import HeadcatsError
from headcats.registry import lookup
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn, Folded, Heading, Part, drawn_or_why_not, section
from headcats.reports.page.python_lines import figure_command
from headcats.reports.text.comparison import method_findings
from headcats.reports.text.joint_blocks import (
    block_findings,
    block_tables,
    block_title,
    of_tasks,
    suite_findings,
    suite_title,
)
from headcats.results.finding import Table, line
from headcats.results.head_axes import HEAD
from headcats.results.label import Label


@section("Other methods")
def methods(material: Material) -> Iterator[Part]:
    """A figure and a few sentences for each, then all of them on one grid."""
    parts = []
    for label, block in material.run.joint_blocks.items():
        title = suite_title(block) if material.run.declarations[label].figure else ""
        parts.append((label, block, title, suite_findings(block)))
    for label, scores in material.scores.items():
        if material.run.declarations[label].figure:
            parts.append(
                (
                    label,
                    scores,
                    Reading(Label.parse(label), material.reading.metric).resolve(material.run).scores_title,
                    [],
                )
            )
    for place, (label, table, title, findings) in enumerate(parts):
        yield Heading(label)
        yield from findings
        declared = material.run.declarations[label]
        if name := declared.figure:
            shown = line("methods.figure", label=label, name=name)
            # A cell of a head says nothing of the groups that the page is about.
            heads = declared.figure_heads if material.unit == HEAD else ""
            draw = functools.partial(_drawn, name, table, title=title)
            code = figure_command(material.place, name, _options(material, {"method": label}))
            yield drawn_or_why_not(f"{name}_{place}", draw, shown, code, heads)
        if declared.selection and label in material.run.joint_blocks:
            yield from _sorted_heads(material, label, place)
    yield from _together(material)


def _sorted_heads(material: Material, label: str, place: int) -> Iterator[Part]:
    """Heads of every category by a joint method, how many share categories, and where they are."""
    run = material.run
    try:
        tables = block_tables(run, label)
    except HeadcatsError as problem:  # a probe at chance, for example
        yield line("text.not_drawn", reason=str(problem))
        return
    block, tried = run.joint_blocks[label], run.tried_categories(label)
    yield Folded(line("methods.heads", label=label), tuple(block_findings(block, tables, tried=tried)))
    if not bool((tables["overlap"]["member"] == 1).any()):
        return
    figures = []
    # The figure of relations is their map already.
    for name in ("set_counts", "layer_profile") if of_tasks(block) else ("overlap_map", "set_counts", "layer_profile"):
        shown = line("methods.figure", label=label, name=name)
        draw = functools.partial(_drawn, name, tables["overlap"], title=block_title(block, tables))
        code = figure_command(material.place, name, {"method": label})
        figures.append(drawn_or_why_not(f"{name}_{place}", draw, shown, code))
    yield Folded(line("methods.maps", label=label), tuple(figures))


def _options(material: Material, options: Mapping[str, str]) -> dict[str, str]:
    """Those and the metric, where it is not the first of the run."""
    given = material.reading.options_for(material.run) if material.tables else {}
    return {**options, **{name: value for name, value in given.items() if name == "metric"}}


def _drawn(name: str, table: xr.Dataset, *, title: str) -> go.Figure:
    return lookup("figure", name)(table, title=title)


def _together(material: Material) -> Iterator[Part]:
    if (agreement := material.agreement) is None:
        return
    yield Heading("All methods on one grid of heads")
    figure = lookup("figure", "method_agreement")(agreement)
    code = figure_command(material.place, "method_agreement", _options(material, {}))
    yield Drawn("method_agreement", figure, line("methods.agreement_figure"), code=code)
    findings = list(method_findings(agreement))
    end = 1 + max(place for place, finding in enumerate(findings) if isinstance(finding, Table))
    yield from findings[end:]
    yield Folded(line("methods.tables"), tuple(findings[:end]))
