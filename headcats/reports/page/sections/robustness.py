"""What the map depends on: what `headcats compare` saved, or how to get it."""

from collections.abc import Iterator

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Part, section
from headcats.reports.text.agreement import agreement_findings, half_findings, replicate_findings
from headcats.reports.text.finding import line
from headcats.reports.text.robustness import robustness_folder, saved_robustness


@section("Robustness: what does the map depend on?")
def robustness(material: Material) -> Iterator[Part]:
    """Agreement between protocols, heads that all protocols have, and halves of the prompts."""
    if not material.tables:
        return
    subfolder = robustness_folder(material.reading)
    saved = None if material.folder is None else saved_robustness(material.folder, subfolder)
    if saved is not None:
        yield from agreement_findings(saved.agreement, saved.left_out)
        yield from replicate_findings(saved.members, sign=material.reading.sign)
        if saved.halves is not None:
            yield from half_findings(saved.halves, title=str(saved.halves.attrs["title"]))
    elif material.not_judged:
        yield line("robustness.not_judged")
    else:
        yield line("robustness.missing")
        yield Code(f"headcats compare {material.named_folder}{material.options('rule', 'min-tasks', 'sign')}")
