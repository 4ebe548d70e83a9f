"""What the words on the page mean."""

from collections.abc import Iterator

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Facts, Folded, Part, section

_MEANT = {
    "head": "L9H6 is head 6 of layer 9; both are counted from 0.",
    "clean, corrupted": "The prompt as it should be, and the same one without something that the answer needs.",
    "effect": "The share of the gap between clean and corrupted prompts that one head accounts for. Positive: the head "
    "helps; negative: it suppresses the answer.",
    "interval": "95 % interval over resamples of the query items; it says nothing about other tasks or templates.",
    "q": "The p-value corrected for the number of heads and rows tested at once (Benjamini-Hochberg).",
    "in, out, undecided": "In: the effect is significant and its whole interval lies above the smallest effect of "
    "interest. Out: the whole interval lies below it. Undecided: anything else.",
    "task-specific effect": "What is left when the effect of a head output from another wrong prompt is taken off.",
    "damage": "Drop of the answer's log-probability, as a share of the gap, when heads are ablated together.",
    "Jaccard index": "Heads in both of two categories as a share of the heads in either.",
}


@section("Words")
def words(material: Material) -> Iterator[Part]:
    """A glossary, folded."""
    yield Folded("What the words on this page mean", (Facts(tuple(_MEANT.items())),))
