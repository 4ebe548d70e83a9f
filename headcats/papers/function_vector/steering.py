"""Steering: does the mean output of a few heads make a model do a task without demonstrations?"""

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, OptionError, pluralize
from headcats.models.adapter import HookedModel, adapt
from headcats.models.head import Head
from headcats.papers.function_vector.accuracy import steered_task, steering_prompts
from headcats.papers.function_vector.settings import SteeringSettings
from headcats.prompts.template import find_template
from headcats.statistics.multiplicity import benjamini_hochberg
from headcats.statistics.random_streams import stream
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite
from headcats.tasks.suites import suite as find_suite

_log = logging.getLogger("headcats")
LEVEL = 0.05
_NAMED = 6
_FEW_ITEMS = 10


def steer(
    model: Any,
    suite: str | Suite | Task | Sequence[Task | str],
    heads: xr.Dataset | Sequence[Head | str],
    *,
    tasks: Sequence[str] | None = None,
    settings: SteeringSettings = SteeringSettings(),  # noqa: B008 - frozen
    seed: int = 0,
) -> xr.Dataset:
    """Accuracy without demonstrations when the function vector of the task is added to the residual stream.

    The function vector of a task is the sum over `heads` of their mean outputs `z @ W_O` (no bias) at the last position
    of few-shot prompts. It is added at the last position of zero-shot prompts to the hidden state after one block
    (`hook_resid_post`, as in the paper), for every block in turn. Few-shot prompts use the word pairs whose input is in
    the first of two random halves, zero-shot prompts ask about the second: no query went into the vector (an answer
    can, if several inputs share it), nor into `function_vector.steering_heads` with the same seed.

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
        suite: Name of a suite, a `Suite`, or a list of tasks and task names.
        heads: What `function_vector.steering_heads` returns, or a list of heads (`hc.Head`, or "L9H6").
        tasks: The tasks to steer; None takes all of the suite.
        settings: Prompts, their numbers, and how many controls. What it leaves open is taken from the run that ranked
            the heads.
        seed: Seed of halves, prompts and controls.

    Returns:
        Dims `task, layer, draw`; `layer` counts blocks, with or without attention. Shares of right answers (argmax over
        the vocabulary), in [0, 1]: `accuracy (task, layer)` with `low, high`; `base (task)`, without a vector, with
        `base_low, base_high` (95 %, Wilson: every query is asked once); `control (task, layer, draw)`, with the vector
        of as many random other heads; `few_shot (task)`, for the few-shot prompts. `gain` = accuracy - base and
        `excess` = accuracy - mean control, each with `_low, _high`, 95 % by a bootstrap of queries. `p_value`: the
        larger of two one-sided sign tests over queries, against base and against the mean control; `q_value`:
        Benjamini-Hochberg over tasks x layers. `n (task)` zero-shot and `n_reference (task)` few-shot prompts;
        coordinate `category (task)`. Attributes: `heads`, `controls` (the random sets, one a line), `left_out` (JSON,
        task -> why), `dropped` (JSON, task -> reason -> number of word pairs and prompts), `reading` (sentences, one a
        line), `provenance` (JSON) and, for ranked heads, `ranked_on` (JSON, numbers of query items per task).

    Raises:
        UnknownNameError: An unknown suite, task or template.
        DataError: No head, a head twice, a head that the model does not have, or heads ranked on other weights; or no
            task that can be steered, with every reason.
        OptionError: Too few other heads for a control, or a template with text unknown to the tokenizer.
        ModelError: A model without tokenizer, or without the residual stream at a hook.

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213.

    Example:
        >>> import headcats as hc
        >>> from headcats.papers import function_vector
        >>> few = function_vector.SteeringSettings(n_demos=5, template="arrow", n_reference=8, n_prompts=4, n_draws=1)
        >>> steered = function_vector.steer(hc.load_model("mini"), ["country_capital"], ["L1H6", "L1H7"], settings=few)
        >>> steered.accuracy.dims, steered.control.dims
        (('task', 'layer'), ('task', 'layer', 'draw'))
    """
    adapted, resolved = adapt(model), find_suite(suite)
    selected = resolved.named(tasks)
    _check_answers(selected)
    settings = settings.completed(heads.attrs if isinstance(heads, xr.Dataset) else {})
    find_template(str(settings.template))  # before the loop, which would blame each task
    members = parse_heads(heads, adapted)
    sets = [members, *_random_sets(members, adapted, draws=settings.n_draws, seed=seed)]
    steered: dict[str, xr.Dataset] = {}
    left_out: dict[str, str] = {}
    dropped: dict[str, dict[str, int]] = {}
    for task in selected:
        _log.info("Steering %s.", task.name)
        try:
            prompts = steering_prompts(task, adapted, settings, seed=seed)
        except DataError as problem:
            left_out[task.name] = str(problem)
            continue
        result = steered_task(adapted, prompts.few_shot, prompts.zero_shot, sets, task=task.name, seed=seed)
        if prompts.dropped:
            dropped[task.name] = prompts.dropped
        steered[task.name] = result.expand_dims(task=[task.name])
    if not steered:
        reasons = "".join(f"\n- {task}: {reason}" for task, reason in left_out.items())
        raise DataError(f"No task can be steered:{reasons}")
    table = xr.concat(list(steered.values()), dim="task", join="exact")
    categories = [resolved.category_of(task).name for task in resolved.tasks if task.name in steered]
    table = table.assign_coords(category=("task", categories))
    table["q_value"] = table["p_value"].copy(data=benjamini_hochberg(table["p_value"].values))
    names = ", ".join(map(str, members))
    provenance = {"heads": names, "model": adapted.name, "suite": resolved.name, "seed": seed, **asdict(settings)}
    table.attrs = {
        "heads": names,
        "controls": "\n".join(", ".join(map(str, control)) for control in sets[1:]),
        "left_out": json.dumps(left_out, ensure_ascii=False),
        "dropped": json.dumps(dropped, ensure_ascii=False),
        "provenance": json.dumps(provenance, ensure_ascii=False),
    }
    if isinstance(heads, xr.Dataset) and "n_items" in heads:
        table.attrs["ranked_on"] = json.dumps([int(n) for n in heads["n_items"].values])
    return table.assign_attrs(reading="\n".join(steering_summary(table)))


