"""What a run and a check say of tasks."""

from reports.by_id import by_id

from headcats.reports.text.tasks import task_rows, validation_findings
from headcats.results.records import TaskRecord


def entry(*, right=0, wrong=0, refusal=""):
    questions = {"kept": right + wrong, "dropped": {}, "examples": {}}
    answers = {"questions": questions, "n_right": right, "n_wrong": wrong, "right": 0.5, "low": 0.4, "high": 0.6}
    return {"category": "c", "refusal": refusal, "needed": 30} | ({} if refusal else answers)


def findings(*entries):
    by_name = {str(place): one for place, one in enumerate(entries)}
    return by_id(validation_findings(by_name, "m: s", corruption="other_task", answers="whole"))


def test_where_every_task_is_skipped_nothing_is_counted():
    said = findings(entry(refusal="no answer"))
    assert said["validation.no_answers"].fields == {"usable": 0, "n": 1}
    assert said["validation.dropped"].rows == (("0", "skipped: no answer"),)


def test_what_a_probe_needs_is_that_of_its_settings():
    said = findings(entry(right=31, wrong=25), entry(refusal="no answer"))
    counts = {"usable": 1, "n": 2, "answers": 56, "right": 31, "wrong": 25, "least": 30}
    assert said["validation.probe_needs_more"].fields == counts
    assert "validation.probe_can_run" in findings(entry(right=31, wrong=30))


def test_a_run_and_a_check_say_the_same_of_a_task():
    counts = {"kept": 3, "dropped": {"long": 2}, "examples": {"long": "x"}}
    measured = {"accuracy": 0.5, "corrupted_accuracy": 0.25, "metric": "prob", "gap": 1.0, "low": 0.5, "high": 1.5}
    entry = {"category": "c", "refusal": "", "word_pairs": counts, "prompts": {"kept": 4}, "n_items": 3} | measured
    (table, dropped, _) = validation_findings({"t": entry}, "m: s", corruption="other_task", answers="whole")
    assert table.fields["metric"] == "prob"
    assert table.rows == (("t", "c", "3", "4", "2", "3", "0.50", "0.25", "1.00", "0.50 to 1.50"),)
    assert dropped.rows == (("t", "2 word pairs dropped: long (such as x)"),)
    record = TaskRecord.from_dict(entry)
    assert task_rows({"t": record}, ["gap", "dropped"]) == [["t", "c", "1.00", "2"]]
    assert task_rows({"t": TaskRecord()}, ["gap", "pairs", "95 % interval"]) == [["t", "", "-", "-", "-"]]
