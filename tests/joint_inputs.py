"""Inputs of a joint method as a study passes them, for made-up tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

from headcats.methods.method import SuiteInputs
from headcats.prompts.template import ARROW
from headcats.tasks.definition import Task


def suite_inputs(
    model: Any, pairs: Mapping[str, Sequence[tuple[str, str]]], categories: Mapping[str, str], **more: Any
) -> SuiteInputs:
    """Tasks of these categories, which suites spell as here and tasks in small letters; without pairs, of finished
    prompts."""
    tasks = tuple(
        Task(name, category.lower(), "made up", lambda n, *, seed: []) for name, category in categories.items()
    )
    usual: dict[str, Any] = {"template": ARROW, "n_demos": 2, "n_prompts": 4, "seed": 0}
    return SuiteInputs(model, tasks, dict(categories), pairs, **usual | more)
