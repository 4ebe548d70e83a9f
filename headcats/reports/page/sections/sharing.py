"""What categories share beside chance, and the numbers of every head."""

import functools
from collections.abc import Iterator

from headcats.figures.set_counts import set_counts
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Explorer, Part, drawn_or_why_not, section
from headcats.reports.page.python_lines import figure_lines
from headcats.reports.text.maps import shared_findings
from headcats.reports.text.over_tasks import difference_table
from headcats.results.finding import line


@section("Overlap against chance")
def shared(material: Material) -> Iterator[Part]:
    """Counts and Jaccard indices with what chance gives, and every sentence that `headcats map` prints below them."""
    if (result := material.scored) is None:
        return
    if result.inside.any() and len(result.categories) > 1:
        code = figure_lines(material, material.spec, "set_counts(overlap)")
        draw = functools.partial(set_counts, result.overlap)
        yield drawn_or_why_not("set_counts", draw, line("map.set_counts_figure"), code)
    yield from shared_findings(result)
    yield from difference_table(material.tables["differences"])


@section("Every head, task by task")
def explorer(material: Material) -> Iterator[Part]:
    """Drawn by the page's script from the packed numbers."""
    if material.tables or material.strengths is not None:
        yield Explorer()
    for label, reason in material.not_scored.items():
        yield line("explorer.not_scored", label=label, reason=reason)
