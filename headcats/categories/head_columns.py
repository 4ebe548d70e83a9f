"""Columns of the head table: a line here is a column of the CSV, of JSON and of the page."""

from typing import Literal, NamedTuple

from headcats.results.descriptors import DESCRIPTORS


class HeadColumn(NamedTuple):
    """A column of the head table."""

    variable: str  # of memberships; of suppressing heads that with `suppressing_` in front, if `by_sign`
    label: str = ""  # heading on the page, of an interval at its lower end; "" for a column that the page does not add
    # table of the page: that of all heads, or the folded one that describes them
    part: Literal["heads", "described"] = "heads"
    by_sign: bool = True  # False where helping and suppressing heads share the variable


HEAD_COLUMNS = {
    "effect": HeadColumn("effect"),
    "low": HeadColumn("low"),
    "high": HeadColumn("high"),
    "specific": HeadColumn("specific_effect", "task-specific"),
    "q": HeadColumn("q_value"),
    "tasks": HeadColumn("tasks"),
    "probability": HeadColumn("probability", "in resamples"),
    "doubtful": HeadColumn("doubtful"),
    "mean_effect": HeadColumn("mean_effect", "mean of tasks", "described", by_sign=False),
    "new_task_low": HeadColumn("new_task_low", "a new task", by_sign=False),
    "new_task_high": HeadColumn("new_task_high", by_sign=False),
    "these_tasks_low": HeadColumn("these_tasks_low", "these tasks", "described", by_sign=False),
    "these_tasks_high": HeadColumn("these_tasks_high", by_sign=False),
    "task_sd": HeadColumn("task_sd", "SD between tasks", "described", by_sign=False),
    **{name: HeadColumn(name, about.label, "described", by_sign=False) for name, about in DESCRIPTORS.items()},
}
"""Column -> what it holds, in order."""
