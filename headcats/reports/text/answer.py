"""The answer of a run in a few sentences made by rules: which heads serve what, how sure that is, what contradicts it.

No sentence is surer than the evidence: heads "pass" for a category until `headcats evidence` has tested it.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headcats.categories.head_roles import head_roles
from headcats.categories.map_result import CategoryHeads, MapResult, verdicts_of
from headcats.categories.membership import SETTLED
from headcats.categories.outcome import IN, NOT_JUDGED, UNDECIDED, outcomes
from headcats.evidence.findings import coincidences
from headcats.evidence.relabelling import ALPHA
from headcats.evidence.verdicts import VERDICTS
from headcats.results.declaration import approximation_label, controls_of
from headcats.results.finding import Finding, first_names, line
from headcats.results.head_axes import HEAD, cell_name, noun, unit_of
from headcats.results.records import LEAST_PROMPTS_PER_ROLE, ModelRecord
from headcats.results.sources import is_bundled
from headcats.scores.reach import items_wanted
from headcats.study.options import StudyOptions

NAMED = 4
"""Heads or categories that a sentence names before it counts them."""


@dataclass(frozen=True)
class Group:
    """Heads in exactly the same categories; heads of one are undecided in so many others, and out of the rest."""

    categories: tuple[str, ...]
    undecided: int
    heads: tuple[str, ...]


def groups(overlap: xr.Dataset) -> list[Group]:
    """Sort heads by the set of categories they are in; the sets with the most categories first, then the largest."""
    names, unit = overlap["category"].values.tolist(), unit_of(overlap)
    words = outcomes(overlap).transpose("layer", "head", "category").to_numpy()
    inside, n_undecided = words == IN, (words == UNDECIDED).sum(-1)
    by_set: dict[tuple[tuple[str, ...], int], list[str]] = {}
    for i, j in zip(*np.nonzero(inside.any(-1)), strict=True):
        name = cell_name(int(overlap["layer"][i]), int(overlap["head"][j]), unit)
        categories = tuple(np.array(names)[inside[i, j]].tolist())
        undecided = int(n_undecided[i, j]) if len(categories) == 1 else 0
        by_set.setdefault((categories, undecided), []).append(name)
    ordered = sorted(by_set.items(), key=lambda pair: (-len(pair[0][0]), -len(pair[1])))
    return [Group(*key, tuple(heads)) for key, heads in ordered]


def headline(result: MapResult) -> Iterator[Finding]:
    """Name the heads in one or two sentences; the verdicts first where the categories have been tested."""
    overlap, kind = result.overlap, result.spec.sign
    if result.not_judged:
        yield _more_prompts(result, "answer.not_judged", "answer.not_judged_of_lists")
        return
    if result.evidence:
        yield line("answer.verdicts", verdicts=list(_verdicts(result.verdicts, result)))
        yield from coincidences(result.evidence[0]["relabelling"].to_dataset())
    if result.inside.any():
        yield from who_serves_what(overlap, kind)
    else:
        rule = overlap.attrs.get("rule", "the rule")  # as `hc.categorize` notes it
        yield line("answer.none", kind=kind, rule=rule, undecided=int(overlap["undecided"].any("category").sum()))


def who_serves_what(overlap: xr.Dataset, kind: str = "helping") -> Iterator[Finding]:
    """Name heads in several categories, and heads in one with the number of others in which they are undecided."""
    sets, names = groups(overlap), overlap["category"].values.tolist()
    marked_kind = kind if kind == "suppressing" else None
    shared = [group for group in sets if len(group.categories) > 1]
    if shared:
        n_more = sum(len(group.heads) for group in shared[1:])
        yield line(
            "answer.shared",
            heads=_named(shared[0].heads),
            n=len(shared[0].heads),
            kind=marked_kind,
            categories=_categories(shared[0].categories),
            more=line("answer.more_shared", n=n_more) if n_more else None,
        )
    # Unmarked heads last, or the mark behind the others would seem to be theirs too.
    single = sorted((group for group in sets if len(group.categories) == 1), key=lambda group: -group.undecided)
    groups_of = {name: [group for group in single if group.categories == (name,)] for name in names}
    counted = [
        line("answer.of_one", category=name, heads=[_named(group.heads, group.undecided) for group in of_name])
        for name, of_name in groups_of.items()
        if of_name
    ]
    if counted:
        more = line("answer.more_categories", n=len(counted) - NAMED) if len(counted) > NAMED else None
        id = "answer.one_in_all" if len(names) == 1 else "answer.one"
        yield line(id, kind=marked_kind, categories=counted[:NAMED], more=more)


def names_of(category: CategoryHeads, most: int) -> str:
    """Names of a category's heads, largest effect first, and how many are undecided in others; "none" for none."""
    if not category.heads:
        return "none"
    names, n_open = first_names(category.heads, most, " "), sum(n > 0 for n in category.open_elsewhere)
    return f"{names} {line('answer.open_elsewhere', n=n_open)}" if n_open else names


