"""Any method, any task: the effect of every head."""

from collections.abc import Iterator

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Explorer, Part, section
from headcats.reports.text.finding import line


@section("Every head, task by task")
def explorer(material: Material) -> Iterator[Part]:
    """Drawn by the page's script from the packed numbers."""
    if material.tables or material.strengths is not None:
        yield Explorer()
    for label, reason in material.not_scored.items():
        yield line("explorer.not_scored", label=label, reason=reason)
