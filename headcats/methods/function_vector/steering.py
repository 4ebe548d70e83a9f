"""Steering: does the mean output of a few heads make a model do a task that no demonstration shows?"""

import json
import logging
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import xarray as xr

from headcats.categories.argument_checks import RESULTS, check_is
from headcats.errors import DataError, ModelError, StatisticsWarning
from headcats.methods.function_vector.accuracy import steered_task
from headcats.methods.function_vector.chosen import named_heads, other_heads
from headcats.methods.function_vector.heads import rank_heads
from headcats.methods.function_vector.prompts import SteeringSettings, settings_as_told, steering_prompts
from headcats.methods.function_vector.reading import steering_reading
from headcats.models.adapter import adapt
from headcats.models.head import Head
from headcats.registry import lookup
from headcats.results.label import Label
from headcats.results.manifest import Manifest
from headcats.results.tree import find_manifest, task_nodes
from headcats.scores.items import first_half, of_items
from headcats.scores.scoring import score
from headcats.statistics.multiplicity import benjamini_hochberg
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite
from headcats.tasks.suites import suite as find_suite

METHOD, PAPERS_METRIC = "function_vector_patch", "prob"
_LABEL = str(Label(METHOD, positions="last"))
_log = logging.getLogger("headcats")


def steering_heads(results: xr.DataTree, n: int = 10, *, metric: str | None = None, seed: int = 0) -> xr.Dataset:
    """The function-vector heads of the query items that `steer` of the same seed does not ask about.

    Half of the items, drawn by their words alone (`headcats.scores.first_half`). Heads chosen on all items would have
    seen the queries that they are tested on.

    Args:
        results: As `hc.load` returns them, with `function_vector_patch`.
        n: How many heads.
        metric: Metric that they are ranked by. None: "prob", as in the paper, where the run measured it
            (`hc.methods.preset("todd2024")` and `metrics=["logit_diff", "prob"]` do), else the first metric of the run,
            with a
            warning: what is not bounded as a probability is gives the tasks with large numbers more weight.
        seed: Seed of the halves.

    Returns:
        As `hc.methods.function_vector.rank_heads`, with what the results tell of their run as attributes:
        `template` and `n_demos`, how its prompts are written, which is how `steer` writes its own if not told
        otherwise; `model` and `weights_hash`, since `steer` refuses heads of other weights. `n_items (task)`: distinct
        query items that the ranking rests on.

    Raises:
        UnknownNameError: No function_vector_patch, or no such metric, in the results.
        DataError: Something else than results.
        DataError, OptionError: As `hc.methods.function_vector.rank_heads`.

    Warns:
        StatisticsWarning: No metric was named, and the results lack the paper's.

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> results = hc.run("mini", suite=two, methods=["function_vector_patch"], metrics=["prob"], n_prompts=8)
        >>> heads = hc.methods.function_vector.steering_heads(results, 4)
        >>> heads.effect.dims, heads.attrs["metric"], heads.attrs["template"]
        (('rank',), 'prob', 'arrow')

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213. To rank heads on one half of
        the queries and to steer the other is headcats' own.
    """
    check_is(results, RESULTS, by="hc.methods.function_vector.steering_heads")
    metric = metric or _metric_of(results)
    half = of_items(results, lambda item: first_half(item, seed=seed))
    with warnings.catch_warnings():
        # Of gaps: raw effects are not divided by them.
        warnings.simplefilter("ignore", StatisticsWarning)
        scores = score(half, method=METHOD, metric=metric, positions="last", alpha=0.99)
    heads = rank_heads(scores, n, seed=seed)
    counts = _items_by_task(half)
    heads = heads.assign(n_items=("task", [counts[str(task)] for task in heads["task"].values]))
    manifest = find_manifest(results) or Manifest()
    plan, model = manifest.plan, manifest.model
    attrs = {"template": plan.template, "n_demos": plan.n_demos}
    attrs |= {"model": model.name, "weights_hash": model.weights_hash}
    return heads.assign_attrs({name: value for name, value in attrs.items() if value not in (None, "")})


def _items_by_task(results: xr.DataTree) -> dict[str, int]:
    nodes = {task: node for task, node in task_nodes(results).items() if _LABEL in node.children}
    return {task: len(set(node[_LABEL].to_dataset()["item"].values.tolist())) for task, node in nodes.items()}


