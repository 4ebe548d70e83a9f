"""What a check concludes of tasks that are answered in sentences."""

from reports.by_id import by_id

from headcats.reports.text.tasks import validation_findings


def entry(*, right=0, wrong=0, refusal=""):
    questions = {"kept": right + wrong, "dropped": {}, "examples": {}}
    answers = {"questions": questions, "n_right": right, "n_wrong": wrong, "right": 0.5, "low": 0.4, "high": 0.6}
    return {"category": "c", "refusal": refusal, "needed": 30} | ({} if refusal else answers)


def findings(*entries):
    by_name = {str(place): one for place, one in enumerate(entries)}
    return by_id(validation_findings(by_name, "m: s", corruption="other_task"))


def test_where_every_task_is_skipped_nothing_is_counted():
    said = findings(entry(refusal="no answer"))
    assert said["validation.no_answers"].fields == {"usable": 0, "n": 1}
    assert said["validation.dropped"].rows == (("0", "skipped: no answer"),)


def test_what_a_probe_needs_is_that_of_its_settings():
    said = findings(entry(right=31, wrong=25), entry(refusal="no answer"))
    counts = {"usable": 1, "n": 2, "answers": 56, "right": 31, "wrong": 25, "least": 30}
    assert said["validation.probe_needs_more"].fields == counts
    assert "validation.probe_can_run" in findings(entry(right=31, wrong=30))
