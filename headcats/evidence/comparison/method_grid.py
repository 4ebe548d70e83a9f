"""What every method of some results says of every head, on one grid: method x group x layer x head."""

import itertools
import json
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, StatisticsWarning, UnknownNameError, unknown_name_message
from headcats.categories.argument_checks import RESULTS, check_is, check_same_heads
from headcats.results.declaration import Strength, declaration_of
from headcats.results.head_axes import HEAD, KV_GROUP, kv_head_of, unit_attrs
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.scores.scoring import score

_DIMS = ("group", "layer", "head")
IS_CONTROL = "a control: it says what an effect is made of, not which heads serve a task"


class _MethodGrid(NamedTuple):
    """One method's `strength (group, layer, head)`, from `n (group)` tasks, relations or seeds."""

    strength: xr.DataArray
    n: xr.DataArray
    kind: str
    reduction: str
    kv_head: dict[str, xr.Variable]
    metric: str = ""


def method_scores(
    results: xr.DataTree, *, methods: Sequence[str] | None = None, metric: str | None = None
) -> xr.Dataset:
    """One strength per method, group and head; groups are the categories of the tasks, or the functions of a suite.

    | method | strength of a head in a group |
    |---|---|
    | causal methods | mean over the group's tasks of the effect, in shares of the gap; signed, positive = helps |
    | others | as `hc.methods.<name>.declaration.strength` says: a mean over seeds, a largest score of several |

    The units differ, so only the order of heads within a method can be compared. Tasks without a clear gap do not
    count. A largest score grows with the number of relations.

    Args:
        results: As `hc.load` returns them.
        methods: Names (`denoising_patch`, `mean_ablation@all`), in the order wanted; None takes all but controls and
            approximations.
        metric: Metric of the causal methods; None takes the study's first.

    Returns:
        `strength (method, group, layer, head)`, NaN where a method says nothing of a group or head; `n (method, group)`
        tasks, relations or seeds behind it. Coordinates along `method`: `kind` ("causal", "weights", "gates", "probe"),
        `reduction` (how the number came about) and `metric`. Select with `.sel({"method": name})`: xarray has an option
        `method` of its own. Attributes `left_out` (JSON, method -> why it is not here), `categories` and `sign`.

    Raises:
        UnknownNameError: A method or metric that the results do not hold.
        DataError: Something else than results, no method left, or methods with other layers or heads.

    Example:
        >>> import headcats as hc
        >>> strength = hc.evidence.method_scores(hc.load("results/mini-icl"))
        >>> strength.strength.dims
        ('method', 'group', 'layer', 'head')
        >>> [str(name) for name in strength["method"].values], [str(name) for name in strength.group.values]
        (['denoising_patch@last', 'mean_ablation@all'], ['Algorithmic', 'Knowledge', 'Linguistic', 'Translation'])

    References:
        The methods' own, named in the docstrings of `hc.methods`. To put them on one grid is headcats' own.
    """
    check_is(results, RESULTS, by="hc.evidence.method_scores")
    run = RunResults(results)
    causal, joint = [str(label) for label in run.scored], run.joint_blocks
    unit = _unit([*(label for label in causal if not _unsuitable(run, label)), *joint])
    by_label: dict[str, _MethodGrid] = {}
    left_out: dict[str, str] = {}
    for label in [*causal, *joint] if methods is None else _select(methods, [*causal, *joint]):
        try:
            if methods is None and label in causal and (reason := _unsuitable(run, label, unit)):
                left_out[label] = reason
            elif label in causal:
                by_label[label] = _causal(run, label, metric)
            else:
                by_label[label] = _joint(label, joint[label])
        except DataError as problem:
            left_out[label] = str(problem)
    if not by_label:
        reasons = "".join(f"\n- {label}: {reason}" for label, reason in left_out.items())
        raise DataError(f"No method of these results says how much a head matters:{reasons or ' nothing is scored.'}")
    check_same_heads(
        {name: grid.strength.assign_attrs(unit_attrs(Label.parse(name).unit)) for name, grid in by_label.items()}
    )
    names = _group_names(results, by_label)
    grids = list(by_label.values())
    strengths = [grid.strength.reindex(group=names) for grid in grids]
    counts = [grid.n.reindex(group=names, fill_value=0) for grid in grids]
    return xr.Dataset(
        {"strength": xr.concat(strengths, "method", join="exact"), "n": xr.concat(counts, "method", join="exact")},
        {"method": list(by_label)}
        | {name: ("method", [getattr(grid, name) for grid in grids]) for name in ("kind", "reduction", "metric")}
        | next((grid.kv_head for grid in grids if grid.kv_head), {}),
    ).assign_attrs(
        unit_attrs(Label.parse(next(iter(by_label))).unit),
        categories=str(results.attrs.get("categories", "[]")),
        left_out=json.dumps(left_out, ensure_ascii=False),
        sign="positive strength = the head helps, or serves the group",
    )


