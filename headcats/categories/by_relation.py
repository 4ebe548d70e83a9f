"""From relations that heads implement by their weights to categories."""

import json
import numbers
import warnings

import numpy as np
import xarray as xr

from headcats.errors import DataError, OptionError, StatisticsWarning
from headcats.results.tree import refuse_results

CALIBRATED = "calibrated"
_GRID = ("category", "layer", "head")
_NEEDED = ("score", "suppression", "threshold", "suppression_threshold", "n")


def relation_members(relations: xr.Dataset, *, threshold: str | float | int = CALIBRATED) -> xr.Dataset:
    """Which heads have which category by their weights: those that implement at least one of its relations.

    A head implements a relation if its score reaches the threshold; it suppresses one if its suppression does. "At
    least one" is the rule of the paper, and an OR: with many relations in a category it saturates, whatever the heads
    do. Nothing is sampled here (all pairs of a relation count), so there are no intervals and no p values.

    Args:
        relations: What `ov_relation` returned, with categories: of a study, or called with `categories=...`.
        threshold: "calibrated": the larger of the preset's threshold (.15) and the 99.9th percentile of the
            permuted-target null, per relation. Or a number in (0, 1] for all: 0.15 is the paper's.

    Returns:
        What `hc.overlap`, `hc.categories.head_table` and the figures take, as from `hc.categorize`: `member` and
        `suppressing (category, layer, head)`, 1 in, -1 out, 0 where a category has no relation or a layer no such head;
        `effect`: largest score over the relations (not a share of a gap), `suppressing_effect`: largest suppression,
        negative; `tasks` and `suppressing_tasks`: relations that reach the threshold; `low, high, p_value, q_value`
        NaN; per category `n_tasks, min_tasks` (1), `n_items` (pairs of its smallest relation), `size,
        suppressing_size`. With the attribute `rule`.

    Raises:
        DataError: Something else than relation scores, or relations without categories.
        OptionError: A threshold that is neither "calibrated" nor a number in (0, 1].

    Warns:
        StatisticsWarning: Categories of several relations; categories without any.

    Example:
        >>> import headcats as hc
        >>> kinds = {"country_capital": "Knowledge", "plural": "Linguistic"}
        >>> pairs = {task.name: task.pairs(60, seed=0) for task in hc.suite("icl").named(list(kinds))}
        >>> relations = hc.methods.ov_relation(hc.load_model("mini"), pairs, categories=kinds)
        >>> members = hc.categories.relation_members(relations, threshold=0.15)
        >>> members.member.dims, [str(name) for name in members.category.values]
        (('category', 'layer', 'head'), ['Knowledge', 'Linguistic'])

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965.
    """
    _check(relations, threshold)
    relations = relations.transpose("task", "layer", "head")
    order = [str(entry["name"]) for entry in json.loads(relations.attrs["categories"])]
    of_task = relations["category"].values.astype(str)
    if missing := sorted(set(of_task.tolist()) - set(order)):
        raise DataError(f"The attribute `categories` does not list {', '.join(map(repr, missing))}.")
    rows = {name: np.flatnonzero(of_task == name) for name in order}
    _warn(rows)
    made = xr.Dataset(coords={"category": order, "layer": relations["layer"], "head": relations["head"]})
    for score, verdict, prefix, sign in (
        ("score", "member", "", 1),
        ("suppression", "suppressing", "suppressing_", -1),
    ):
        outcome, effect, tasks = _judged(relations, score, rows, threshold)
        made[verdict] = (_GRID, outcome)
        made[f"{prefix}effect"] = (_GRID, sign * effect)
        for name in ("low", "high", "p_value", "q_value"):
            made[f"{prefix}{name}"] = (_GRID, np.full(effect.shape, np.nan))
        made[f"{prefix}tasks"] = (_GRID, tasks)
        made[f"{prefix}size"] = (made[verdict] == 1).sum(("layer", "head"))
    made["n_tasks"] = ("category", [len(own) for own in rows.values()])
    made["min_tasks"] = ("category", [min(1, len(own)) for own in rows.values()])
    made["n_items"] = ("category", [min(relations["n"].values[own].tolist(), default=0) for own in rows.values()])
    said = repr(threshold) if isinstance(threshold, str) else f"{threshold:g}"
    return made.assign_attrs(relations.attrs | {"rule": f"relation_members(threshold={said})"})


def _judged(
    relations: xr.Dataset, score: str, rows: dict[str, np.ndarray], threshold: str | float | int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcome, largest score and relations that reach the threshold, `[category, layer, head]`."""
    prefix = "" if score == "score" else "suppression_"
    values = relations[score].values
    least = relations[f"{prefix}threshold"].values if threshold == CALIBRATED else np.full(len(values), threshold)
    reached = values >= least[:, None, None]
    shape = (len(rows), *values.shape[1:])
    outcome, effect, tasks = np.zeros(shape, dtype=np.int8), np.full(shape, np.nan), np.full(shape, "", dtype=object)
    for place, own in enumerate(rows.values()):
        if not len(own):
            continue
        known = ~np.isnan(values[own]).any(axis=0)
        outcome[place] = np.where(known, np.where(reached[own].any(axis=0), 1, -1), 0)
        effect[place] = np.where(known, values[own].max(axis=0), np.nan)
        for task in own:
            name = str(relations["task"].values[task])
            tasks[place][reached[task]] = [f"{text},{name}".lstrip(",") for text in tasks[place][reached[task]]]
    return outcome, effect, tasks.astype(str)


def _check(relations: xr.Dataset, threshold: str | float | int) -> None:
    if isinstance(threshold, str):
        if threshold != CALIBRATED:
            raise OptionError(f"threshold must be {CALIBRATED!r} or a number in (0, 1]; got {threshold!r}.")
    elif isinstance(threshold, bool) or not isinstance(threshold, numbers.Real) or not 0 < threshold <= 1:
        raise OptionError(f"threshold must be {CALIBRATED!r} or a number in (0, 1]; got {threshold!r}.")
    refuse_results(
        relations,
        by="hc.categories.relation_members",
        expected="`score` over (relation, layer, head)",
        table='hc.suite_blocks(results)["<method>"]',
    )
    lacking = [name for name in _NEEDED if not isinstance(relations, xr.Dataset) or name not in relations]
    if lacking:
        raise DataError(
            f"hc.categories.relation_members takes the relations of a joint method, or its block of a study; "
            f"this has no {', '.join(lacking)}."
        )
    if "categories" not in relations.attrs:
        raise DataError("These relations have no categories: call the method with categories={name: category, ...}.")


def _warn(rows: dict[str, np.ndarray]) -> None:
    for named, problem in (
        (
            [f"{name} ({len(own)} relations)" for name, own in rows.items() if len(own) > 1],
            "One relation makes a head a member of its category: an OR over many relations saturates",
        ),
        (
            [name for name, own in rows.items() if not len(own)],
            "Categories without any relation that was scored stay empty, nothing is known of their heads",
        ),
    ):
        if named:
            warnings.warn(f"{problem}: {', '.join(named)}.", StatisticsWarning, stacklevel=3)
