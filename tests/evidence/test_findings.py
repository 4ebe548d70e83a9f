"""What the test of the categories shows: the findings on verdicts, and their fields."""

import numpy as np
import pytest
from damages import by_agreement, labellings, tables

from headcats.evidence.findings import verdict_findings
from headcats.evidence.verdicts import INCONCLUSIVE, SUPPORTED


@pytest.fixture(scope="module")
def pair():
    drawn = labellings(4, 4, 4)
    return tables(drawn, by_agreement(drawn))


def copied(pair):
    return [table.copy(deep=True) for table in pair]


def test_a_category_that_is_supported(pair):
    findings = verdict_findings(*pair)
    assert [finding.id for finding in findings] == ["evidence.tested_category"] * 3 + ["evidence.error_rate"]
    fields = findings[0].fields
    assert (fields["category"], fields["verdict"]) == ("A", SUPPORTED)
    assert fields["cost"] - fields["elsewhere"] == pytest.approx(fields["difference"])
    assert (fields["alike"].id, fields["likeness"]) == ("evidence.more_alike", pytest.approx(0.8))
    assert fields["interval"].fields["low"] < fields["difference"] < fields["interval"].fields["high"]
    assert fields["needed"] is None
    assert fields["more"] is None


def test_tasks_that_are_less_alike_than_with_others_are_called_so(pair):
    table, damage = copied(pair)
    table["signature_difference"][0] = -0.04
    fields = verdict_findings(table, damage)[0].fields
    assert (fields["alike"].id, fields["likeness"]) == ("evidence.less_alike", pytest.approx(0.04))


def test_the_error_rate_is_said_with_its_numbers(pair):
    rate = verdict_findings(*pair)[-1].fields
    assert (rate["n"], rate["tasks"], rate["units"]) == (200, 12, 12)
    assert rate["rate"] == pair[0]["error_rate"]


def test_the_tasks_that_would_be_needed_are_said_of_inconclusive_categories_alone(pair):
    table, damage = copied(pair)
    table["units_needed"][:] = 9.0
    assert verdict_findings(table, damage)[0].fields["needed"] is None
    table["causal_p"][:] = 0.2
    first = verdict_findings(table, damage)[0].fields
    assert (first["verdict"], first["needed"].fields) == (INCONCLUSIVE, {"n": 9, "n_own": 4})
    table["unit_causal"][0] = np.nan
    assert verdict_findings(table, damage)[0].fields["needed"].fields["n_own"] == 3, "a task that nothing damages"


def test_fewer_than_twenty_labellings_are_one_sentence():
    drawn = labellings(3, 3)
    (finding,) = verdict_findings(*tables(drawn, by_agreement(drawn)))
    assert finding.id == "evidence.few_labellings"
    assert (finding.fields["n"], finding.fields["smallest"]) == (10, 0.1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t.assign(task_category=("task", ["B"] * 12)), "no_task"),
        (lambda t: t.assign(task_category=("task", ["A", *"BBBBBBBBBBB"])), "single_task"),
        (lambda t: t.assign(unit_of_task=("task", np.zeros(12, dtype=int))), "one_block"),
        (lambda t: t.assign(damaged=("task", np.zeros(12, dtype=bool))), "nothing_damaged"),
        (lambda t: t, "no_rival"),
    ],
)
def test_what_could_not_be_tested_has_its_reason(pair, change, reason):
    table, damage = copied(pair)
    table["causal"].loc[{"category": "A"}] = np.nan
    finding = verdict_findings(change(table), damage)[0]
    assert (finding.id, finding.fields["verdict"]) == ("evidence.untested", INCONCLUSIVE)
    assert finding.fields["reason"].id == f"evidence.{reason}"


def test_a_difference_that_weighing_tasks_alike_reverses_is_said(pair):
    table, damage = copied(pair)
    assert verdict_findings(table, damage)[0].fields["relative"] is None
    table["unit_causal"] *= -1
    assert verdict_findings(table, damage)[0].fields["relative"].fields["amount"] == -pair[0]["unit_causal"][:4].mean()
