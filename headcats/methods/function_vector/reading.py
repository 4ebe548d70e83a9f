"""Sentences on the result of steering."""

import json

import numpy as np
import xarray as xr

from headcats.errors import pluralize

LEVEL = 0.05
_NAMED = 6
_FEW_ITEMS = 10


def steering_reading(table: xr.Dataset) -> list[str]:
    """Sentences on what `steer` found; none says more than its numbers.

    A task counts as raised where accuracy is above that of the unsteered model and above the mean of the random sets at
    once (q <= .05 over tasks x layers); the largest gain of its layers is named.
    """
    tasks = [str(task) for task in table["task"].values]
    layers = table["layer"].values
    mean, control = table["accuracy"].mean("task").values, table["control"].mean(("task", "draw")).values
    best = int(mean.argmax())
    n_heads = table.attrs["heads"].count(",") + 1
    first = (
        f"Mean over {pluralize(len(tasks), 'task')} without demonstrations: {_share(float(table['base'].mean()))} of "
        f"the queries right; with the vector of {pluralize(n_heads, 'head')} after block {layers[best]}, the best of "
        f"{pluralize(len(layers), 'block')} by these same numbers, {_share(mean[best])}, and with vectors of random "
        f"other heads there {_share(control[best])}. With demonstrations: {_share(float(table['few_shot'].mean()))}."
    )
    lines = [first, *_ranked_on(table)]
    if control[best] >= mean[best]:
        lines.append("Random other heads do no worse there: on the whole the gain is not particular to these heads.")
    called = table["q_value"].values <= LEVEL
    gains = np.where(called, table["gain"].values, -np.inf)
    raised = [row for row in np.argsort(-gains.max(axis=1), kind="stable") if called[row].any()]
    draws = pluralize(table.sizes["draw"], "random set")
    criterion = (
        f"above the unsteered model and above the mean of {draws} at some block (q <= {LEVEL:g} over tasks x blocks)"
    )
    if not raised:
        return [*lines, f"No task is {criterion}. {_thin(table)}", *_left_out(table)]
    largest = [
        f"{tasks[row]} {_share(float(table['base'].values[row]))} to "
        f"{_share(float(table['accuracy'].values[row, gains[row].argmax()]))} (block {layers[gains[row].argmax()]})"
        for row in raised[:_NAMED]
    ]
    more = f" and {len(raised) - _NAMED} more" if len(raised) > _NAMED else ""
    lines.append(f"{len(raised)} of {pluralize(len(tasks), 'task')} {'is' if len(raised) == 1 else 'are'} {criterion}: "
                 f"{', '.join(largest)}{more}.")  # fmt: skip
    if len(raised) < len(tasks):
        lines.append(
            f"The other {len(tasks) - len(raised)} show no such gain that these queries could tell from chance."
        )
    return [*lines, *_left_out(table)]


def _ranked_on(table: xr.Dataset) -> list[str]:
    """How many query items the heads were ranked on, if their attributes hold it."""
    counts = json.loads(table.attrs.get("ranked_on", "[]"))
    if not counts:
        return []
    least, most = min(counts), max(counts)
    span = pluralize(most, "query item") if least == most else f"{least} to {pluralize(most, 'query item')}"
    return [f"The heads were ranked on {span} per task, of {pluralize(len(counts), 'task')}{_too_few(counts)}."]


def _too_few(counts: list[int]) -> str:
    if min(counts) >= _FEW_ITEMS:
        return ""
    return f"; with fewer than {_FEW_ITEMS} of a task, other items may rank other heads: a run with more prompts tells"


def _thin(table: xr.Dataset) -> str:
    return f"Queries per task: {int(table['n'].min())} to {int(table['n'].max())}; with few of them gains go unnoticed."


def _left_out(table: xr.Dataset) -> list[str]:
    reasons = json.loads(table.attrs["left_out"])
    return [f"{pluralize(len(reasons), 'task')} could not be steered: {', '.join(reasons)}."] if reasons else []


def _share(value: float) -> str:
    return f"{value:.2f}"