def undecided_in(n: int) -> Finding | None:
    """Number of other categories in which a head is undecided, to stand behind its name; None for 0."""
    return line("answer.undecided_in", n=n) if n else None


def certainty(result: MapResult) -> Iterator[Finding]:
    """Count memberships that hold, and shared heads where other labels give others; say what members do."""
    yield from (*resampled(result), *shared_pairs(result), *roles(result))


def roles(result: MapResult) -> Iterator[Finding]:
    """Say what members do, where a descriptor is far out; nothing without any."""
    if described := head_roles(result.overlap):
        named = [line("answer.role", **role._asdict()) for role in described[:NAMED]]
        more = line("answer.more_roles", n=len(described) - NAMED) if len(described) > NAMED else None
        yield line("answer.roles", heads=named, more=more)


def resampled(result: MapResult) -> Iterator[Finding]:
    """Count memberships that hold under resampling; nothing without any."""
    if (total := int(result.inside.sum())) and result.settled is not None:
        yield line("answer.held", held=int(result.settled.sum()), n=total, share=SETTLED)


def shared_pairs(result: MapResult, *, most_p: float = ALPHA) -> Iterator[Finding]:
    """Count heads that categories share, beside those under other labels; nothing without heads or with a larger p."""
    table = result.tables.get("sharing")
    if table is None or not result.inside.any() or not table["p_value"] <= most_p:
        return
    n, mean, low, high, p = (
        table[name].item() for name in ("shared_pairs", "relabelled", "relabelled_low", "relabelled_high", "p_value")
    )
    meaning = "answer.shares_alike" if p > ALPHA else "answer.shares_fewer" if n < mean else "answer.shares_more"
    yield line("answer.sharing", n=n, mean=mean, low=low, high=high, p=p, meaning=line(meaning))


def agreements(result: MapResult) -> Iterator[Finding]:
    """Name other methods of the run that have the very same memberships."""
    if names := _agreeing(result):
        yield line("answer.same_by", methods=names, n=len(names))


def contradictions(result: MapResult) -> Iterator[Finding]:
    """Say in what the other maps of the run contradict the requested one."""
    n = int(result.inside.sum())
    if result.not_judged:
        return
    categories = result.overlap["category"].values.tolist()
    if n and result.task_specific is not None and not result.task_specific.not_judged:
        left = result.task_specific.names_too(result)
        counts = [f"{name} {int(of.sum())}" for name, of in zip(categories, left, strict=True)]
        named = line("answer.counts", counts=counts) if len(counts) <= NAMED else None
        unsettled = left_open(result.task_specific, result)
        yield line("answer.task_specific", left=int(left.sum()), n=n, left_open=unsettled, counts=named)
    agreeing = _agreeing(result)
    for other in result.others:
        if not other.not_judged and other.name not in agreeing:
            both, theirs = int(other.names_too(result).sum()), int(other.inside.sum())
            if not n:
                yield from [line("answer.other_alone", method=other.name, n=theirs)] if theirs else []
                continue
            yield line(
                "answer.other_method",
                method=other.name,
                on_fewer=_on_fewer(other, result),
                both=both,
                n=n,
                left_open=left_open(other, result),
                others=theirs - both,
            )


def _on_fewer(other: MapResult, result: MapResult) -> Finding | None:
    """Say that another map rests on fewer tasks; None where it has numbers for all."""
    tasks, theirs = result.tasks, other.tasks
    n = sum(task in theirs for task in tasks)
    return line("answer.on_fewer", n=n, total=len(tasks)) if n < len(tasks) else None


def left_open(other: MapResult, result: MapResult, category: int | slice = slice(None)) -> Finding | None:
    """Count memberships that another map leaves undecided, or does not judge, in all or one category; None for none."""
    words = other.outcomes_on(result)[category][result.inside[category]].tolist()
    counts = [
        line("answer.outcome", n=words.count(word), outcome=word) for word in (UNDECIDED, NOT_JUDGED) if word in words
    ]
    return line("answer.left_open", outcomes=counts) if counts else None


