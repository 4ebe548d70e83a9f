"""What a check concludes of tasks that are answered in sentences."""

import re

from headcats.reports.text.validation import validation_findings


def entry(*, right=0, wrong=0, refusal=""):
    asked = {"kept": right + wrong, "dropped": {}, "examples": {}}
    judged = {"questions": asked, "n_right": right, "n_wrong": wrong, "right": 0.5, "low": 0.4, "high": 0.6}
    return {"category": "c", "refusal": refusal, "needed": 30} | ({} if refusal else judged)


def said(*entries):
    found = validation_findings({str(place): one for place, one in enumerate(entries)}, "m: s", corruption="other_task")
    return " ".join(one for one in found if isinstance(one, str))


def test_where_every_task_is_refused_nothing_is_counted():
    text = said(entry(refusal="no answer"))
    assert text.endswith("0 of 1 task can be probed for wrong answers.")


def test_what_a_probe_needs_is_that_of_its_settings():
    text = said(entry(right=31, wrong=25), entry(refusal="no answer"))
    assert re.search(r"1 of 2 tasks.* 56 answers 31 are right", text)
    assert "at least 30 of both: a run asks more questions" in text
    assert "at least 30 of both, so it can run." in said(entry(right=31, wrong=30))
