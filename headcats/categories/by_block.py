"""Categories of heads from the block of a joint method: weights, gates, probes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int, Int8, Shaped

from headcats.base.errors import DataError, OptionError
from headcats.categories.judging import ROWS, check_min_tasks, joined_names, needed_of, warn_of
from headcats.results.categories import coloured
from headcats.results.declaration import Selection, declaration_of, registered_declarations
from headcats.results.head_axes import head_coords
from headcats.rules.rule import Rule, parse_rule

THRESHOLDS = "calibrated threshold of each relation"
"""Name of the rule that takes the threshold of each task, which is above those of its null."""
_NO_TEST = ("low", "high", "p_value", "q_value")


def is_joint_block(table: Any) -> bool:
    """True for the block of a joint method."""
    return isinstance(table, xr.Dataset) and "member" not in table and declaration_of(table).kind == "joint"


def members_of(
    block: xr.Dataset, selection: Selection, *, rule: Rule | None, min_tasks: int | str | None
) -> xr.Dataset:
    """Memberships of a block that has been checked, as `hc.categorize` returns them."""
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
    signs = ((selection.variable, "member", ""), (selection.suppressing, "suppressing", "suppressing_"))
    for variable, outcome_name, prefix in signs:
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


def checked_selection(block: xr.Dataset) -> Selection:
    """Selection by which a block sorts heads; a DataError for other blocks, and for numbers that mean nothing."""
    by = "hc.categorize"
    declared = declaration_of(block)
    selection = declared.selection
    if selection is None:
        sorting = ", ".join(name for name, about in registered_declarations().items() if about.selection)
        raise DataError(
            f"{by} takes the block of a joint method that sorts heads ({sorting}); got "
            f"{f'one of {declared.name}' if declared.name else 'a table without the attribute `method`'}."
        )
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


def _needed(places: Mapping[str, Any], min_tasks: int | str | None, selection: Selection) -> dict[str, int]:
    """Category -> tasks that a head has to pass in, at least one."""
    min_tasks = 1 if min_tasks is None else min_tasks
    check_min_tasks(min_tasks)
    largest = max(map(len, places.values()))
    if isinstance(min_tasks, int) and min_tasks > largest:
        rows = "relations" if selection.over == "task" else "row, which its seeds are reduced to"
        raise OptionError(f"min_tasks={min_tasks}, but no category has more than {largest} {rows}.")
    return {name: max(1, needed_of(len(tasks), min_tasks)) for name, tasks in places.items()}


def _categories(block: xr.Dataset, selection: Selection) -> list[dict[str, str]]:
    """Categories with their colours, in order: those of the suite, or the groups of the block."""
    if "categories" in block.attrs:
        text = str(block.attrs["categories"])
        try:
            return [{**entry, "name": str(entry["name"])} for entry in json.loads(text)]
        except (ValueError, TypeError, KeyError):
            raise DataError(
                f"The attribute `categories` must be a JSON list of names with colours; got {text[:60]!r}."
            ) from None
    groups = [str(name) for name in dict.fromkeys(block[selection.group].values.tolist())]
    if not any(groups):
        raise DataError("These relations have no categories: call the method with categories={name: category, ...}.")
    colours = {each.name.casefold(): each.colour for each in coloured(groups)}
    return [{"name": name, "colour": colours[name.casefold()]} for name in groups]
