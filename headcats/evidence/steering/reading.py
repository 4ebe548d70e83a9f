"""What steering showed, in words."""

import json

import numpy as np
import xarray as xr

LEVEL = 0.05
_NAMED = 6


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
        f"Mean over {_count(len(tasks), 'task')} without demonstrations: {_share(float(table['base'].mean()))} of the "
        f"queries right; with the vector of {_count(n_heads, 'head')} after block {layers[best]}, the best of "
        f"{_count(len(layers), 'block')} by these same numbers, {_share(mean[best])}, and with vectors of random other "
        f"heads there {_share(control[best])}. With demonstrations: {_share(float(table['few_shot'].mean()))}."
    )
    lines = [first]
    if control[best] >= mean[best]:
        lines.append("Random other heads do no worse there: on the whole the gain is not particular to these heads.")
    called = table["q_value"].values <= LEVEL
    gains = np.where(called, table["gain"].values, -np.inf)
    raised = [row for row in np.argsort(-gains.max(axis=1), kind="stable") if called[row].any()]
    draws = _count(table.sizes["draw"], "random set")
    what = f"above the unsteered model and above the mean of {draws} at some block (q <= {LEVEL:g} over tasks x blocks)"
    if not raised:
        return [*lines, f"No task is {what}. {_thin(table)}", *_left_out(table)]
    named = [
        f"{tasks[row]} {_share(float(table['base'].values[row]))} to "
        f"{_share(float(table['accuracy'].values[row, gains[row].argmax()]))} (block {layers[gains[row].argmax()]})"
        for row in raised[:_NAMED]
    ]
    more = f" and {len(raised) - _NAMED} more" if len(raised) > _NAMED else ""
    lines.append(f"{len(raised)} of {_count(len(tasks), 'task')} {'is' if len(raised) == 1 else 'are'} {what}: "
                 f"{', '.join(named)}{more}.")  # fmt: skip
    if len(raised) < len(tasks):
        lines.append(
            f"The other {len(tasks) - len(raised)} show no such gain that these queries could tell from chance."
        )
    return [*lines, *_left_out(table)]


def _thin(table: xr.Dataset) -> str:
    return f"Queries per task: {int(table['n'].min())} to {int(table['n'].max())}; with few of them gains go unnoticed."


def _left_out(table: xr.Dataset) -> list[str]:
    reasons = json.loads(table.attrs["left_out"])
    return [f"{_count(len(reasons), 'task')} could not be steered: {', '.join(reasons)}."] if reasons else []


def _share(value: float) -> str:
    return f"{value:.2f}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
