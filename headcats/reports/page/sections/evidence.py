"""Whether the categories are real, and what the map depends on: what is saved of that, or how to get it."""

import json
import logging
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator

import xarray as xr

from headcats.base.errors import DamagedFileError, DataError, StatisticsWarning
from headcats.base.registry import lookup
from headcats.categories.map_spec import EVIDENCE, MapSpec
from headcats.evidence.comparison.agreement import agreement
from headcats.evidence.comparison.protocols import judge_protocols
from headcats.evidence.comparison.runs import named_runs
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Drawn, Facts, Folded, Part, section
from headcats.reports.text.agreement import agreement_findings, replicate_findings
from headcats.reports.text.evidence import evidence_findings
from headcats.results.finding import Finding, line, note, templates
from headcats.results.head_axes import HEAD
from headcats.results.records import NOT_USED
from headcats.results.tables import as_written

_log = logging.getLogger("headcats")
_UNRELIABLE = 0.5


@section("Evidence: are the categories real?")
def evidence(material: Material) -> Iterator[Part]:
    """Show what `headcats evidence` saved on these categories, or the command."""
    if not material.tables:
        return
    # All of the suite: an older test may be of more categories than the map.
    categories = json.dumps(material.run.manifest.category_entries())
    for place, tree in enumerate(material.evidence):
        yield from _whole(_test(tree, f"own_{place}", categories))
    if not material.evidence:
        if material.spec.sign == "suppressing":
            yield line("evidence.helping_only")
        elif material.unit != HEAD:
            yield line("evidence.single_heads_only")
        elif not material.lost_evidence:
            yield line("evidence.missing")
            yield Code(material.command("evidence", "method", "metric", "effect"))
    for folder, problem in material.unusable_evidence.items():
        yield _unusable(folder, problem)


@section("Robustness: what does the map depend on?")
def robustness(material: Material) -> Iterator[Part]:
    """Agreement of all protocols of the run, of which the map is one."""
    if not material.tables:
        return
    if material.not_judged:
        yield line("robustness.not_judged")
        return
    spec = material.spec
    reading = MapSpec(rule=spec.rule, min_tasks=spec.min_tasks, sign=spec.sign)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # the map has given its own
            protocols = judge_protocols(named_runs({"": material.run}), reading)
    except DataError as error:  # controls alone
        yield line("text.plain", text=" ".join(str(error).split()))
        return
    yield from agreement_findings(agreement(protocols.members, sign=spec.sign), protocols.left_out)
    yield from replicate_findings(protocols.members, sign=spec.sign)


def _whole(parts: Iterable[Part]) -> tuple[Part, ...]:
    """All parts; a note where the tables that they are of are not as they should be."""
    try:
        with as_written("a table in it", again="`headcats evidence`"):
            return tuple(parts)
    except (DamagedFileError, DataError) as error:  # the second by a figure
        return (_unusable(EVIDENCE, str(error)),)


def _unusable(folder: str, problem: str) -> Finding:
    """The note on the page, and a warning to who makes it."""
    _log.warning("Not in the report: %s, as %s", folder, problem)
    return note("evidence.unusable", folder=folder, problem=problem)


def _test(tree: xr.DataTree, name: str, categories: str) -> Iterator[Part]:
    """The figures and the verdicts; what the numbers say, how heads were tested and the numbers themselves folded."""
    # With the colours of the suite.
    relabelling = tree["relabelling"].to_dataset().assign_attrs(categories=categories)
    if relabelling.sizes["relabelling"]:
        figure = lookup("figure", "relabelled_tasks")(relabelling)
        yield Drawn(f"relabelled_tasks_{name}", figure, line("evidence.relabelled_figure"))
    tested, *findings, verdicts, units = evidence_findings(tree)
    start = [finding.id for finding in findings].index("evidence.reading")
    yield verdicts
    yield units
    yield Folded(line("evidence.statements"), tuple(findings[start + 1 :]))
    yield Folded(line("evidence.numbers"), (tested, *findings[:start]))


@section("Read this first")
def caution(material: Material) -> Iterator[Part]:
    """Everything that weakens what follows, in plain words; says so where there is nothing."""
    notes = [*_of_run(material), *_of_map(material)]
    yield from notes or [line("caution.nothing")]


@section("Words")
def words(material: Material) -> Iterator[Part]:
    """A glossary, folded."""
    terms = {id.partition(".")[2]: text for id, text in templates().items() if id.startswith("glossary.")}
    yield Folded(line("words.title"), (Facts(tuple(terms.items())),))


def _of_run(material: Material) -> Iterator[Finding]:
    manifest = material.run.manifest
    if missing := material.run.missing:
        yield note("caution.missing", n=len(missing), files=list(missing))
    if unfinished := manifest.unfinished():
        yield note("caution.unfinished", tasks=list(unfinished))
    if skipped := list(manifest.skipped()):
        yield note("caution.skipped", tasks=skipped, n=len(skipped))
    dropped = Counter[str]()
    for record in manifest.tasks.values():
        for counts in (record.rows, record.word_pairs, record.prompts):
            dropped.update({reason: number for reason, number in counts.dropped.items() if reason != NOT_USED})
    if dropped:
        reasons = [line("caution.because", n=count, reason=reason) for reason, count in dropped.most_common(3)]
        yield note("caution.dropped", n=dropped.total(), reasons=reasons)
    for file, problem in material.attention.problems.items():
        yield note("caution.attention", file=file, problem=problem)
    hooked = {label for _, label, path, check in material.paths if path == "hooked" and "fail" in check}
    if hooked:
        yield note("caution.hooked", methods=sorted(hooked))


def _of_map(material: Material) -> Iterator[Finding]:
    if (result := material.scored) is None:
        if not material.run.joint_blocks:
            yield note("answer.no_map")
        return
    scores = result.tables["scores"]
    for warning in result.cautions:
        yield note("text.plain", text=warning)
    if material.not_judged:
        yield note("caution.not_judged", reason=material.not_judged)
    if material.run.declarations[material.mapped].control_of:
        yield note("caution.control", method=scores.attrs["method"])
    has_numbers = scores["effect"].notnull().any(("layer", "head"))
    weak = scores["task"].values[(has_numbers & (scores["reliability"] < _UNRELIABLE)).values].tolist()
    if weak:
        yield note("caution.unreliable", tasks=weak, n=len(weak), least=_UNRELIABLE)
    if scores.attrs["positions"] == "last":
        yield note("caution.last_position")
    if material.spec.min_tasks == 1:
        yield note("caution.single_task")
    if material.evidence and (left_out := json.loads(material.evidence[0].attrs["left_out"])):
        yield note("caution.left_out", tasks=list(left_out))