def _check_answers(tasks: Sequence[Task]) -> None:
    sentences = [task.name for task in tasks if task.exact is not None]
    if sentences and len(sentences) == len(tasks):
        raise DataError(
            f"No task can be steered: {', '.join(sentences)} {'is' if len(tasks) == 1 else 'are'} answered in whole "
            "sentences, and steering asks for an answer of one token. Choose tasks of word pairs, such as those of "
            "suite 'icl'."
        )


def parse_heads(heads: Any, model: HookedModel) -> tuple[Head, ...]:
    """Heads in any form that `steer` takes, each once, of this model and, if ranked, of its weights."""
    ranked = isinstance(heads, xr.Dataset) and "name" in heads
    if not ranked and (isinstance(heads, xr.Dataset | xr.DataTree | str | Head) or not isinstance(heads, Iterable)):
        received = f"a {type(heads).__name__}" if isinstance(heads, xr.Dataset | xr.DataTree) else repr(heads)
        form = f"[{str(heads)!r}]" if isinstance(heads, str | Head) else '"L1H6" or hc.Head(1, 6), in a list'
        raise DataError(
            "function_vector.steer takes what function_vector.steering_heads(results) returns, "
            f"or a list of heads; got {received}. Pass {form}."
        )
    # L1H6 of one model is not L1H6 of another.
    weights = heads.attrs.get("weights_hash") if ranked else ""
    if weights and weights != model.weights_hash():
        raise DataError(
            f"These heads were ranked on model {heads.attrs.get('model', '?')!r} (weights {weights}), and the model to "
            f"be steered is {model.name!r} (weights {model.weights_hash()}). Rank heads with results of this model; "
            "or, to steer with these all the same (another dtype or class of one model has other weights, too), pass "
            "their names: heads['name'].values.tolist()."
        )
    parsed = tuple(map(model.find_head, heads["name"].values.tolist() if ranked else heads))
    if not parsed or len(set(parsed)) < len(parsed):
        raise DataError(f"Steering needs at least one head, each once; got {', '.join(map(str, parsed)) or 'none'}.")
    return parsed


def _random_sets(heads: tuple[Head, ...], model: HookedModel, *, draws: int, seed: int) -> list[tuple[Head, ...]]:
    """Random sets of as many other heads, drawn from all layers."""
    pool = [head for head in model.heads if head not in heads]
    if len(pool) < len(heads):
        raise OptionError(
            f"{len(heads)} heads leave {len(pool)} others: too few for a random set of the same size. Steer with at "
            f"most half of the model's heads."
        )
    streams = [stream(seed, "steering control", str(draw)) for draw in range(draws)]
    return [
        tuple(pool[place] for place in sorted(generator.choice(len(pool), len(heads), replace=False)))
        for generator in streams
    ]


def steering_summary(table: xr.Dataset) -> list[str]:
    """Sentences on what `steer` returned; raised is a task with q <= .05 over tasks x layers against both controls."""
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
