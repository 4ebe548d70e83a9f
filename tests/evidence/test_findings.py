"""What the test of the categories shows: the findings on verdicts, redundancy and contrasts, and their fields."""

import numpy as np
import pytest
import xarray as xr
from damages import category_a, damage, heads, trial

from headcats.evidence.findings import multiplicity_findings, redundancy_findings, verdict_findings
from headcats.evidence.specificity import specificity
from headcats.evidence.verdicts import INCONCLUSIVE, SUPPORTED, verdicts
from headcats.results.finding import Finding


def finding_on_a(n_requested=19, **options) -> Finding:
    return verdict_findings(category_a(**options), n_requested=n_requested)[0]


def random_tests(n_requested=19, **options) -> Finding:
    """Relabellings and random sets."""
    return finding_on_a(n_requested, **options).fields["tests"]


def test_a_category_that_is_supported():
    first, second = verdict_findings(category_a(), n_requested=19)
    assert first.id == "evidence.tested_category"
    assert (first.fields["category"], first.fields["verdict"]) == ("A", SUPPORTED)
    assert [first.fields[name] for name in ("cost", "elsewhere", "difference")] == pytest.approx([0.6, 0.1, 0.5])
    tests = first.fields["tests"].fields
    assert (tests["reaching"], tests["n"], tests["exact"]) == (0, 19, 0.05)
    assert (tests["sets"].fields["reaching"], tests["sets"].fields["n"], tests["sets"].fields["p"]) == (0, 19, 0.05)
    assert (second.id, second.fields["categories"]) == ("evidence.untested", ["B"])
    assert "(3 undecided)" in second.fields["reason"]


def test_relabellings_that_keep_some_heads_are_inconclusive():
    tests = random_tests(100, relabelled=100, as_specific=34, keeping=34)
    assert (tests.fields["reaching"], tests.fields["exact"]) == (34, pytest.approx(35 / 101))
    assert tests.fields["limit"].id == "evidence.some_keep_heads"
    assert tests.fields["limit"].fields == {"apart": 66, "reaching": 0, "keeping": 34}
    limit = random_tests(24, relabelled=24, as_specific=3, keeping=24).fields["limit"]
    assert limit.id == "evidence.all_keep_heads"


@pytest.mark.parametrize(
    ("keeping", "apart", "reaching", "kind"), [(31, 69, 3, "some_keep_heads"), (30, 70, 4, "contradiction")]
)
def test_relabellings_without_its_heads_may_contradict_the_random_sets(keeping, apart, reaching, kind):
    finding = finding_on_a(100, relabelled=100, as_specific=34, keeping=keeping)
    limit = finding.fields["tests"].fields["limit"]
    assert finding.fields["verdict"] == INCONCLUSIVE
    assert limit.id == f"evidence.{kind}"
    assert (limit.fields["apart"], limit.fields["reaching"]) == (apart, reaching)


def test_heads_that_matter_more_elsewhere_are_named():
    (target,) = finding_on_a(own=0.2, elsewhere=0.5).fields["more"].fields["targets"]
    assert target.fields == {"target": "B", "damage": pytest.approx(0.5)}
    for own, elsewhere in ((0.2, 0.21), (0.5, 0.2), (-0.3, -0.1), (-0.3, 0.01)):
        assert finding_on_a(own=own, elsewhere=elsewhere).fields["more"] is None


def test_few_random_sets_are_counted():
    sets = random_tests(controls=18, reaching=18).fields["sets"].fields
    assert (sets["reaching"], sets["n"], sets["p"], sets["few"].id) == (18, 18, 1.0, "evidence.too_few")
    assert sets["missing"].fields["n"] == 18
    assert random_tests(controls=0).fields["sets"].id == "evidence.no_sets"


@pytest.mark.parametrize("n", [18, 1])
def test_eighteen_relabellings_are_one_too_few(n):
    tests = random_tests(100, relabelled=n, controls=100)
    assert (tests.id, tests.fields["n"]) == ("evidence.few_relabellings", n)
    assert tests.fields["missing"].fields == {"n": n, "n_requested": 100, "heads": None}


def test_missing_sets_are_counted():
    tests = random_tests(100, relabelled=63, controls=30).fields
    assert (tests["missing"].fields["n"], tests["sets"].fields["missing"].fields["n"]) == (63, 30)


def test_a_difference_that_is_not_told_from_zero_has_its_interval():
    table = category_a(own=0.11, noise=1.0)
    for name in ("specificity_p", "specificity_exact_p"):
        table[name].loc[{"category": "A"}] = 0.05
    limit = verdict_findings(table, n_requested=19)[0].fields["tests"].fields["limit"]
    assert limit.id == "evidence.not_above_zero"
    assert limit.fields["low"] < 0 < limit.fields["high"]


