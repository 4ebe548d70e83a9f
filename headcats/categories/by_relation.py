"""Categories of heads from the relations that their weights implement."""

import json
import numbers

import numpy as np
import xarray as xr

from headcats.categories.membership import joined_names, warn_of
from headcats.errors import DataError, OptionError
from headcats.results.head_axes import head_coords
from headcats.results.run_results import refuse_results

CALIBRATED = "calibrated"
_GRID = ("category", "layer", "head")
_NEEDED = ("score", "suppression", "threshold", "suppression_threshold", "n")


def relation_members(relations: xr.Dataset, *, threshold: str | float | int = CALIBRATED) -> xr.Dataset:
    """Categories of heads by their weights: a head is in a category if it implements at least one of its relations.

    A head implements a relation if its score reaches the threshold; it suppresses one if its suppression does. "At
    least one" is the paper's rule; with many relations in a category it saturates. Nothing is sampled (all pairs of a
    relation count), so there are no intervals and no p values.

    Args:
        relations: What `ov_relation` returned, with categories: of a study, or called with `categories=...`.
        threshold: "calibrated": the larger of the preset's threshold (.15) and the 99.9th percentile of the
            permuted-target null, per relation. Or a number in (0, 1] for all; 0.15 is the paper's.

    Returns:
        Memberships as from `hc.categorize`, for `hc.overlap`, `hc.categories.head_table` and the figures: `member` and
        `suppressing (category, layer, head)`, 1 in, -1 out, 0 where a category has no relation or a layer no such head;
        `effect`: largest score over the relations (not a share of a gap), `suppressing_effect`: largest suppression,
        negative; `tasks` and `suppressing_tasks`: relations that reach the threshold; `low, high, p_value, q_value`
        NaN; per category `n_tasks, min_tasks` (1), `n_items` (pairs of its smallest relation), `size,
        suppressing_size`. Attribute `rule`.

    Raises:
        DataError: Data of another kind, or relations without categories.
        OptionError: A threshold that is neither "calibrated" nor a number in (0, 1].

    Warns:
        StatisticsWarning: Categories with several relations, or with none.

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
    several = "One relation makes a head a member of its category: an OR over many relations saturates"
    empty = "Categories without any scored relation stay empty, nothing is known of their heads"
    warn_of(
        {
            several: [f"{name} ({len(tasks)} relations)" for name, tasks in rows.items() if len(tasks) > 1],
            empty: [name for name, tasks in rows.items() if not len(tasks)],
        }
    )
    members = xr.Dataset(coords={"category": order, **head_coords(relations)})
    for score, verdict, prefix in (("score", "member", ""), ("suppression", "suppressing", "suppressing_")):
        outcome, effect, tasks = _outcomes(relations, score, rows, threshold)
        members[verdict] = (_GRID, outcome)
        members[f"{prefix}effect"] = (_GRID, -effect if prefix else effect)
        for name in ("low", "high", "p_value", "q_value"):
            members[f"{prefix}{name}"] = (_GRID, np.full(effect.shape, np.nan))
        members[f"{prefix}tasks"] = (_GRID, tasks)
        members[f"{prefix}size"] = (members[verdict] == 1).sum(("layer", "head"))
    n_tasks = np.array([len(tasks) for tasks in rows.values()])
    members["n_tasks"] = ("category", n_tasks)
    members["min_tasks"] = ("category", np.minimum(n_tasks, 1))
    n_items = [min(relations["n"].values[tasks].tolist(), default=0) for tasks in rows.values()]
    members["n_items"] = ("category", n_items)
    text = repr(threshold) if isinstance(threshold, str) else f"{threshold:g}"
    return members.assign_attrs(relations.attrs | {"rule": f"relation_members(threshold={text})"})


def _outcomes(
    relations: xr.Dataset, score: str, rows: dict[str, np.ndarray], threshold: str | float | int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcome, largest score and relations that reach the threshold, `[category, layer, head]`."""
    prefix = "" if score == "score" else "suppression_"
    values = relations[score].values
    least = relations[f"{prefix}threshold"].values if threshold == CALIBRATED else np.full(len(values), threshold)
    reached = values >= least[:, None, None]
    shape = (len(rows), *values.shape[1:])
    outcome, effect, tasks = np.zeros(shape, dtype=np.int8), np.full(shape, np.nan), np.full(shape, "", dtype=object)
    for place, tasks_of_category in enumerate(rows.values()):
        if not len(tasks_of_category):
            continue
        exists = ~np.isnan(values[tasks_of_category]).any(axis=0)
        outcome[place] = np.where(exists, np.where(reached[tasks_of_category].any(axis=0), 1, -1), 0)
        effect[place] = np.where(exists, values[tasks_of_category].max(axis=0), np.nan)
        tasks[place] = joined_names(reached[tasks_of_category], relations["task"].values[tasks_of_category])
    return outcome, effect, tasks.astype(str)


def _check(relations: xr.Dataset, threshold: str | float | int) -> None:
    number = isinstance(threshold, numbers.Real) and not isinstance(threshold, bool) and 0 < threshold <= 1
    if not number and threshold != CALIBRATED:
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
