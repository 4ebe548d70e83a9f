"""Attention patterns of the top heads: links to the files that lie beside the page."""

from collections.abc import Iterator

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Link, Part, section
from headcats.results.finding import line, note
from headcats.results.head_axes import HEAD


@section("What the heads look at")
def views(material: Material) -> Iterator[Part]:
    """A link to every view that is there; otherwise the command that makes them."""
    for file, problem in material.unusable_views.items():
        yield note("views.unusable", file=file, problem=problem)
    if material.views:
        yield line("views.links")
        by = material.views[0].by
        if by and not (material.tables and by == material.spec.title):
            yield line("views.chosen_by", by=by)
        for view in material.views:
            yield Link(material.address(view.path), view.title, view.content)
    elif not material.tables and not material.run.sorting_methods:
        yield line("views.no_categories")
    elif material.unit != HEAD:
        yield line("views.single_heads_only")
    elif not material.unusable_views:
        yield line("views.missing")
        yield Code(material.command("views", "method", "metric", "rule", "min-tasks"))