@pytest.mark.parametrize(("matched", "kind"), [("thirds", "thirds_of_layers"), ("layers", "layers")])
def test_sets_matched_by_thirds_are_marked(matched, kind):
    assert random_tests(matched=matched).fields["sets"].fields["matched"].id == f"evidence.{kind}"


def test_exclusive_heads_are_named_so():
    first, second = verdict_findings(category_a(), n_requested=19, exclusive=True)
    assert first.fields["heads"].id == "evidence.exclusive_heads"
    assert second.fields["exclusive"].id == "evidence.by_exclusive"


def test_a_shared_reason_is_given_once():
    none = trial((), reason="the rule calls no head of it")
    measured = {task: damage(task, task.upper(), lambda members: 0.5, [heads("L0H0")]) for task in ("a", "b")}
    table = specificity({task: {"A": none, "B": none} for task in measured}, measured, categories=("A", "B"), seed=0)
    (finding,) = verdict_findings(table, n_requested=19)
    assert finding.fields["categories"] == ["A", "B"]
    assert verdict_findings(table, n_requested=19, exclusive=True, beside=table) == []


def test_the_same_heads_are_not_told_twice():
    table = category_a()
    (finding,) = verdict_findings(table, n_requested=19, exclusive=True, beside=table)
    assert (finding.id, finding.fields) == ("evidence.same_heads", {"category": "A"})


def test_the_rival_may_do_more_and_changes_no_verdict():
    table = category_a()
    for name, value in (
        ("rival_damage", 0.8), ("advantage", -0.2), ("advantage_low", -0.3), ("advantage_high", -0.1),
        ("rival_n_tasks", 1),
    ):  # fmt: skip
        table[name].loc[{"category": "A"}] = value
    table["rival"] = ("category", ["B", ""])
    finding = verdict_findings(table, n_requested=19)[0]
    assert finding.fields["verdict"] == SUPPORTED
    rival = finding.fields["rival"].fields
    assert (rival["rival"], rival["damage"], rival["low"], rival["high"]) == ("B", 0.8, 0.1, 0.3)
    assert (rival["amount"].id, rival["amount"].fields) == ("evidence.less", {"amount": 0.2})
    assert rival["tasks"].id == "evidence.these_tasks"
    table["rival_n_tasks"][:] = 0
    some = verdict_findings(table, n_requested=19)[0].fields["rival"].fields["tasks"]
    assert some.fields == {"n": 0, "n_own": 1}


def test_tasks_without_heads_are_counted():
    own, none = trial(["L0H0"]), trial((), reason="none")
    measured = {
        task: damage(task, task[0].upper(), lambda members: 0.5, [heads("L0H0")]) for task in ("a1", "a2", "b1")
    }
    designed = {task: {"A": none if task == "a2" else own, "B": none} for task in measured}
    table = specificity(designed, measured, categories=("A", "B"), seed=0)
    assert verdict_findings(table, n_requested=19)[0].fields["tasks"].fields == {"tasks": "1 of 2 tasks"}


def test_verdicts_are_counted():
    table = category_a().assign(verdict=verdicts)
    assert [finding.fields["n"] for finding in multiplicity_findings(table)] == [1]
    assert [finding.fields["n"] for finding in multiplicity_findings(table, table)] == [2]
    assert multiplicity_findings(table.isel(category=[1])) == []


def test_joint_damage_is_compared_with_the_sum_of_single_ones():
    table = xr.Dataset(
        {
            "joint": ("category", [0.22, 0.061, 0.1, np.nan, 0.3]),
            "sum_of_single": ("category", [0.001, 0.055, 0.3, np.nan, 0.3]),
            "head": (("category", "place"), [["L0H0", "L1H0"]] * 3 + [["", ""], ["L0H0", ""]]),
        },
        coords={"category": list("ABCDE")},
    )
    fields = [finding.fields for finding in redundancy_findings(table)]
    assert [(row["category"], row["summed"], row["joint"], row["comparison"].id) for row in fields] == [
        ("A", 0.001, 0.22, "evidence.far_more"),
        ("B", 0.055, 0.061, "evidence.about_the_sum"),
        ("C", 0.3, 0.1, "evidence.far_less"),
    ]


@pytest.mark.parametrize(("joint", "summed"), [(-0.5, -0.53), (-0.5, -0.3), (-0.01, 0.005)])
def test_damages_below_zero_are_no_sign_of_anything(joint, summed):
    table = xr.Dataset(
        {"joint": ("category", [joint]), "sum_of_single": ("category", [summed]),
         "head": (("category", "place"), [["L0H0", "L1H0"]])},
        coords={"category": ["A"]},
    )  # fmt: skip
    assert redundancy_findings(table)[0].fields["comparison"].id == "evidence.about_the_sum"
