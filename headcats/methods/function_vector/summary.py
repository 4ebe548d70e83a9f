"""Summary of steering: which tasks the function vector raises, above the unsteered model and above random heads."""

import json

import numpy as np
import xarray as xr

from headcats.errors import pluralize

LEVEL = 0.05
_NAMED = 6
_FEW_ITEMS = 10


def steering_summary(table: xr.Dataset) -> list[str]:
    """Sentences on what `steer` returned.

    A task counts as raised if accuracy is above that of the unsteered model and above the mean of the random sets (q <=
    .05 over tasks x layers); the layer with its largest gain is named.
    """
    n_tasks, layers = table.sizes["task"], table["layer"].values
    base, accuracy = table["base"].values, table["accuracy"].values
    mean, control = accuracy.mean(0), table["control"].mean(("task", "draw")).values
    best = int(mean.argmax())
    heads = pluralize(table.attrs["heads"].count(",") + 1, "head")
    overall = (
        f"Mean over {pluralize(n_tasks, 'task')} without demonstrations: {base.mean():.2f} of the queries right; with "
        f"the vector of {heads} after block {layers[best]}, the best of {pluralize(len(layers), 'block')} by these "
        f"same numbers, {mean[best]:.2f}, and with vectors of random other heads there {control[best]:.2f}. With "
        f"demonstrations: {float(table['few_shot'].mean()):.2f}."
    )
    lines = [overall]
    if n_items := json.loads(table.attrs.get("ranked_on", "[]")):
        least, most = min(n_items), max(n_items)
        span = pluralize(most, "query item") if least == most else f"{least} to {pluralize(most, 'query item')}"
        few = (
            f"; with fewer than {_FEW_ITEMS} of a task, other items may rank other heads: a run with more prompts tells"
            if least < _FEW_ITEMS
            else ""
        )
        lines.append(f"The heads were ranked on {span} per task, of {pluralize(len(n_items), 'task')}{few}.")
    if control[best] >= mean[best]:
        lines.append("Random other heads do no worse there: on the whole the gain is not specific to these heads.")
    significant = table["q_value"].values <= LEVEL
    gains = np.where(significant, table["gain"].values, -np.inf)
    raised = [row for row in np.argsort(-gains.max(axis=1), kind="stable") if significant[row].any()]
    criterion = (
        f"above the unsteered model and above the mean of {pluralize(table.sizes['draw'], 'random set')} at some block "
        f"(q <= {LEVEL:g} over tasks x blocks)"
    )
    if raised:
        places = [(row, gains[row].argmax()) for row in raised[:_NAMED]]
        largest = [
            f"{table['task'].values[row]} {base[row]:.2f} to {accuracy[row, column]:.2f} (block {layers[column]})"
            for row, column in places
        ]
        more = f" and {len(raised) - _NAMED} more" if len(raised) > _NAMED else ""
        verb = "is" if len(raised) == 1 else "are"
        lines.append(f"{len(raised)} of {pluralize(n_tasks, 'task')} {verb} {criterion}: {', '.join(largest)}{more}.")
        if len(raised) < n_tasks:
            lines.append(f"The other {n_tasks - len(raised)} show no such gain that these queries tell from chance.")
    else:
        least, most = int(table["n"].min()), int(table["n"].max())
        lines.append(f"No task is {criterion}. Queries per task: {least} to {most}; few queries miss small gains.")
    if left_out := json.loads(table.attrs["left_out"]):
        lines.append(f"{pluralize(len(left_out), 'task')} could not be steered: {', '.join(left_out)}.")
    return lines
