"""Whether the categories are real: what `headcats evidence` saved, or how to get it."""

import json
from collections.abc import Iterator

import xarray as xr

from headcats.categories.reading import EVIDENCE
from headcats.figures.ablation_curves import ablation_curves
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Drawn, Folded, Part, section
from headcats.reports.text.evidence import evidence_findings
from headcats.reports.text.table import Finding, Note


@section("Evidence: are the categories real?")
def evidence(material: Material) -> Iterator[Part]:
    """The saved test of these categories, or the command that makes one; tests of other choices folded."""
    if not material.tables:
        return
    # All of the suite: an older test may be of more categories than the map.
    categories = json.dumps(material.manifest.category_entries())
    for place, one in enumerate(material.evidence):
        yield from _told(one.tree, f"own_{place}", categories)
    if not material.evidence:
        yield from _missing(material)
    for folder, lacking in material.incomplete_evidence.items():
        yield Note(
            f"`{folder}` is not shown: it lacks {', '.join(lacking)}. The command that wrote it was stopped; run it "
            "again."
        )
    for place, one in enumerate(material.other_evidence):
        name = one.folder.removeprefix(f"{EVIDENCE}-") if one.folder != EVIDENCE else "the default"
        yield Folded(f"Heads chosen in another way: {name}", tuple(_told(one.tree, f"other_{place}", categories)))


def _missing(material: Material) -> Iterator[Part]:
    if material.tables["overlap"].attrs.get("sign") == "suppressing":
        yield "Only heads that help are tested; there is no evidence on suppressing ones."
        return
    if material.not_judged:
        yield "No head can be judged, so there is nothing to test yet: more query items come first."
        return
    yield (
        "Nothing is saved yet for the categories of this map. This chooses heads on half of the query items, ablates "
        "them together on prompts that the map has not seen, and compares the damage with that of random heads:"
    )
    options = material.options("method", "metric", "effect", "rule", "min-tasks")
    yield Code(f"headcats evidence {material.named_folder}{options}")


def _told(tree: xr.DataTree, name: str, categories: str) -> Iterator[Part]:
    yield from _curves(tree, name, categories)
    yield from _reading_first(list(evidence_findings(tree)))


def _curves(tree: xr.DataTree, name: str, categories: str) -> Iterator[Part]:
    curves = tree["curves"].to_dataset().assign_attrs(categories=categories)  # for the colours of the suite
    if bool(curves["damage"].notnull().any()):
        yield Drawn(
            f"ablation_curves_{name}",
            ablation_curves(curves),
            "Damage when the heads of a category are ablated one after the other, beside random heads.",
        )


def _reading_first(found: list[Finding]) -> Iterator[Part]:
    """How heads were tested, the verdicts and what the numbers say; the numbers themselves folded."""
    start = found.index("Reading")
    about, numbers, reading, verdicts = found[0], found[1:start], found[start + 1 : -1], found[-1]
    yield about
    yield verdicts
    yield from reading
    if numbers:
        yield Folded("The numbers behind this", tuple(numbers))
