"""What the test of the categories shows: the findings on verdicts, and their fields."""

import numpy as np
import pytest
from damages import by_agreement, labellings, tables

from headcats.evidence.findings import coincidence_findings, remedy, verdict_findings
from headcats.evidence.verdicts import INCONCLUSIVE, SUPPORTED
from headcats.statistics.labellings import draw_labellings


@pytest.fixture(scope="module")
def pair():
    drawn = labellings(4, 4, 4)
    return tables(drawn, by_agreement(drawn))


def copied(pair):
    return [table.copy(deep=True) for table in pair]


def test_a_category_that_is_supported(pair):
    findings = verdict_findings(*pair)
    assert [finding.id for finding in findings] == ["evidence.tested_category"] * 3 + ["evidence.size"]
    fields = findings[0].fields
    assert (fields["category"], fields["verdict"], fields["p"]) == ("A", SUPPORTED, pair[0]["p"][0])
    assert fields["cost"] - fields["elsewhere"] == pytest.approx(fields["difference"])
    assert (fields["alike"].id, fields["likeness"]) == ("evidence.more_alike", pytest.approx(0.8))
    assert fields["limits"].fields["low"] < fields["difference"] < fields["limits"].fields["high"]
    size = findings[-1].fields
    assert (size["n"], size["tasks"], size["sources"]) == (200, 12, 12)
    assert (size["size"], size["error"]) == (pair[0]["size"], pair[0]["size_error"])


def test_a_source_of_several_categories_counts_once_in_the_size():
    labels = np.repeat([0, 1, 2], 4)
    drawn = draw_labellings(labels, np.array([0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9]), n_categories=3, n=200, seed=0)
    size = verdict_findings(*tables(drawn, by_agreement(drawn)))[-1].fields
    assert (size["tasks"], size["sources"]) == (12, 10)
    assert len(set(drawn.units.tolist())) == 12


def test_tasks_that_are_less_alike_than_with_others_are_called_so(pair):
    table, damage = copied(pair)
    table["signature_difference"][0] = -0.04
    fields = verdict_findings(table, damage)[0].fields
    assert (fields["alike"].id, fields["likeness"]) == ("evidence.less_alike", pytest.approx(0.04))


def test_two_sources_of_its_own_are_too_few_for_limits(pair):
    table, damage = copied(pair)
    damage["n_sources"].loc[{"category": "A"}] = 2
    limits = verdict_findings(table, damage)[0].fields["limits"]
    assert (limits.id, limits.fields["n"]) == ("evidence.too_few", 2)


def test_properties_that_labels_go_together_with_come_first():
    drawn = labellings(4, 4, 4)
    left = {0: ("template", "prompt length"), 1: ("template",)}
    named = {"coincide": ("template", "prompt length", "accuracy"), "inseparable": left}
    first, second, *categories, size = verdict_findings(*tables(drawn, by_agreement(drawn), **named))
    assert (first.id, first.fields["among"].fields["categories"]) == ("evidence.coincide", ["A", "B"])
    assert first.fields["properties"] == ["template", "prompt length"]
    assert (second.id, second.fields["properties"]) == ("evidence.within", ["accuracy"])
    assert [finding.fields["verdict"] for finding in categories] == [INCONCLUSIVE, INCONCLUSIVE, SUPPORTED]
    reason = categories[0].fields["reason"]
    assert (reason.id, reason.fields["properties"]) == ("evidence.inseparable", ["template", "prompt length"])
    assert size.id == "evidence.size", "of the third"
    (both,) = coincidence_findings({"A": ["distractor tasks"], "B": ["distractor tasks"]}, ["distractor tasks"])
    assert both.fields["among"] is None
    assert [each.id for each in remedy(["distractor tasks", "template"])] == ["evidence.remedy"]
    assert not remedy(["template", ""])


def test_properties_that_p_holds_beside_are_named_and_no_size_of_what_nothing_could_pass(pair):
    table, damage = copied(pair)
    findings = verdict_findings(table.assign(among="accuracy, template", size=np.nan), damage)
    assert findings[-1].fields["properties"] == ["accuracy", "template"]
    assert "evidence.size" not in [each.id for each in findings]


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
        (lambda t: t.assign(unit_of_task=("task", np.zeros(12, dtype=int))), "one_source"),
        (lambda t: t.assign(damaged=("task", np.zeros(12, dtype=bool))), "nothing_damaged"),
        (lambda t: t, "no_rival"),
    ],
)
def test_what_could_not_be_tested_has_its_reason(pair, change, reason):
    table, damage = copied(pair)
    table["combined"].loc[{"category": "A"}] = np.nan
    finding = verdict_findings(change(table), damage)[0]
    assert (finding.id, finding.fields["verdict"]) == ("evidence.untested", INCONCLUSIVE)
    assert finding.fields["reason"].id == f"evidence.{reason}"
