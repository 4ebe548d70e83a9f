"""What joint methods found, and how far all methods agree."""

import functools
from collections.abc import Iterator, Mapping

import plotly.graph_objects as go
import xarray as xr

from headcats.base.registry import lookup
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import block_title
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn, Folded, Heading, Part, drawn_or_why_not, section
from headcats.reports.page.python_lines import figure_command
from headcats.reports.page.sections.joint_heads import sorted_heads
from headcats.reports.text.comparison import method_findings
from headcats.reports.text.joint_blocks import suite_findings
from headcats.results.finding import Table, line
from headcats.results.head_axes import HEAD
from headcats.results.label import Label


@section("Other methods")
def methods(material: Material) -> Iterator[Part]:
    """A figure and a few sentences for each, then all of them on one grid."""
    parts = []
    for label, block in material.run.joint_blocks.items():
        title = block_title(block) if material.run.declarations[label].figure else ""
        parts.append((label, block, title, suite_findings(block)))
    for label, scores in material.scores.items():
        if material.run.declarations[label].figure:
            parts.append(
                (
                    label,
                    scores,
                    MapSpec(Label.parse(label), material.spec.metric).resolve(material.run).scores_title,
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
        # Heads of the method that the page is of are in their tab.
        if declared.selection and label in material.run.joint_blocks and not material.is_of(label):
            yield from sorted_heads(material, label, place)
    yield from _together(material)


def _options(material: Material, options: Mapping[str, str]) -> dict[str, str]:
    """Options of a method, with the metric where it is not the first of the run."""
    given = material.spec.options_for(material.run) if material.tables else {}
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
