"""Categories of heads from the block of a joint method: weights, gates, probes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int, Int8, Shaped

from headcats.base.errors import DataError, OptionError
from headcats.categories.argument_checks import check_rule, described
from headcats.categories.judging import ROWS, half_of
from headcats.categories.membership import joined_names, warn_of
from headcats.results.categories import coloured
from headcats.results.declaration import Selection, declaration_of, registered_declarations
from headcats.results.head_axes import head_coords
from headcats.results.run_results import refuse_results
from headcats.rules.rule import Rule, parse_rule

THRESHOLDS = "calibrated threshold of each relation"
"""What the rule is called that takes the threshold of each task, which is above those of its null."""
_NO_TEST = ("low", "high", "p_value", "q_value")


def block_members(block: xr.Dataset, *, rule: Rule | None = None, min_tasks: int | str | None = None) -> xr.Dataset:
    """Categories of heads by a joint method: by their weights, gates or probes.

    Relations are the tasks of their categories: a head is in a category if it passes in at least `min_tasks` of its
    relations. Data sets of gates and functions of a probe are categories themselves: their seeds are reduced first, to
    the least facilitation (a head is in if it facilitates always) and the mean absolute importance. Nothing here is
    tested: there are no intervals and no p values, and a rule such as the elbow returns heads even for noise.

    Args:
        block: What a joint method returned, or its block of a study (`hc.suite_blocks`).
        rule: A rule that reads effects alone; None is the method's own: the threshold that its block gives for each
            task, or `Selection.rule`.
        min_tasks: Relations of a category that a head has to pass in, or "half" of them; None is one, the paper's rule,
            which saturates where there are many. Other blocks have one row per category.

    Returns:
        Memberships as from `hc.categorize`, for `hc.overlap`, `hc.categories.head_table` and the figures: `member` and
        `suppressing (category, layer, head)`, 1 in, -1 out, 0 where nothing is known (heads that a layer lacks,
        categories without a task, and of `suppressing` all, where the method has no opposite: importance is absolute);
        `effect` and, negative, `suppressing_effect`: the `min_tasks`-th largest score of the category's tasks, in the
        block's own unit, not a share of a gap; `tasks` and `suppressing_tasks` that pass on their own; `low, high,
        p_value, q_value` NaN; per category `n_tasks, min_tasks, n_items` (pairs of its smallest relation, or texts),
        `size, suppressing_size`. Attributes of the block, `rule`, `categories`, and `measure`, what `effect` is.

    Raises:
        DataError: No block of a method that sorts heads, relations without categories, or numbers that mean nothing
            (the attribute `verdict` of a probe at chance).
        OptionError: A rule that reads more than effects, or `min_tasks` that no category has.

    Warns:
        StatisticsWarning: One relation of several makes a member; categories without numbers, or with fewer relations
            than `min_tasks`.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> always = hc.methods.Selection("gate", "seed", "dataset", reduce="min", rule="threshold:value=0.5")
        >>> declared = hc.methods.Declaration(name="gates", kind="joint", selection=always)
        >>> gate = np.array([[[[0.9, 0.1]], [[0.8, 0.7]]]])  # a data set, two seeds, a layer of two heads
        >>> axes = ("dataset", "seed", "layer", "head")
        >>> block = xr.Dataset({"gate": (axes, gate)}, {"dataset": ["Math"]}, {"declaration": declared.as_text()})
        >>> members = hc.categories.block_members(block)
        >>> members.member.sel(category="Math").values  # the second is open from one start only
        array([[ 1, -1]], dtype=int8)
        >>> hc.overlap(members, draws=10)["set"].values
        array([['Math', '']], dtype='<U4')

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965; Nam et al. (2025), Causal Head Gating, arXiv 2505.13737; Ma et al.
        (2025), Cognitive Mirrors, arXiv 2512.10978.
    """
    selection = checked_selection(block)
    check_rule(rule, by="hc.categories.block_members")
    return members_of(block, selection, rule=rule, min_tasks=min_tasks)


def members_of(
    block: xr.Dataset, selection: Selection, *, rule: Rule | None, min_tasks: int | str | None
) -> xr.Dataset:
    """`block_members` of a block that has been checked."""
    categories = _categories(block, selection)
    rows = _Rows.of(block, selection, [str(entry["name"]) for entry in categories])
    needed = _needed(rows.places, min_tasks, selection)
    if rule is None and not (selection.threshold and selection.threshold in block):
        rule = parse_rule(selection.rule)
    several = "One relation makes a head a member of its category: an OR over many relations saturates"
    empty = "Categories that the block has no numbers of stay empty, nothing is known of their heads"
    counts = {name: len(places) for name, places in rows.places.items()}
    warn_of(
        {
            several: [f"{name} ({n} relations)" for name, n in counts.items() if n > 1 and needed[name] == 1],
            empty: [name for name, n in counts.items() if not n],
            f"Categories with fewer relations than min_tasks={min_tasks} stay undecided": [
                f"{name} ({n})" for name, n in counts.items() if 0 < n < needed[name]
            ],
        },
        above=2,
    )
    members = xr.Dataset(coords={"category": list(rows.places), **head_coords(block)})
    for variable, outcome_name, prefix in ((selection.variable, "member", ""), _suppressing(selection)):
        side = _judged(block, selection, rows, variable, rule=rule, needed=needed)
        members[outcome_name] = (ROWS, side.outcome)
        members[f"{prefix}effect"] = (ROWS, -side.effect if prefix else side.effect)
        for name in _NO_TEST:
            members[f"{prefix}{name}"] = (ROWS, np.full(side.effect.shape, np.nan))
        members[f"{prefix}tasks"] = (ROWS, side.tasks)
        members[f"{prefix}size"] = (members[outcome_name] == 1).sum(("layer", "head"))
    members["n_tasks"] = ("category", list(counts.values()))
    members["min_tasks"] = ("category", [needed[name] if n else 0 for name, n in counts.items()])
    members["n_items"] = ("category", [min(rows.n[places].tolist(), default=0) for places in rows.places.values()])
    text = THRESHOLDS if rule is None else repr(rule)
    listed = json.dumps(categories, ensure_ascii=False)
    return members.assign_attrs(block.attrs | {"rule": text, "categories": listed, "measure": selection.text})


def checked_selection(block: Any, *, by: str = "hc.categories.block_members") -> Selection:
    """Selection by which a block sorts heads; a DataError for another table, and for numbers that mean nothing."""
    refuse_results(
        block,
        by=by,
        expected="the numbers of a joint method over layers and heads",
        table='hc.suite_blocks(results)["<method>"]',
    )
    sorting = ", ".join(name for name, about in registered_declarations().items() if about.selection)
    if not isinstance(block, xr.Dataset):
        raise DataError(f"{by} takes the block of a joint method that sorts heads ({sorting}); got {described(block)}.")
    declared = declaration_of(block)
    selection = declared.selection
    if selection is None:
        method = declared.name or "a table without the attribute `method`"
        raise DataError(f"{by} takes the block of a joint method that sorts heads ({sorting}); got {method}.")
    wanted = [selection.variable, *filter(None, (selection.suppressing,))]
    dims = {_row_dim(selection), *({"seed"} if selection.over == "seed" else ()), "layer", "head"}
    if lacking := [name for name in wanted if name not in block or set(block[name].dims) != dims]:
        raise DataError(
            f"{by} reads {' and '.join(wanted)} over {', '.join(sorted(dims))} of a block of {declared.name}; "
            f"{lacking[0]} is missing or has other dims."
        )
    if 0 in block[selection.variable].shape:
        raise DataError(f"{by}: this block of {declared.name} is empty, {dict(block[selection.variable].sizes)}.")
    if declared.strength and block.attrs.get("verdict", "") in declared.strength.void:
        raise DataError(
            f"The numbers of this block of {declared.name} mean nothing, so no head can be chosen by them: "
            f"{block.attrs['verdict']}."
        )
    return selection


class _Rows(NamedTuple):
    """Tasks, or rows that are categories themselves, and which of them each category has."""

    names: Shaped[np.ndarray, " row"]
    n: Int[np.ndarray, " row"]
    places: Mapping[str, Int[np.ndarray, " _place"]]

    @classmethod
    def of(cls, block: xr.Dataset, selection: Selection, order: Sequence[str]) -> "_Rows":
        groups = block[selection.group].values.astype(str)
        if missing := sorted(set(groups.tolist()) - set(order)):
            raise DataError(f"The attribute `categories` does not list {', '.join(map(repr, missing))}.")
        dim = _row_dim(selection)
        n = block["n"].values if "n" in block and block["n"].dims == (dim,) else np.zeros(len(groups))
        names = block[dim].values.astype(str)
        return cls(names, n.astype(np.int64), {name: np.flatnonzero(groups == name) for name in order})


class _Side(NamedTuple):
    """Heads that pass, of one sign."""

    outcome: Int8[np.ndarray, "category layer head"]
    effect: Float[np.ndarray, "category layer head"]
    tasks: Shaped[np.ndarray, "category layer head"]


def _judged(
    block: xr.Dataset, selection: Selection, rows: _Rows, variable: str, *, rule: Rule | None, needed: Mapping[str, int]
) -> _Side:
    """Outcome, score and passing tasks of every category and head; without a variable, nothing is known."""
    if not variable:
        shape = (len(rows.places), block.sizes["layer"], block.sizes["head"])
        return _Side(np.zeros(shape, np.int8), np.full(shape, np.nan), np.full(shape, ""))
    values = _reduced(block[variable], selection).transpose(_row_dim(selection), "layer", "head").values
    if rule is None:
        prefix = "" if variable == selection.variable else f"{selection.suppressing}_"
        passed = values >= block[f"{prefix}{selection.threshold}"].values[:, None, None]
    else:
        passed = _passing(values, rule, block)
    outcome, effect, tasks = [], [], []
    for name, places in rows.places.items():
        of_category, r = values[places], needed[name]
        if len(places) < r:
            of_category = np.full((r, *values.shape[1:]), np.nan)
        exists = ~np.isnan(of_category).any(axis=0)
        largest = np.where(exists, -np.sort(-of_category, axis=0)[r - 1], np.nan)
        # By a rule, the category's own number is judged, as `hc.categorize` does; thresholds differ between tasks.
        inside = passed[places].sum(axis=0) >= r if rule is None else _passing(largest[None], rule, block)[0]
        outcome.append(np.where(exists, np.where(inside, 1, -1), 0))
        effect.append(largest)
        tasks.append(joined_names(passed[places], rows.names[places]))
    return _Side(np.stack(outcome).astype(np.int8), np.stack(effect), np.stack(tasks))


def _passing(values: Float[np.ndarray, "row layer head"], rule: Rule, block: xr.Dataset) -> Bool[np.ndarray, "..."]:
    table = xr.Dataset({"effect": (ROWS, values)})
    try:
        return np.asarray(rule(table).values == 1)
    except (KeyError, DataError) as problem:
        raise OptionError(
            f"{rule.name} reads more than one number per head, and that is all that "
            f"{block.attrs.get('method', 'this block')} has: take threshold, top_fraction, sd_above_mean or elbow."
        ) from problem


def _reduced(values: xr.DataArray, selection: Selection) -> xr.DataArray:
    """Without the dim of seeds, of which those that were not fitted are left out."""
    if selection.over == "task":
        return values
    if selection.reduce == "mean_abs":
        return abs(values).mean("seed")
    reduced: xr.DataArray = getattr(values, selection.reduce)("seed")
    return reduced


def _row_dim(selection: Selection) -> str:
    return "task" if selection.over == "task" else selection.group


def _suppressing(selection: Selection) -> tuple[str, str, str]:
    return selection.suppressing, "suppressing", "suppressing_"


def _needed(places: Mapping[str, Any], min_tasks: int | str | None, selection: Selection) -> dict[str, int]:
    """Category -> tasks that a head has to pass in, at least one."""
    whole = isinstance(min_tasks, int) and not isinstance(min_tasks, bool) and min_tasks >= 1
    if min_tasks not in (None, "half") and not whole:
        raise OptionError(f'min_tasks must be a whole number of at least 1, or "half"; got {min_tasks!r}.')
    largest = max(map(len, places.values()))
    if whole and int(min_tasks) > largest:  # type: ignore[arg-type]
        rows = "relations" if selection.over == "task" else "row, which its seeds are reduced to"
        raise OptionError(f"min_tasks={min_tasks}, but no category has more than {largest} {rows}.")
    if min_tasks == "half":
        return {name: max(1, half_of(len(tasks))) for name, tasks in places.items()}
    return dict.fromkeys(places, 1 if min_tasks is None else int(min_tasks))


def listed_categories(table: xr.Dataset) -> list[dict[str, str]]:
    """The attribute `categories`: names with their colours; a DataError for another text."""
    text = str(table.attrs["categories"])
    try:
        return [{**entry, "name": str(entry["name"])} for entry in json.loads(text)]
    except (ValueError, TypeError, KeyError):
        raise DataError(
            f"The attribute `categories` must be a JSON list of names with colours; got {text[:60]!r}."
        ) from None


def _categories(block: xr.Dataset, selection: Selection) -> list[dict[str, str]]:
    """Categories with their colours, in order: those of the suite, or the groups of the block."""
    groups = [str(name) for name in dict.fromkeys(block[selection.group].values.tolist())]
    if "categories" in block.attrs:
        return listed_categories(block)
    if not any(groups):
        raise DataError("These relations have no categories: call the method with categories={name: category, ...}.")
    colours = {each.name.casefold(): each.colour for each in coloured(groups)}
    return [{"name": name, "colour": colours[name.casefold()]} for name in groups]