def approximated(table: xr.Dataset) -> Iterator[Finding]:
    """Say that a table rests on estimates; nothing for an exact method. It bears on every number, so it comes first."""
    if kind := approximation_label(table):
        yield line("map.approximation", kind=kind)


def toy_model_warning(model: ModelRecord) -> Iterator[Finding]:
    """Say that the model comes with headcats, to show how it works."""
    if is_bundled(model):
        yield line("answer.bundled")


def cautions(result: MapResult) -> Iterator[Finding]:
    """Cautions on a map beyond those of the functions above; the weightiest first."""
    overlap = result.overlap
    if not result.not_judged and prompts_wanted(result):
        yield _more_prompts(result, "answer.few_prompts", "answer.few_prompts_of_lists")
    empty = [category.name for category in result.categories if not category.judged]
    if empty:
        yield line("answer.categories_not_judged", categories=_categories(empty))
    alone = [category.name for category in result.categories if category.judged and category.n_tasks == 1]
    if alone:
        yield line("answer.single_task", categories=_categories(alone), n=len(alone))
    if "task" in controls_of(result.spec.label.name) and (why := result.no_task_specific):
        yield line("answer.no_task_specific", reason=why)
    if unit_of(overlap) != HEAD:
        yield line("answer.groups", unit=noun(unit_of(overlap)))
    n_undecided, total = sum(each.n_undecided for each in result.categories), int(overlap["effect"].notnull().sum())
    if n_undecided > total / 2 and not result.not_judged:
        yield line("answer.undecided", n=n_undecided, total=total)


def prompts_wanted(result: MapResult) -> int | None:
    """Number of prompts per task, a power of two, that tell heads apart; None if there are enough, or no p values."""
    scores, options = result.tables["scores"], result.spec.rule.options
    if "alpha" not in options or not scores["p_value"].notnull().any():
        return None
    items, prompts = float(scores["n_items"].median()), float(scores["n"].median())
    wanted = items_wanted(scores, alpha=options["alpha"], margin=options.get("min_effect", 0.0))
    if items >= wanted and not result.not_judged:
        return None
    return int(2 ** math.ceil(math.log2(max(wanted * prompts / items, prompts + 1))))


def prompts_lacking(result: MapResult) -> int:
    """Number of prompts that tasks should have where all are from files with too few to judge heads; 0 elsewhere."""
    n = prompts_wanted(result)
    if n is None or result.longest_list is None:
        return 0
    # Beside those that are scored, reference prompts and as many for a test: so `n` are scored, a power of two, also
    # where a run shares out a list, as it does where the default is asked for.
    wanted = n + 2 * LEAST_PROMPTS_PER_ROLE
    least = wanted if n == StudyOptions.n_prompts else n + LEAST_PROMPTS_PER_ROLE + 1
    return 0 if result.longest_list >= least else wanted


def _more_prompts(result: MapResult, id: str, of_lists: str) -> Finding:
    """Say that there are too few prompts: how many to ask for, or how many the files should have."""
    lacking = prompts_lacking(result)
    return line(of_lists, n=lacking) if lacking else line(id, n=prompts_wanted(result))


def other_tests(result: MapResult) -> Iterator[Finding]:
    """Further tests of the same categories, with heads ablated at other positions, whose verdicts are others."""
    for each in result.evidence[1:]:
        if (verdicts := verdicts_of(each)) != result.verdicts:
            positions = json.loads(each.attrs["options"])["positions"]
            yield line("answer.other_test", positions=positions, verdicts=list(_verdicts(verdicts, result)))


def _agreeing(result: MapResult) -> list[str]:
    n, others = result.inside.sum(), [each for each in result.others if not each.not_judged]
    return [each.name for each in others if each.names_too(result).sum() == each.inside.sum() == n > 0]


def _verdicts(given: Mapping[str, str], result: MapResult) -> Iterator[Finding]:
    for verdict in VERDICTS:
        if names := [category for category, of_category in given.items() if of_category == verdict]:
            are_all = 1 < len(names) == result.overlap.sizes["category"]
            categories = line("answer.all_categories") if are_all else _categories(names)
            yield line("answer.verdict", verdict=verdict, categories=categories, n=len(names))


def _categories(names: Sequence[str]) -> Finding:
    return line("answer.names" if len(names) <= NAMED else "answer.many_categories", names=list(names), n=len(names))


def _named(heads: Sequence[str], n_undecided: int = 0) -> Finding:
    id, doubt = "answer.heads" if len(heads) <= NAMED else "answer.many_heads", undecided_in(n_undecided)
    return line(id, heads=list(heads), n=len(heads), doubt=doubt)
