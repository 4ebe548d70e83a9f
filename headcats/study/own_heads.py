"""Heads that the user names: their joint effect, beside random heads of the same layers, and the fewest that do it."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, OptionError, check_count
from headcats.metrics.definition import metric_name
from headcats.models.adapter import HookedModel
from headcats.models.head import Head, distinct
from headcats.prompts.batch import PromptBatch
from headcats.statistics.distributions import t_quantile
from headcats.statistics.random_streams import stream
from headcats.study.head_sets import leave_out, prepared
from headcats.sweeps.joint import AnyHead
from headcats.sweeps.reference import Reference

CANDIDATES = 24
NOTHING = "No task could be measured; the warnings say why. `headcats validate` checks tasks alone."


def ablate(
    model: Any,
    prompts: Any,
    *,
    heads: Sequence[AnyHead],
    method: str = "mean_ablation",
    metric: Any = "logit_diff",
    n_random: int = 20,
    reference: "Reference | PromptBatch | Sequence[PromptBatch] | None" = None,
    seed: int = 0,
    memory: str | int | None = None,
    **options: Any,
) -> xr.Dataset:
    """Replace all of these heads at once, and measure their joint effect beside random heads of the same layers.

    Args:
        model: As in `hc.run`.
        prompts: A `PromptBatch`, a list of them, or a suite as in `hc.run`, whose prompts and reference are those of a
            run with these options, which leaves out what the model cannot do.
        heads: "L9H6", "9.6", (9, 6) or `Head`; see `hc.heads` for lists in files.
        method: A causal method as in `hc.run`, such as "mean_ablation@last" or "zero_ablation".
        metric: Name of a metric, or a function.
        n_random: Number of random sets with as many heads of each layer; fewer where the model has fewer such sets.
        reference: Prompts of the mean for batches; without it, other prompts of the batch (see `hc.sweep`).
        seed: Seed of the random sets, of the bootstrap, and of the prompts of a suite.
        memory: As in `hc.sweep`.
        **options: Of `hc.run`, for a suite: `tasks`, `n_prompts`, `min_accuracy` and others that decide on the prompts.

    Returns:
        `effect (task)` in shares of the gap between clean and corrupted prompts, positive = the heads help; its 95 %
        interval `low, high (task)` over query items; `raw (task)` in the metric's unit; `gap`, `n_items (task)`,
        and of a suite `corruption (task)`; `random (task, draw)`, effects of the random sets, whose names are the
        coordinate `heads (draw)`; and `p_value (task)`, the share of these and the set itself with at least its effect:
        one-sided, never below 1 / (draws + 1), and another question than whether the interval holds 0. A task that is
        skipped, or has no gap, is left out with a warning.

    Raises:
        DataError: No head, a head twice, one that the model lacks, or no task with a gap.
        OptionError: A method that does not replace heads, options of a suite for batches, or `reference` for a suite.

    Example:
        >>> import headcats as hc
        >>> two = ["plural", "antonym"]
        >>> table = hc.ablate("mini", two, heads=["L3H1", "L4H1"], n_prompts=8, n_random=4)
        >>> table.effect.dims, table.random.shape, table.attrs["heads"]
        (('task',), (2, 4), 'L3H1+L4H1')

    References:
        Wang et al. (2022), arXiv 2211.00593, for mean ablation of several heads at once.
    """
    check_count("n_random", n_random, least=0)
    work, tasks = prepared(model, prompts, method, metric, reference, seed, memory, options)
    chosen = distinct(heads, work.model.find_head)
    draws = _random_sets(work.model, chosen, n=n_random, seed=seed)
    rows, corruption = {}, list[str]()
    for of_task in tasks:
        try:
            rows[of_task.task] = work.effects(of_task, [chosen, *draws])
            corruption.append(of_task.corruption)
        except DataError as problem:
            leave_out(of_task.task, problem, prompts)
    if not rows:
        raise DataError(NOTHING)
    half = {task: t_quantile(0.025, max(row.n_items - 1, 1)) * row.standard_error[0] for task, row in rows.items()}
    effects = np.stack([row.effect for row in rows.values()])
    as_large = (effects[:, 1:] >= effects[:, :1] - 1e-9).sum(axis=1)
    return xr.Dataset(
        {
            "effect": ("task", effects[:, 0]),
            "low": ("task", [row.effect[0] - half[task] for task, row in rows.items()]),
            "high": ("task", [row.effect[0] + half[task] for task, row in rows.items()]),
            "raw": ("task", [row.raw[0] for row in rows.values()]),
            "gap": ("task", [row.gap for row in rows.values()]),
            "corruption": ("task", corruption),
            "n_items": ("task", [row.n_items for row in rows.values()]),
            "random": (("task", "draw"), effects[:, 1:]),
            "p_value": ("task", (1 + as_large) / (1 + len(draws)) if draws else np.full(len(rows), np.nan)),
        },
        coords={"task": list(rows), "heads": ("draw", ["+".join(map(str, each)) for each in draws])},
        attrs={
            "heads": "+".join(map(str, chosen)),
            "method": work.spec.label,
            "metric": metric_name(metric),
            "seed": seed,
        },
    )


def smallest_set(
    model: Any,
    prompts: Any,
    *,
    heads: Sequence[AnyHead] | None = None,
    share: float = 0.8,
    method: str = "mean_ablation",
    metric: Any = "logit_diff",
    reference: "Reference | PromptBatch | Sequence[PromptBatch] | None" = None,
    seed: int = 0,
    memory: str | int | None = None,
    **options: Any,
) -> xr.Dataset:
    """Find the fewest heads that do a share of the damage of all, chosen on some prompts and judged on others.

    On half of the query items heads are added one by one, each time the one after which the set does most, on average
    over the tasks, until it does all. What the growing set does is then measured on the other half.

    Args:
        model: As in `hc.ablate`.
        prompts: As in `hc.ablate`.
        heads: Heads to choose from; None for the 24 of the model with the largest effects of their own.
        share: Share of the damage that all of `heads`, or without them all heads of the model, do together; in (0, 1].
        method: As in `hc.ablate`.
        metric: As in `hc.ablate`.
        reference: As in `hc.ablate`.
        seed: As in `hc.ablate`; it draws the halves, too.
        memory: As in `hc.ablate`.
        **options: As in `hc.ablate`.

    Returns:
        One row a `size`: `head (size)`, in the order in which they were added; `chosen (size)`, the share of the damage
        on the half that chose them; `share, low, high (size)`, that on the other half with its 95 % interval over query
        items. The attribute `size` is the smallest whose `share` is reached there, 0 if none is, and `heads` names
        that set.

    Raises:
        OptionError: A share out of range.
        DataError: As in `hc.ablate`; fewer than four query items of a task; heads that do no damage together.

    Example:
        >>> import headcats as hc
        >>> smallest = hc.smallest_set("mini", ["plural", "antonym"], heads=["L1H1", "L1H6", "L0H0"], n_prompts=16)
        >>> smallest["head"].dims, bool((smallest.low <= smallest.high).all())
        (('size',), True)
    """
    if not (isinstance(share, int | float) and not isinstance(share, bool) and 0 < share <= 1):
        raise OptionError(f"share must be a number above 0, up to 1; got {share!r}.")
    work, given = prepared(model, prompts, method, metric, reference, seed, memory, options)
    everything = [Head(layer, head) for layer, n in work.model.n_heads.items() for head in range(n)]
    pool = everything if heads is None else distinct(heads, work.model.find_head)
    tasks, alone = [], []
    for of_task in given:
        try:
            work.effects(of_task, [pool], half=1)  # before anything is chosen for it
            alone.append(work.effects(of_task, [*([head] for head in pool), pool], half=0).effect)
            tasks.append(of_task)
        except DataError as problem:
            leave_out(of_task.task, problem, prompts)
    if not tasks:
        raise DataError(NOTHING)
    *single, whole = np.mean(alone, axis=0).tolist()
    if not whole > 0:
        raise DataError(f"These {len(pool)} heads do no damage together ({whole:.2f} of the gap).")
    left = [pool[place] for place in np.argsort(single)[::-1][:CANDIDATES]]
    order, reached = list[Head](), list[float]()
    while left and max(reached, default=0.0) < 1:
        sets = [[*order, head] for head in left]
        damage = np.mean([work.effects(task, sets, half=0).effect for task in tasks], axis=0)
        reached.append(float(damage.max()) / whole)
        order.append(left.pop(int(damage.argmax())))
    sets = [order[: n + 1] for n in range(len(order))]
    judged = [work.effects(task, [*sets, pool], half=1) for task in tasks]
    effects = np.mean([each.effect for each in judged], axis=0)
    draws = np.mean([each.resampled for each in judged], axis=0)
    if not effects[-1] > 0:
        raise DataError(f"On the other half of the query items these heads do no damage together ({effects[-1]:.2f}).")
    shares = draws[:, :-1] / draws[:, -1:]
    low, high = np.quantile(shares, [0.025, 0.975], axis=0)
    on_others = effects[:-1] / effects[-1]
    size = next((n + 1 for n, value in enumerate(on_others) if value >= share), 0)
    return xr.Dataset(
        {
            "head": ("size", list(map(str, order))),
            "chosen": ("size", reached),
            "share": ("size", on_others),
            "low": ("size", low),
            "high": ("size", high),
        },
        coords={"size": range(1, len(order) + 1)},
        attrs={"size": size, "heads": "+".join(map(str, order[:size])), "method": work.spec.label, "share": share},
    )


def _random_sets(model: HookedModel, heads: Sequence[Head], *, n: int, seed: int) -> list[list[Head]]:
    """Other sets with as many heads of each layer, each drawn once; all of them where there are no more than `n`."""
    # They may share heads with this one: without those that do, a random set would too often seem special.
    draws, sets = stream(seed, "random heads", " ".join(map(str, heads))), {frozenset(heads): list(heads)}
    counts = Counter(head.layer for head in heads)
    most = math.prod(math.comb(model.n_heads[layer], k) for layer, k in counts.items())
    while len(sets) < min(1 + n, most):
        drawn = [
            Head(layer, int(head))
            for layer, k in sorted(counts.items())
            for head in sorted(draws.choice(model.n_heads[layer], size=k, replace=False))
        ]
        sets.setdefault(frozenset(drawn), drawn)
    return list(sets.values())[1:]
