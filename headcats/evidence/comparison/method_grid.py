"""What every method of some results says of every head, on one grid: method x group x layer x head."""

import json
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from headcats.categories.argument_checks import RESULTS, check_is
from headcats.errors import DataError, StatisticsWarning, UnknownNameError
from headcats.registry import unknown_name_message
from headcats.results.declaration import Strength, declaration_of
from headcats.results.label import Label
from headcats.results.tree import declarations, scored_labels, suite_blocks, task_nodes
from headcats.scores.scoring import score

_DIMS = ("group", "layer", "head")


class _Found(NamedTuple):
    """One method's strengths, and how they came about."""

    strength: xr.DataArray
    """`(group, layer, head)`."""
    n: xr.DataArray
    """`(group)`: tasks, relations or seeds behind the numbers."""
    kind: str
    reduction: str
    metric: str = ""


def method_scores(
    results: xr.DataTree,
    *,
    methods: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    metric: str | None = None,
) -> xr.Dataset:
    """One strength per method, group and head; groups are the categories of the tasks, or the functions of a suite.

    | method | strength of a head in a group |
    |---|---|
    | causal methods | mean over the group's tasks of the effect, in shares of the gap; signed, positive = helps |
    | `function_vector_patch` | mean over the group's tasks of the raw effect, in `prob` where the results hold it |
    | `ov_relation` | the largest score of the group's relations, in [0, 1] |
    | `head_gating` | facilitation, mean over seeds, in [0, 1] |
    | `function_probe` | mean over seeds of the absolute importance, in units of the class logit |

    The units differ, so only the order of heads within a method can be compared. Tasks without a clear gap have no
    effect and do not count. A largest score grows with the number of relations.

    Args:
        results: As `hc.load` returns them.
        methods: Names (`ov_relation`, `denoising_patch`, `mean_ablation@all`), in the order wanted; None takes all but
            controls and approximations.
        groups: Groups in the order wanted; None takes all.
        metric: Metric of the causal methods; None takes the study's first.

    Returns:
        `strength (method, group, layer, head)`, NaN where a method says nothing of a group or head; `n (method, group)`
        tasks, relations or seeds behind it, 0 where there is none. Coordinates along `method`: `kind` ("causal",
        "weights", "gates", "probe"), `reduction` (how the number came about) and `metric`. Select with
        `.sel({"method": name})`: xarray has an option `method` of its own. Attributes `left_out` (JSON, method -> why
        it is not here), `categories` (JSON, names and colours) and `sign`.

    Raises:
        UnknownNameError: A method, group or metric that the results do not hold.
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
    causal, suite = [str(label) for label in scored_labels(results)], suite_blocks(results)
    known = [*causal, *suite]
    found: dict[str, _Found] = {}
    left_out: dict[str, str] = {}
    for label in known if methods is None else _chosen(methods, known):
        try:
            if why := _unasked(results, label) if methods is None and label in causal else "":
                left_out[label] = why
            elif label in causal:
                found[label] = _causal(results, label, metric)
            else:
                found[label] = _suite_method(label, suite[label])
        except DataError as problem:
            left_out[label] = str(problem)
    if not found:
        listed = "".join(f"\n- {label}: {why}" for label, why in left_out.items())
        raise DataError(f"No method of these results says how much a head matters:{listed or ' nothing is scored.'}")
    _check_same_heads(found)
    names = _group_names(results, found)
    if groups is not None:
        for group in groups:
            if group not in names:
                raise UnknownNameError(unknown_name_message("group of these results", group, names))
        names = list(groups)
    table = xr.Dataset(
        {
            "strength": xr.concat(
                [one.strength.reindex(group=names) for one in found.values()], "method", join="exact"
            ),
            "n": xr.concat(
                [one.n.reindex(group=names, fill_value=0) for one in found.values()], "method", join="exact"
            ),
        }
    )
    return table.assign_coords(
        method=list(found),
        kind=("method", [one.kind for one in found.values()]),
        reduction=("method", [one.reduction for one in found.values()]),
        metric=("method", [one.metric for one in found.values()]),
    ).assign_attrs(
        categories=str(results.attrs.get("categories", "[]")),
        left_out=json.dumps(left_out, ensure_ascii=False),
        sign="positive strength = the head helps, or serves the group",
    )


def _chosen(methods: Sequence[str], known: list[str]) -> list[str]:
    chosen: dict[str, None] = {}
    for name in methods:
        labels = [label for label in known if name in (label, Label.parse(label).method)]
        if not labels:
            choices = dict.fromkeys([*(Label.parse(label).method for label in known), *known])
            raise UnknownNameError(unknown_name_message("method of these results", name, list(choices)))
        chosen |= dict.fromkeys(labels)
    return list(chosen)


def _unasked(results: xr.DataTree, label: str) -> str:
    """Why a method is not compared unless it is named."""
    if declarations(results)[label].control_of:
        return "a control: it says what an effect is made of, not which heads serve a task"
    blocks = (node[label] for node in task_nodes(results).values() if label in node.children)
    if any(block.attrs.get("approximation") for block in blocks):
        return "an approximation: estimates, no patched effects; name the method to compare it"
    return ""


def _causal(results: xr.DataTree, label: str, metric: str | None) -> _Found:
    method = Label.parse(label)
    held = next(node[label] for node in task_nodes(results).values() if label in node.children)
    measured = [str(name) for name in held.coords["metric"].values] if "metric" in held.coords else []
    strength = declarations(results)[label].strength or Strength()
    chosen = strength.metric if strength.metric in measured else metric or next(iter(measured), "logit_diff")
    with warnings.catch_warnings():
        # Tasks without a block or a gap are counted in `n`; no p is read here, so few sign draws will do.
        warnings.simplefilter("ignore", StatisticsWarning)
        scores = score(results, method=method.method, metric=chosen, positions=method.positions, alpha=0.99)
    values = scores[strength.variable]
    grouped = values.groupby("category")
    counted = values.notnull().any(("layer", "head")).astype(np.int64).groupby("category").sum()
    if not counted.any():
        raise DataError(f"no task has a clear gap in {chosen!r}, so no effect is known")
    n = counted.rename(category="group")
    return _Found(_grid(grouped.mean(), "category"), n, strength.kind, strength.text, chosen)


def _suite_method(label: str, block: xr.Dataset) -> _Found:
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
    return _Found(_grid(reduced, group), n.rename({group: "group"}), strength.kind, strength.text)


def _grid(values: xr.DataArray, group: str) -> xr.DataArray:
    plain = values.rename({group: "group"}).transpose(*_DIMS).reset_coords(drop=True)
    return plain.astype(np.float64)


def _check_same_heads(found: dict[str, _Found]) -> None:
    (first, expected), *others = found.items()
    for label, one in others:
        for axis in ("layer", "head"):
            mine, theirs = (grid.strength[axis].values.tolist() for grid in (expected, one))
            if mine != theirs:
                raise DataError(
                    f"{first} and {label} have different {axis}s ({len(mine)} and {len(theirs)}): they are of "
                    "different models, and their heads cannot be compared."
                )


def _group_names(results: xr.DataTree, found: dict[str, _Found]) -> list[str]:
    """Groups that some method knows, in the order of the categories, then of the methods."""
    held = dict.fromkeys(str(group) for one in found.values() for group in one.strength["group"].values)
    listed = [str(entry["name"]) for entry in json.loads(results.attrs.get("categories", "[]"))]
    return [*(name for name in listed if name in held), *(name for name in held if name not in listed)]