def _select(methods: Sequence[str], labels: list[str]) -> list[str]:
    """The labels of the named methods, once each, in the order of the names."""
    by_name = {name: [label for label in labels if name in (label, Label.parse(label).method)] for name in methods}
    for name, matches in by_name.items():
        if not matches:
            choices = dict.fromkeys([*(Label.parse(label).method for label in labels), *labels])
            raise UnknownNameError(unknown_name_message("method of these results", name, list(choices)))
    return list(dict.fromkeys(itertools.chain(*by_name.values())))


def _unit(labels: Sequence[str]) -> str:
    """Unit that methods are compared by: single heads, unless all of them score groups."""
    units = {Label.parse(label).unit for label in labels}
    return KV_GROUP if units == {KV_GROUP} else HEAD


def _unsuitable(run: RunResults, label: str, unit: str = "") -> str:
    """Why a method is not compared unless it is named, with others that score a `unit`."""
    if run.declarations[label].control_of:
        return IS_CONTROL
    if run.approximation(Label.parse(label)):
        return "an approximation: estimates, no patched effects; name the method to compare it"
    if unit and Label.parse(label).unit != unit:
        return "its effects are of groups of heads that share keys and values, those of the others of single heads"
    return ""


def _causal(run: RunResults, label: str, metric: str | None) -> _MethodGrid:
    method = Label.parse(label)
    block = next(run.block(task, label) for task, labels in run.tasks.items() if label in labels)
    measured = [str(name) for name in block.coords["metric"].values] if "metric" in block.coords else []
    strength = run.declarations[label].strength or Strength()
    metric = strength.metric if strength.metric in measured else metric or next(iter(measured), "logit_diff")
    with warnings.catch_warnings():
        # Tasks without a block or a gap are counted in `n`.
        warnings.simplefilter("ignore", StatisticsWarning)
        scores = score(run, method=method.method, metric=metric, positions=method.positions)
    values = scores[strength.variable]
    grouped = values.groupby("category")
    counted = values.notnull().any(("layer", "head")).astype(np.int64).groupby("category").sum()
    if not counted.any():
        raise DataError(f"no task has a clear gap in {metric!r}, so no effect is known")
    n = counted.rename(category="group")
    kv_head = kv_head_of([scores])
    return _MethodGrid(_grid(grouped.mean(), "category"), n, strength.kind, strength.text, kv_head, metric)


def _joint(label: str, block: xr.Dataset) -> _MethodGrid:
    strength = declaration_of(block, name=Label.parse(label).name).strength
    if strength is None:
        raise DataError("it has no number per head that could be compared")
    over, group = strength.over, strength.group
    values = block.get(strength.variable)
    if values is None or group not in values.coords or not {over, "layer", "head"} <= set(values.dims):
        raise DataError(f"its block has no {strength.variable!r} over {over}, {group}, layer and head")
    if (verdict := block.attrs.get("verdict")) in strength.void:
        raise DataError(f"verdict on its probe: {verdict}, so its {strength.variable} means nothing")
    counted = values.notnull().any(("layer", "head")).astype(np.int64)
    values = abs(values) if strength.reduce == "mean_abs" else values
    if group in values.dims:
        n, reduced = counted.sum(over), values.max(over) if strength.reduce == "max" else values.mean(over)
    else:  # groups of what is reduced, such as tasks of a category
        n, grouped = counted.groupby(group).sum(), values.groupby(group)
        reduced = grouped.max() if strength.reduce == "max" else grouped.mean()
    n = n.rename({group: "group"})
    return _MethodGrid(_grid(reduced, group), n, strength.kind, strength.text, kv_head_of([block]))


def _grid(values: xr.DataArray, group: str) -> xr.DataArray:
    return values.rename({group: "group"}).transpose(*_DIMS).reset_coords(drop=True).astype(np.float64)


def _group_names(results: xr.DataTree, grids: dict[str, _MethodGrid]) -> list[str]:
    """Groups that some method knows, in the order of the categories, then of the methods."""
    groups = dict.fromkeys(str(group) for grid in grids.values() for group in grid.strength["group"].values)
    categories = [str(entry["name"]) for entry in json.loads(results.attrs.get("categories", "[]"))]
    return [*(name for name in categories if name in groups), *(name for name in groups if name not in categories)]
