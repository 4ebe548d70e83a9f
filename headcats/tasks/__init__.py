"""Tasks, their word tables and suites."""

from headcats.tasks import (  # noqa: F401  (they register their tasks)
    algorithmic,
    cognitive,
    knowledge,
    linguistic,
    sentences,
    translation,
)
from headcats.tasks.definition import Task, task
from headcats.tasks.suites import Category, Suite, make_suite, suite

__all__ = ["Category", "Suite", "Task", "make_suite", "suite", "task"]
