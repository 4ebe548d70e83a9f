"""Whether the categories are real: what `headcats evidence` saved, or how to get it."""

import json
from collections.abc import Iterator

import xarray as xr

from headcats.categories.reading import EVIDENCE
from headcats.registry import lookup
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Drawn, Folded, Part, section
from headcats.reports.text.evidence import evidence_findings
from headcats.reports.text.finding import line, note


@section("Evidence: are the categories real?")
def evidence(material: Material) -> Iterator[Part]:
    """The saved test of these categories, or the command that makes one; tests of other choices folded."""
    if not material.tables:
        return
    # All of the suite: an older test may be of more categories than the map.
    categories = json.dumps(material.manifest.category_entries())
    for place, test in enumerate(material.evidence):
        yield from _test(test.tree, f"own_{place}", categories)
    if not material.evidence:
        yield from _missing(material)
    for folder, files in material.incomplete_evidence.items():
        yield note("evidence.incomplete", folder=folder, files=files)
    for place, test in enumerate(material.other_evidence):
        name = test.folder.removeprefix(f"{EVIDENCE}-") if test.folder != EVIDENCE else "the default"
        yield Folded(line("evidence.other_choice", name=name), tuple(_test(test.tree, f"other_{place}", categories)))


def _missing(material: Material) -> Iterator[Part]:
    if material.tables["overlap"].attrs.get("sign") == "suppressing":
        yield line("evidence.helping_only")
    elif material.not_judged:
        yield line("evidence.not_judged")
    else:
        yield line("evidence.missing")
        options = material.options("method", "metric", "effect", "rule", "min-tasks")
        yield Code(f"headcats evidence {material.named_folder}{options}")


def _test(tree: xr.DataTree, name: str, categories: str) -> Iterator[Part]:
    """The curves, how heads were tested, the verdicts and what the numbers say; the numbers themselves folded."""
    curves = tree["curves"].to_dataset().assign_attrs(categories=categories)  # for the colours of the suite
    if bool(curves["damage"].notnull().any()):
        yield Drawn(
            f"ablation_curves_{name}", lookup("figure", "ablation_curves")(curves), line("evidence.curves_figure")
        )
    tested, *findings, verdicts = evidence_findings(tree)
    start = [finding.id for finding in findings].index("evidence.reading")
    yield tested
    yield verdicts
    yield from findings[start + 1 :]
    if start:
        yield Folded(line("evidence.numbers"), tuple(findings[:start]))
