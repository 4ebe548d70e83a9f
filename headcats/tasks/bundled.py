"""The bundled suites: which tasks and categories each has."""

from collections.abc import Sequence
from typing import Any

from headcats.base.registry import lookup, register
from headcats.base.registry import names as registered
from headcats.results.categories import FUNCTIONS, SPARE_COLOURS, STANDARD_CATEGORIES, Category
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite, make_suite

# Many answers are right, so none has to be the most likely one; but it has to be likelier than its distractor.
_SEVERAL_RIGHT: dict[str, Any] = {"min_accuracy": 0.0, "min_logit_diff": 0.0}


def tasks_of_suite(name: str) -> list[Task]:
    """Registered tasks that belong to this suite, in the order of registration."""
    return [task for task in (lookup("task", task_name) for task_name in registered("task")) if task.suite == name]


def _suite(name: str, categories: Sequence[Category] = (), **defaults: Any) -> Suite:
    return make_suite(tasks_of_suite(name), name=name, categories=categories, defaults=defaults)


def icl() -> Suite:
    """In-context learning: few-shot tasks in the four categories Algorithmic, Knowledge, Linguistic, Translation."""
    return _suite("icl", STANDARD_CATEGORIES, model="mini")


def cognitive() -> Suite:
    """Eight functions of Cognitive Mirrors, Knowledge Recall to Math Calculation, with three few-shot tasks each."""
    functions = [Category(name, colour) for name, colour in zip(FUNCTIONS, SPARE_COLOURS, strict=True)]
    return _suite("cognitive", functions, model="mini-cognitive", n_demos=4)


def induction() -> Suite:
    """The beginning of a list of random words, repeated: what followed its last word the first time?"""
    return _suite("induction", model="mini-cognitive")


def ioi() -> Suite:
    """Indirect object identification: which of two people is given or told something by the other?"""
    return _suite("ioi", model="gpt2")


def greater_than() -> Suite:
    """Years that must be later, or earlier, than one that is given."""
    return _suite("greater_than", model="gpt2", **_SEVERAL_RIGHT)


def agreement() -> Suite:
    """Verbs that agree with their subject in number, whatever noun stands between them."""
    return _suite("agreement", model="gpt2", **_SEVERAL_RIGHT)


for _make in (icl, cognitive, induction, ioi, greater_than, agreement):
    register("suite", _make.__name__, _make)
