"""What categories share, beside chance, and how far the data reach."""

from collections.abc import Iterator

from headcats.figures.set_counts import set_counts
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn, Part, section
from headcats.reports.text.finding import line
from headcats.reports.text.maps import shared_findings


@section("Overlap against chance")
def shared(material: Material) -> Iterator[Part]:
    """Counts and Jaccard indices with what chance gives, and every sentence that `headcats map` prints below them."""
    if not material.tables:
        return
    overlap = material.tables["overlap"]
    if bool((overlap["member"] == 1).any()) and overlap.sizes["category"] > 1:
        yield Drawn(
            "set_counts",
            set_counts(overlap),
            line("map.set_counts_figure"),
        )
    yield from shared_findings(material.tables, material.reading)
