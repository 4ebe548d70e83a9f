"""What a reader must know before believing the page."""

import json
from collections import Counter
from collections.abc import Iterator

from headcats.errors import pluralize
from headcats.evidence.verdicts import LEAST_CONTROLS
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Part, section
from headcats.reports.text.table import Note
from headcats.results.declaration import approximation_label, controls_of
from headcats.results.label import Label

_BUNDLED = ("mini", "mini-cognitive")
_UNRELIABLE, _NAMED = 0.5, 8


@section("Read this first")
def caution(material: Material) -> Iterator[Part]:
    """Everything that weakens what follows, in plain words; says so where there is nothing."""
    found = [Note(text) for text in (*_of_run(material), *_of_map(material))]
    yield from found
    if not found:
        yield "Nothing about this run calls for caution beyond what the sections below say."


def _of_run(material: Material) -> Iterator[str]:
    manifest = material.manifest
    if manifest.model.name in _BUNDLED and manifest.model.revision is None:
        yield (
            "This is a bundled model, small and trained on the kinds of task that it is judged by: it shows how the "
            "tool works, and is no evidence about language models."
        )
    if left := manifest.unfinished():
        yield f"The run was stopped before it came to {_named(left)}: the same command goes on with it."
    if skipped := list(manifest.skipped()):
        yield (
            f"{pluralize(len(skipped), 'task was', 'tasks were')} skipped, and the map is without: {_named(skipped)}. "
            "The table of [tasks](#tasks) says why. A model that cannot do a task says nothing about its heads."
        )
    dropped = Counter[str]()
    for record in manifest.tasks.values():
        for counts in (record.word_pairs, record.prompts):
            dropped.update(counts.dropped)
    if dropped:
        why = "; ".join(f"{count} because {reason}" for reason, count in dropped.most_common(3))
        yield f"{pluralize(dropped.total(), 'pair or prompt was', 'pairs and prompts were')} dropped: {why}."
    hooked = {label for _, label, path, check in material.paths if path == "hooked" and "fail" in check}
    if hooked:
        yield (
            f"The fast computation did not agree with ordinary hooks for {_named(sorted(hooked))}, so the hooks were "
            "used. The numbers are those of the hooks."
        )


def _of_map(material: Material) -> Iterator[str]:
    if not material.tables:
        if not material.blocks:
            yield "No task was scored, so there is no map."
        return
    scores, members = material.tables["scores"], material.tables["members"]
    yield from material.cautions
    if why := members.attrs.get("not_judged"):
        yield f"No head can be judged: {why}"
    if label := approximation_label(scores):
        yield f"This is a {label}: its numbers are estimates for choosing heads, not a verdict."
    if material.declared[material.mapped].control_of:
        yield f"{scores.attrs['method']} is a control: the heads that stand out in it serve no category."
    controls = controls_of(scores.attrs["method"]).values()
    absent = [name for name in controls if name not in {Label.parse(label).name for label in material.labels}]
    if absent:
        yield (
            f"{' and '.join(absent)} {'was' if len(absent) == 1 else 'were'} not run, so it is not known how much of "
            "the effects needs the right task or the right query item, and is not just the removal of a wrong one."
        )
    known = scores["effect"].notnull().any(("layer", "head"))
    weak = scores["task"].values[(known & (scores["reliability"] < _UNRELIABLE)).values].tolist()
    if weak:
        yield (
            f"In {pluralize(len(weak), 'task')} the two halves of the prompts disagree on the heads (reliability below "
            f"{_UNRELIABLE}): {_named(weak)}."
        )
    if "below_noise" in scores and bool(scores["below_noise"].any()):
        yield (
            f"{int(scores['below_noise'].sum())} effects lie below the rounding noise of the model's 16-bit numbers."
        )
    if material.reading.min_tasks == 1:
        yield "One task of a category is enough for this map; with many tasks nearly every head then gets into one."
    unsure = int(((members["member"] == 0) & members["effect"].notnull()).sum())
    total = int(members["effect"].notnull().sum())
    if total and unsure > total / 2 and not members.attrs.get("not_judged"):
        yield f"{unsure} of {total} verdicts (head x category) are undecided: more prompts would settle some of them."
    for evidence in material.evidence[:1]:
        left_out = json.loads(evidence.tree.attrs["left_out"])
        if left_out:
            yield f"The evidence leaves out {_named(list(left_out))}."
    if min(material.manifest.model.heads, default=0) < LEAST_CONTROLS + 1:
        yield (
            f"With fewer than {LEAST_CONTROLS + 1} heads in a layer, a category that rests on a single head cannot be "
            "told from chance."
        )


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