def _metric_of(results: xr.DataTree) -> str:
    """The paper's metric, or the first that the results hold."""
    blocks = [node[_LABEL].to_dataset() for node in task_nodes(results).values() if _LABEL in node.children]
    metrics = [str(name) for name in blocks[0]["metric"].values] if blocks else []
    if not metrics or PAPERS_METRIC in metrics:
        return PAPERS_METRIC
    warnings.warn(
        f"These results hold no {PAPERS_METRIC!r}, by which the paper ranks heads; they are ranked by {metrics[0]!r}. "
        "Unless that lies between 0 and 1, tasks with large numbers weigh more. For the paper's ranking, run with "
        f"--metrics {','.join([*metrics, PAPERS_METRIC])} (metrics={[*metrics, PAPERS_METRIC]}) into a new folder.",
        StatisticsWarning,
        stacklevel=3,
    )
    return metrics[0]


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
    of few-shot prompts of the task. It is added at the last position of zero-shot prompts to the hidden state after one
    block (`hook_resid_post`, as in the paper), for every block in turn. Few-shot prompts are made of the word pairs
    whose input is in the first of two random halves, zero-shot prompts ask about the second half: no query went into
    the vector (an answer can, where several inputs share it). Choose the heads with
    `hc.methods.function_vector.steering_heads` of the same seed, and they have not been ranked by these queries either.

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
        suite: Name of a suite, a `Suite`, or a list of tasks and task names.
        heads: What `hc.methods.function_vector.rank_heads` or `hc.methods.function_vector.steering_heads`
            returns, or a list of heads (`hc.Head`, or "L9H6").
        tasks: The tasks to steer; None takes all of the suite.
        settings: Prompts, their numbers, and how many controls. What it leaves open is as in the run that the heads
            come from.
        seed: Seed of halves, prompts and controls.

    Returns:
        Dims `task, layer, draw`; `layer` counts blocks, attention or not. Shares of right answers (argmax over the
        whole vocabulary), in [0, 1]: `accuracy (task, layer)` with `low, high` and `base (task)`, without a vector,
        with `base_low, base_high` (95 %, Wilson: every query is asked once); `control (task, layer, draw)`, with the
        vector of as many random other heads, drawn from all layers; `few_shot (task)`, of the few-shot prompts.
        `gain` = accuracy - base and `excess` = accuracy - mean control, each with `_low, _high`, 95 % by a bootstrap of
        queries (of these heads and these draws). `p_value`: the larger of two one-sided sign tests over queries, that
        accuracy is no more than base and no more than the mean control; `q_value`: Benjamini-Hochberg over tasks x
        layers. `norm (task)` and `control_norm (task, draw)` of the vectors; `n (task)` zero-shot prompts,
        `n_reference (task)` few-shot ones; coordinate `category (task)`. Attributes: `heads`, `controls` (the random
        sets, one a line), `left_out` (JSON, task -> why it is not here), `dropped` (JSON, task -> reason -> number of
        word pairs and prompts), `reading` (sentences, one a line), `provenance` (JSON) and, of heads that
        `hc.methods.function_vector.steering_heads` ranked, `ranked_on` (JSON, numbers of query items of the tasks that
        ranked them).

    Raises:
        UnknownNameError: An unknown suite, task or template.
        DataError: No head, a head twice, one that the model does not have, or heads that were ranked on other weights;
            or no task that can be steered, with every reason.
        OptionError: Too few other heads for a control, or a template with text that the model's tokenizer does not
            know.
        ModelError: A model without tokenizer, or without the residual stream at a hook.

    Example:
        >>> import headcats as hc
        >>> small = hc.methods.function_vector.SteeringSettings(
        ...     n_demos=5, template="arrow", n_reference=8, n_prompts=4, n_draws=1
        ... )
        >>> heads, tasks = ["L1H6", "L1H7"], ["country_capital"]
        >>> steered = hc.methods.function_vector.steer(hc.load_model("mini"), tasks, heads, settings=small)
        >>> steered.accuracy.dims, steered.control.dims
        (('task', 'layer'), ('task', 'layer', 'draw'))
        >>> bool(0 <= steered.accuracy.min() and steered.accuracy.max() <= 1)
        True

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213.
    """
    adapted, resolved = adapt(model), find_suite(suite)
    if adapted.tokenizer is None:
        raise ModelError(f"Model {adapted.name!r} has no tokenizer, so tasks cannot be written as tokens.")
    selected = resolved.named(tasks)
    _check_answers(selected)
    settings = settings_as_told(settings, heads.attrs if isinstance(heads, xr.Dataset) else {})
    lookup("template", str(settings.template))  # an unknown one is no fault of every task
    members = named_heads(heads, adapted)
    sets = [members, *other_heads(members, adapted, draws=settings.n_draws, seed=seed)]
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
        result = steered_task(adapted, prompts.shown, prompts.asked, sets, task=task.name, seed=seed)
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
    return table.assign_attrs(reading="\n".join(steering_reading(table)))


def _check_answers(tasks: Sequence[Task]) -> None:
    """Tasks that are answered in sentences are at fault by themselves, whatever template they are written in."""
    sentences = [task.name for task in tasks if task.exact is not None]
    if sentences and len(sentences) == len(tasks):
        raise DataError(
            f"No task can be steered: {', '.join(sentences)} {'is' if len(tasks) == 1 else 'are'} answered in whole "
            "sentences, and steering asks for an answer of one token. Choose tasks of word pairs, such as those of "
            "suite 'icl'."
        )
