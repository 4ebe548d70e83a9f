"""Attention patterns of the top heads: links to the files that lie beside the page."""

from collections.abc import Iterator

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Link, Part, section


@section("What the heads look at")
def views(material: Material) -> Iterator[Part]:
    """A link to every view that is there; otherwise the command that makes them."""
    if material.views:
        yield "Attention patterns on clean and corrupted prompts, in files of their own:"
        by = material.views[0].by
        if by and not (material.tables and by == material.reading.title):
            yield f"Their heads were chosen by {by}."
        for view in material.views:
            yield Link(material.address(view.path), view.title, view.what)
    elif not material.tables and not any(about.sorts_heads for about in material.declared.values()):
        yield (
            "Attention views show the heads of categories. This run says nothing about those: a method that scores "
            "task by task is needed."
        )
    else:
        yield "No attention views are saved. They need the model, and are made by:"
        options = material.options("method", "metric", "rule", "min-tasks") if material.tables else ""
        yield Code(f"headcats views {material.named_folder}{options}")
