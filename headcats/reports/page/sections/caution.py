"""What a reader must know: what weakens the page, and what its words mean."""

import json
from collections import Counter
from collections.abc import Iterator

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Facts, Folded, Part, section
from headcats.results.declaration import approximation_label, controls_of
from headcats.results.finding import Finding, line, note, templates
from headcats.results.records import NOT_USED
from headcats.results.sources import is_bundled

_UNRELIABLE = 0.5


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
    if is_bundled(manifest.model):
        yield note("caution.bundled")
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
    hooked = {label for _, label, path, check in material.paths if path == "hooked" and "fail" in check}
    if hooked:
        yield note("caution.hooked", methods=sorted(hooked))


def _of_map(material: Material) -> Iterator[Finding]:
    if (result := material.scored) is None:
        if not material.run.joint_blocks:
            yield note("caution.no_map")
        return
    scores = result.tables["scores"]
    for warning in result.cautions:
        yield note("caution.warning", text=warning)
    if material.not_judged:
        yield note("caution.not_judged", reason=material.not_judged)
    if approximation := approximation_label(scores):
        yield note("caution.approximation", kind=approximation)
    if material.run.declarations[material.mapped].control_of:
        yield note("caution.control", method=scores.attrs["method"])
    scored = {label.method for label in material.run.scored}
    absent = {kind: name for kind, name in controls_of(scores.attrs["method"]).items() if name not in scored}
    if absent:
        needs = [{"task": "task", "item": "query item"}[kind] for kind in absent]
        yield note("caution.no_controls", controls=list(absent.values()), needs=needs)
    has_numbers = scores["effect"].notnull().any(("layer", "head"))
    weak = scores["task"].values[(has_numbers & (scores["reliability"] < _UNRELIABLE)).values].tolist()
    if weak:
        yield note("caution.unreliable", tasks=weak, n=len(weak), least=_UNRELIABLE)
    if "below_noise" in scores and bool(scores["below_noise"].any()):
        yield note("caution.below_noise", n=int(scores["below_noise"].sum()))
    if scores.attrs["positions"] == "last":
        yield note("caution.last_position")
    if material.spec.min_tasks == 1:
        yield note("caution.single_task")
    undecided, total = (
        sum(each.n_undecided for each in result.categories),
        int(result.overlap["effect"].notnull().sum()),
    )
    if total and undecided > total / 2 and not material.not_judged:
        yield note("caution.undecided", n=undecided, total=total)
    if material.evidence and (left_out := json.loads(material.evidence[0].attrs["left_out"])):
        yield note("caution.left_out", tasks=list(left_out))
