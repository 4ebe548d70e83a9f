"""What a run answers, on maps whose every cell is set: by fields, as sentences have their words elsewhere."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from simulated import block

from headcats.categories.map_result import MapResult, verdicts_of
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import scored_map
from headcats.evidence.verdicts import INCONCLUSIVE, NOT_SUPPORTED, SUPPORTED
from headcats.reports.text.answer import (
    agreements,
    approximated,
    cautions,
    certainty,
    contradictions,
    headline,
    shared_pairs,
)
from headcats.reports.text.short import short_map
from headcats.reports.text.tasks import corruptions
from headcats.results.manifest import Manifest
from headcats.results.records import BlockRecord, CategoryRecord, DropCounts, MethodRecord, PlanRecord, TaskRecord
from headcats.results.run_results import RunResults
from headcats.results.stored_run import tree

CATEGORIES = ("Algorithmic", "Knowledge", "Linguistic")
# Of each category, the four heads of one layer: H0 is in the last two, H1 in the first alone.
MEMBER = [[-1, 1, 0, -1], [1, -1, 0, -1], [1, -1, -1, -1]]
EFFECT = [[0.0, 0.2, 0.06, 0.0], [0.3, 0.0, 0.06, 0.0], [0.1, 0.0, 0.0, 0.0]]


def a_map(
    member=MEMBER, effect=EFFECT, *, name="denoising patch", categories=CATEGORIES, probability=1.0, tasks="ab", **attrs
):
    """A map over these categories, the heads of one layer."""
    axes = ("category", "layer", "head")
    member, effect = np.array(member, dtype=np.int8)[:, None], np.array(effect, dtype=float)[:, None]
    overlap = xr.Dataset(
        {
            "member": (axes, member),
            "effect": (axes, effect),
            "undecided": (axes, (member == 0) & np.isfinite(effect)),
            "n_tasks": ("category", [2] * len(categories)),
            "min_tasks": ("category", [1] * len(categories)),
            "probability": (axes, np.broadcast_to(probability, member.shape)),
        },
        coords={"category": list(categories), "layer": [0], "head": range(member.shape[-1])},
    )
    numbers = np.where(np.isin(list("ab"), list(tasks)), 0.1, np.nan)[:, None, None]
    scores = xr.Dataset(
        {"effect": (("task", "layer", "head"), numbers)},
        coords={"task": list("ab"), "category": ("task", [categories[0]] * 2)},
        attrs=attrs | {"categories": json.dumps([{"name": name} for name in categories])},
    )
    tables = {"scores": scores, "members": xr.Dataset(attrs=attrs), "overlap": overlap}
    return MapResult(MapSpec(), tables, name)


def maps(mapped, *others, task_specific=None, tested=()):
    return replace(mapped, task_specific=task_specific, others=others, evidence=tested)


def evidence(*verdicts, n_tested=3):
    columns = {"verdict": ("category", list(verdicts)), "inseparable": ("category", [""] * 3), "coincide": ""}
    columns["task_category"] = ("task", list(CATEGORIES[:n_tested]))
    table = xr.Dataset(columns, coords={"category": list(CATEGORIES)})
    return xr.DataTree.from_dict({"/relabelling": table})


def test_the_headline_names_shared_heads_then_those_of_one_category():
    shared, one = headline(maps(a_map()))
    assert (shared.id, one.id) == ("answer.shared", "answer.one")
    assert str(shared).startswith("L0H0 passes for")
    assert str(shared).index("Knowledge") < str(shared).index("Linguistic")
    assert of_one(one) == {"Algorithmic": {0: ["L0H1"]}}


def of_one(finding):
    """Category -> its heads, by in how many others they are undecided."""
    return {
        each.fields["category"]: {
            heads.fields["doubt"].fields["n"] if heads.fields["doubt"] else 0: list(heads.fields["heads"])
            for heads in each.fields["heads"]
        }
        for each in finding.fields["categories"]
    }


def test_heads_of_one_category_are_named_with_the_others_in_which_they_are_undecided():
    (one,) = headline(maps(a_map([[1, 1, -1], [-1, 0, 1], [-1, 0, 0]], np.ones((3, 3)))))
    assert of_one(one) == {"Algorithmic": {2: ["L0H1"], 0: ["L0H0"]}, "Knowledge": {1: ["L0H2"]}}
    assert "L0H1 (undecided in 2), L0H0; Knowledge L0H2 (undecided in 1)" in str(one)


def test_every_category_is_named_or_counted_once():
    names = [f"C{n}" for n in range(6)]
    member = np.zeros((6, 12), dtype=int)
    for place in range(6):
        member[place, [2 * place, 2 * place + 1]] = 1
        member[(place + 1) % 6, 2 * place] = -1
    (one,) = headline(maps(a_map(member, np.full(member.shape, 0.2), categories=names)))
    assert of_one(one) == {name: {4: [f"L0H{2 * n}"], 5: [f"L0H{2 * n + 1}"]} for n, name in enumerate(names[:4])}
    assert one.fields["more"].fields["n"] == 2


@pytest.mark.parametrize(
    ("n", "p", "meaning"), [(1, 0.5, "alike"), (1, 0.01, "fewer"), (9, 0.01, "more"), (1, np.nan, None)]
)
def test_what_categories_share_is_said_beside_other_labels(n, p, meaning):
    mapped = a_map()
    numbers = {"shared_pairs": n, "relabelled": 4.2, "relabelled_low": 2.0, "relabelled_high": 6.0, "p_value": p}
    tested = replace(mapped, tables={**mapped.tables, "sharing": xr.Dataset(numbers)})
    said = list(shared_pairs(tested, most_p=1))
    assert [(each.fields["n"], each.fields["meaning"].id) for each in said] == (
        [(n, f"answer.shares_{meaning}")] if meaning else []
    )
    assert [each.id for each in certainty(tested)] == ["answer.held", *["answer.sharing"] * (p <= 0.05)], (
        "only what differs"
    )
    assert not list(shared_pairs(replace(tested, tables=mapped.tables), most_p=1))


def test_nothing_is_left_of_no_membership():
    empty = a_map(-np.ones((3, 4)))
    (found,) = contradictions(maps(empty, a_map(name="other"), a_map(-np.ones((3, 4))), task_specific=empty))
    assert (found.id, found.fields["n"]) == ("answer.other_alone", 3)


def test_why_there_are_no_task_specific_effects_is_said(monkeypatch):
    monkeypatch.setattr("headcats.reports.text.answer.prompts_wanted", lambda mapped: None)
    reading = MapSpec.parse(method="denoising_patch@last")
    mapped = MapResult(reading, a_map(np.array(MEMBER)).tables, "denoising patch")
    specific = a_map(name="denoising patch (task-specific)", not_judged="too few pairs")
    for given in (
        replace(mapped, left_out={"denoising patch (task-specific)": "too few pairs"}),
        maps(mapped, task_specific=specific),
    ):
        said = {finding.id: finding for finding in cautions(given)}
        assert said["answer.no_task_specific"].fields["reason"] == "too few pairs"
    assert "answer.no_task_specific" not in {finding.id for finding in cautions(maps(mapped, task_specific=a_map()))}


def test_a_control_that_was_skipped_is_not_asked_for_again():
    reasons, reading = [], MapSpec.parse(method="denoising_patch@last", metric="logit_diff")
    for refusal in ("", "none of the prompts has one"):
        refused = MethodRecord({name: BlockRecord("x", refusal=refusal) for name in "ab"})
        tasks = {name: TaskRecord("Knowledge") for name in "ab"}
        manifest = Manifest(
            plan=PlanRecord(metrics=("logit_diff",)),
            tasks=tasks,
            blocks={"second_corruption_patch@last": refused},
            categories=(CategoryRecord("Knowledge", "#000000"),),
        )
        scored = block(np.random.default_rng(0).normal(0.3, 0.1, (16, 1, 2)))
        run = RunResults(tree({(name, "denoising_patch@last"): scored for name in tasks}, manifest))
        reasons.append(scored_map(run, reading).no_task_specific)
    assert reasons[0].startswith("These results hold no second_corruption_patch")
    assert reasons[1] == "second_corruption_patch was skipped: none of the prompts has one"


def a_run(**corrupted):
    """Results of tasks of two categories, by how their prompts are corrupted; None for finished prompts."""
    records = {
        name: TaskRecord(
            "Knowledge" if name < "c" else "Linguistic",
            word_pairs=DropCounts(kept=None if how is None else 9),
            corruption=how or "",
        )
        for name, how in corrupted.items()
    }
    manifest = Manifest(tasks=records, plan=PlanRecord(corruption="other_task"))
    empty = xr.Dataset({"patched": ("prompt", [0.0])}, attrs={"label": "denoising_patch@last"})
    return RunResults(tree({(name, "denoising_patch@last"): empty for name in records}, manifest))


def test_corruptions_that_differ_are_counted_by_category():
    assert list(corruptions(a_run(a="", b="", c=""), "abc")) == []
    assert list(corruptions(a_run(a=None, c=None), "ac")) == []
    assert list(corruptions(a_run(a="shuffled_labels", b="", c=""), "bc")) == []  # the method has no numbers of a
    (mixed,) = corruptions(a_run(a="shuffled_labels", b="", c="", d=None), "abcd")
    kinds = {each.fields["kind"]: each.fields["among"].fields["counts"] for each in mixed.fields["kinds"]}
    assert kinds == {
        "shuffled labels": ["Knowledge 1"],
        "prompts as given": ["Linguistic 1"],
        "other task": ["Knowledge 1", "Linguistic 1"],
    }
    (fallen,) = corruptions(a_run(a="shuffled_labels", c="shuffled_labels"), "ac")
    assert fallen.id == "answer.other_corruption"
    (single,) = corruptions(a_run(a="shuffled_labels"), "a")
    assert [each.fields["among"] for each in single.fields["kinds"]] == [None]


def test_the_headline_begins_with_the_verdicts_the_best_first():
    first, *_ = headline(maps(a_map(), tested=(evidence(NOT_SUPPORTED, INCONCLUSIVE, SUPPORTED),)))
    text = str(first)
    assert text.index("Linguistic") < text.index("Knowledge") < text.index("Algorithmic")


def test_a_verdict_on_all_categories_names_none():
    first, *_ = headline(maps(a_map(), tested=(evidence(*[INCONCLUSIVE] * 3),)))
    (verdict,) = first.fields["verdicts"]
    assert (verdict.fields["verdict"], verdict.fields["categories"].id) == (INCONCLUSIVE, "answer.all_categories")


def test_without_members_the_undecided_heads_are_counted():
    (none,) = headline(maps(a_map([[0, -1]], [[0.1, 0.0]], categories=["Knowledge"])))
    assert (none.id, none.fields["undecided"]) == ("answer.none", 1)


def test_nothing_is_found_where_nothing_can_be_judged():
    scores = xr.Dataset({"p_value": ("head", [0.5]), "n_items": 4.0, "n": 4.0})
    mapped = a_map(not_judged="too few query items")
    mapped = replace(mapped, tables={**mapped.tables, "scores": scores})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("headcats.reports.text.answer.items_wanted", lambda *given, **options: 20.0)
        for longest, said in (
            (None, ("answer.not_judged", 32)),
            (48, ("answer.not_judged_of_lists", 64)),
            (49, ("answer.not_judged", 32)),
        ):
            (finding,) = headline(replace(mapped, longest_list=longest))
            assert (finding.id, finding.fields["n"]) == said
    assert list(contradictions(maps(mapped, a_map(name="other")))) == []


def test_certainty_counts_what_holds():
    (held,) = certainty(a_map(probability=np.array([0.7, 0.9, 0.8])[:, None, None]))
    assert {name: held.fields[name] for name in ("held", "n")} == {"held": 2, "n": 3}


def test_contradictions_tell_what_is_gone_from_what_is_open_and_what_is_not_judged():
    specific = a_map(
        [[-1, 0, -1, -1], [1, -1, -1, -1], [0, 0, 0, 0]],
        [[0.0] * 4, [0.3, 0.0, 0.0, 0.0], [np.nan] * 4],
        name="denoising patch (task-specific)",
    )
    other = a_map([[-1, -1, 1, 1], [1, -1, 1, -1]], EFFECT[:2], name="mean ablation", categories=CATEGORIES[:2])
    of_specific, of_other = contradictions(maps(a_map(), other, task_specific=specific))
    assert (of_specific.fields["left"], of_specific.fields["n"]) == (1, 3)
    assert str(of_specific.fields["left_open"]) == " (1 undecided, 1 not judged)"
    assert of_specific.fields["counts"].fields["counts"] == ["Algorithmic 0", "Knowledge 1", "Linguistic 0"]
    assert (of_other.fields["both"], of_other.fields["others"]) == (1, 3)
    assert str(of_other.fields["left_open"]) == " (1 not judged)"
    assert of_other.fields["on_fewer"] is None


def test_a_map_on_fewer_tasks_says_so():
    (found,) = contradictions(maps(a_map(), a_map(-np.ones((3, 4)), name="mean ablation", tasks="a")))
    assert {name: found.fields["on_fewer"].fields[name] for name in ("n", "total")} == {"n": 1, "total": 2}


def test_a_map_with_the_same_members_agrees_and_contradicts_nothing():
    both = maps(a_map(), a_map(name="mean ablation"))
    assert list(contradictions(both)) == []
    (finding,) = agreements(both)
    assert finding.fields["methods"] == ["mean ablation"]


def test_estimates_are_said():
    assert list(approximated(a_map().tables["scores"])) == []
    (finding,) = approximated(a_map(approximation="first-order").tables["scores"])
    assert "first-order" in str(finding)


def test_rows_list_the_largest_effects_first_what_others_name_and_what_is_left_open():
    mapped = a_map([[1, -1, 1]], [[0.1, 0.0, -0.4]], categories=["Knowledge"])
    other = a_map([[1, -1, 0]], [[0.1, 0.0, 0.1]], name="mean ablation", categories=["Knowledge"])
    (row,) = short_map(maps(mapped, other)).table(4).rows
    assert row == ("Knowledge", "L0H2 L0H0", "L0H0")
    (row,) = short_map(maps(mapped, task_specific=other)).table(1).rows
    assert row == ("Knowledge", "L0H2 and 1 more", "1 of 2 (1 undecided)")


def test_verdicts_are_by_category():
    assert a_map().verdicts == {}
    verdicts = verdicts_of(evidence(SUPPORTED, INCONCLUSIVE, SUPPORTED))
    assert verdicts["Knowledge"] == INCONCLUSIVE
    without_a_task = verdicts_of(evidence(SUPPORTED, INCONCLUSIVE, SUPPORTED, n_tested=2))
    assert without_a_task == {name: verdicts[name] for name in CATEGORIES[:2]}
