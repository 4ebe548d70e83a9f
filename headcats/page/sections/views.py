"""Attention patterns of the top heads: links to the files that lie beside the page."""

from collections.abc import Iterator

from headcats.findings.mapping import title
from headcats.page.material import Material
from headcats.page.parts import Code, Link, Part, section
from headcats.results import Label


@section("What the heads look at")
def views(material: Material) -> Iterator[Part]:
    """A link to every view that is there; otherwise the command that makes them."""
    if material.views:
        yield "Attention patterns on clean and corrupted prompts, in files of their own:"
        by = material.views[0].by
        if by and not (material.found and by == title(material.found)):
            yield f"Their heads were chosen by {by}."
        for view in material.views:
            yield Link(material.address(view.path), view.title, view.what)
    elif not material.found and not any(Label.parse(label).name == "ov_relation" for label in material.blocks):
        yield (
            "Attention views show the heads of categories. This run says nothing about those: a method that scores "
            "task by task is needed, such as denoising_patch."
        )
    else:
        yield "No attention views are saved. They need the model, and are made by:"
        options = material.options("method", "metric", "rule", "min-tasks") if material.found else ""
        yield Code(f"headcats views {material.named_folder}{options}")
