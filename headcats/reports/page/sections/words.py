"""What the words on the page mean."""

from collections.abc import Iterator

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Facts, Folded, Part, section
from headcats.reports.text.finding import line
from headcats.reports.text.wording import templates


@section("Words")
def words(material: Material) -> Iterator[Part]:
    """A glossary, folded."""
    terms = {id.partition(".")[2]: text for id, text in templates().items() if id.startswith("glossary.")}
    yield Folded(line("words.title"), (Facts(tuple(terms.items())),))
