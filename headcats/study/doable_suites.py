"""Suites that a model can do something of, for a model that can do no task of another one."""

import warnings
from collections.abc import Iterable, Mapping

from headcats.base.errors import HeadcatsError, HeadcatsWarning
from headcats.base.registry import names
from headcats.models.adapter import HookedModel
from headcats.results.declaration import default_methods
from headcats.results.records import TaskRecord
from headcats.study.assessment import assess_prompts
from headcats.study.plan import Study, plan
from headcats.study.preparation import Preparation
from headcats.study.skipped import advice_on_gaps
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite, suite

_PROMPTS = 8
_TASKS = 4
"""Tried of each suite, of different categories as far as there are any."""


def advice(model: HookedModel, study: Study, records: Mapping[str, TaskRecord], *, refused_by: Iterable[str]) -> str:
    """A line for a model that can do no task: how these are measured all the same, or which other suites it can do."""
    return advice_on_gaps(records) or advice_on_suites(model, study, refused_by=refused_by)


def advice_on_suites(model: HookedModel, study: Study, *, refused_by: Iterable[str]) -> str:
    """A line on the other suites of which the model can do a task, on a few prompts of a few tasks of each.

    "" where it is not words or ability that this suite takes too much of (see `TaskRecord.refused_by`).
    """
    if study.answers == "single" or not {"prompts", "min_accuracy"}.issuperset(refused_by):
        return ""
    others = [name for name in names("suite") if name not in (study.suite.name, study.suite.source)]
    doable = [name for name in others if _can_do_some(name, model, study)]
    if not doable:
        return f"\nOn {_PROMPTS} prompts of up to {_TASKS} tasks of each, it can do none of {', '.join(others)} either."
    return f"\nIt can do tasks of {', '.join(doable)}: try --suite {doable[0]} (suite={doable[0]!r})."


def _can_do_some(name: str, model: HookedModel, study: Study) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        try:
            chosen = suite(name)
            methods = default_methods()[:1]
            tried = plan(suite=chosen, methods=methods, n_prompts=_PROMPTS, seed=study.seed)
            preparation = Preparation(model, tried.changed(template=study.template))
            return any(not assess_prompts(preparation, task.name, limit=None).refusal for task in _varied(chosen))
        except HeadcatsError:
            return False  # a suite that cannot be made, or a template that the tokenizer cannot write


def _varied(chosen: Suite) -> list[Task]:
    """A few tasks: the first of each category, then the others."""
    firsts = {task.category: task for task in reversed(chosen.tasks)}
    return sorted(chosen.tasks, key=lambda task: firsts[task.category] is not task)[:_TASKS]
