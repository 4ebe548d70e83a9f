"""What joint methods found, and how far all methods agree."""

import warnings
from collections.abc import Iterator

import xarray as xr

from headcats.errors import DataError, HeadcatsError, StatisticsWarning, UnknownNameError
from headcats.evidence.comparison.method_agreement import method_agreement
from headcats.evidence.comparison.method_grid import method_scores
from headcats.registry import lookup
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn, Folded, Heading, Part, section
from headcats.reports.text.finding import Table, line
from headcats.reports.text.joint_blocks import suite_findings, suite_title
from headcats.reports.text.methods import method_findings
from headcats.results.declaration import Declaration


@section("Other methods")
def methods(material: Material) -> Iterator[Part]:
    """A figure and a few sentences for each, then all of them on one grid."""
    for place, (label, block) in enumerate(material.blocks.items()):
        yield Heading(label)
        yield from suite_findings(block)
        if material.declared[label].figure:
            yield from _figure(label, block, suite_title(block), material.declared[label], place=place)
    for place, (label, scores) in enumerate(material.scores.items(), len(material.blocks)):
        if material.declared[label].figure:
            yield Heading(label)
            yield from _figure(label, scores, material.title_of(label), material.declared[label], place=place)
    yield from _together(material)


def _figure(label: str, table: xr.Dataset, title: str, declared: Declaration, *, place: int) -> Iterator[Part]:
    """The figure that a method declares: of the block of a joint method, of the scores of another one."""
    name = declared.figure
    try:
        figure = lookup("figure", name)(table, title=title)
    except (DataError, UnknownNameError) as error:
        yield line("methods.not_drawn", reason=error)  # a probe at chance, or a package that is not installed
        return
    yield Drawn(f"{name}_{place}", figure, line("methods.figure", label=label, name=name), declared.figure_heads)


def _together(material: Material) -> Iterator[Part]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)
            agreement = method_agreement(method_scores(material.results))
    except HeadcatsError:
        return  # a single method: nothing to compare
    yield Heading("All methods on one grid of heads")
    figure = lookup("figure", "method_agreement")(agreement)
    yield Drawn("method_agreement", figure, line("methods.agreement_figure"))
    findings = list(method_findings(agreement))
    end = 1 + max(place for place, finding in enumerate(findings) if isinstance(finding, Table))
    yield from findings[end:]
    yield Folded(line("methods.tables"), tuple(findings[:end]))
