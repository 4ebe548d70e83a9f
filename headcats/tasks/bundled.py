"""The bundled suite: few-shot tasks in four categories."""

from headcats.base.registry import lookup, register
from headcats.base.registry import names as registered
from headcats.results.categories import STANDARD_CATEGORIES
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite, make_suite


def tasks_of_suite(name: str) -> list[Task]:
    """Registered tasks that belong to this suite, in the order of registration."""
    return [task for task in (lookup("task", task_name) for task_name in registered("task")) if task.suite == name]


def icl() -> Suite:
    """In-context learning: few-shot tasks in the four categories Algorithmic, Knowledge, Linguistic, Translation."""
    return make_suite(tasks_of_suite("icl"), name="icl", categories=STANDARD_CATEGORIES, defaults={"model": "mini"})


register("suite", "icl", icl)
