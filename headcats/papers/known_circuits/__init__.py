"""Suites of circuits that are known: induction, indirect objects, greater-than, and agreement of subject and verb."""

from typing import Any

from headcats.base.registry import register
from headcats.papers.known_circuits import agreement, greater_than, induction, ioi  # noqa: F401  (they register tasks)
from headcats.tasks.bundled import tasks_of_suite
from headcats.tasks.suites import Suite, make_suite

# Many answers are right, so none has to be the most likely one; but it has to be likelier than its distractor.
_SEVERAL_RIGHT: dict[str, Any] = {"min_accuracy": 0.0, "min_logit_diff": 0.0}


def _suite(name: str, **defaults: Any) -> Suite:
    return make_suite(tasks_of_suite(name), name=name, defaults=defaults)


def induction_suite() -> Suite:
    """The beginning of a list of random words, repeated: what followed its last word the first time?"""
    return _suite("induction", model="mini-cognitive")


def ioi_suite() -> Suite:
    """Indirect object identification: which of two people is given or told something by the other?"""
    return _suite("ioi", model="gpt2")


def greater_than_suite() -> Suite:
    """Years that must be later, or earlier, than one that is given."""
    return _suite("greater_than", model="gpt2", **_SEVERAL_RIGHT)


def agreement_suite() -> Suite:
    """Verbs that agree with their subject in number, whatever noun stands between them."""
    return _suite("agreement", model="gpt2", **_SEVERAL_RIGHT)


for _make in (induction_suite, ioi_suite, greater_than_suite, agreement_suite):
    register("suite", _make.__name__.removesuffix("_suite"), _make)
