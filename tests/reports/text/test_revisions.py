"""What is said of the categories over revisions."""

import pytest
from reports.by_id import by_id
from simulated_series import STRONG, TASKS, heads, results_of, series_of

from headcats.categories.map_spec import MapSpec
from headcats.evidence.comparison.revisions import judge_training
from headcats.evidence.comparison.runs import read_runs
from headcats.reports.text.revisions import revision_findings

LATER = {"Knowledge": heads(L0H0=0.4, L1H3=0.3), "Linguistic": heads(L0H0=0.4)}


def findings_of(revisions, **listed):
    course, reading = judge_training(read_runs(series_of(revisions, **listed), by="a test"), MapSpec())
    return course, list(revision_findings(course, reading.title))


def test_a_row_per_revision_names_what_comes_and_goes_and_stars_what_is_found():
    _, findings = findings_of({"step1": results_of(STRONG), "step2": results_of(LATER, seed=1)})
    table = by_id(findings)["revisions.heads"]
    assert table.columns == ("revision", "Knowledge", "Linguistic", "comes", "goes")
    assert table.rows[0] == ("step1", "2", "1", "", "")
    assert table.rows[1] == ("step2", "2", "1", "L1H3* Knowledge", "L1H2* Knowledge")
    assert table.fields["reading"].endswith("model toy")
    found = by_id(findings)["revisions.found"].fields
    assert (found["calls"], found["of_calls"]) == (2, 2)
    assert by_id(findings)["revisions.test"].fields["tests"] == 24


@pytest.mark.filterwarnings("ignore:Categories of a single task:headcats.base.errors.StatisticsWarning")
def test_skipped_tasks_are_shown_and_are_not_zero():
    some = results_of(STRONG, skipped=["k1", "k2", "l2"], seed=2)
    revisions = {"step1": results_of(STRONG, skipped=TASKS), "step2": some, "step3": results_of(STRONG, seed=3)}
    _, findings = findings_of(revisions, listed=["step4"])
    rows = by_id(findings)["revisions.heads"].rows
    assert [row[1] for row in rows] == ["- in 0/2 tasks", "- in 0/2 tasks", "2", "- in 0/2 tasks"]
    assert rows[1][2].endswith(" in 1/2 tasks")
    by_name = by_id(findings)
    assert by_name["revisions.all_skipped"].fields == {"revision": "step1", "n": 4}
    assert by_name["revisions.skipped"].fields["tasks"] == "k1, k2, l2"
    assert (by_name["revisions.not_run"].fields["revision"], by_name["revisions.not_run"].place) == ("step4", "note")


def test_what_cannot_be_compared_is_counted():
    others = results_of(STRONG, prompts=dict.fromkeys(TASKS, "others"), seed=1)
    _, findings = findings_of({"step1": results_of(STRONG), "step2": others})
    by_name = by_id(findings)
    assert by_name["revisions.other_prompts"].fields == {"n": 4}
    assert "revisions.no_test" in by_name
    assert "revisions.found" not in by_name
