"""Agreement of memberships of the same heads by several protocols, and of methods on the order of the heads."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy
import xarray as xr
from jaxtyping import Float, Int

from headcats.base.errors import DataError, OptionError
from headcats.categories.argument_checks import check_protocols, check_same_heads
from headcats.results.declaration import approximation_label
from headcats.results.finding import first_names
from headcats.results.head_axes import head_coords
from headcats.statistics.agreement import pairwise, rank_correlation

SIGNS = {"helping": ("member", "effect"), "suppressing": ("suppressing", "suppressing_effect")}
# Parts of a protocol that memberships may name in their attributes.
PARTS = ("method", "positions", "metric", "effect", "rule", "plan")
_DIMS = ("method", "group", "layer", "head")


def agreement(members: Mapping[str, xr.Dataset], *, sign: str = "helping") -> xr.Dataset:
    """Jaccard index and rank correlation between several memberships of the same heads, category by category.

    `jaccard = |A and B| / |A or B|` over the heads that are `in`; undecided heads are in neither. `spearman` is over
    the category effects, so it also sees agreement below the threshold. `expected` is the mean Jaccard index of two
    random sets of the same sizes, drawn from all heads whatever their layer.

    Args:
        members: Name of a protocol -> what `hc.categorize` returns, or `hc.overlap` of that sign; categories are
            matched by name.
        sign: "helping" or "suppressing" heads; the two are never merged.

    Returns:
        `jaccard, expected, spearman, both` (heads in both), `n_heads` (with a number in both) `(category, protocol,
        other)`; `size (category, protocol)`. `jaccard` is NaN where both are empty or one has no numbers in
        the category, `spearman` below 3 heads or where an effect is constant. Coordinates along `protocol`:
        `approximation` ("" where effects are exact), and those of `method, positions, metric, effect, rule, plan` that
        the memberships name (`plan`: JSON, part of the plan -> value).

    Raises:
        OptionError: Another `sign`, or memberships of suppressing heads alone where helping ones are compared.
        DataError: No memberships, memberships of different heads, or no common category.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> methods = ["denoising_patch", "mean_ablation"]
        >>> judged = {name: hc.categorize(hc.score(results, method=name)) for name in methods}
        >>> table = hc.evidence.agreement(judged)
        >>> table.jaccard.dims
        ('category', 'protocol', 'other')
        >>> bool(table.jaccard.max() <= 1)
        True

    References:
        Jaccard (1901), Bull. Soc. Vaud. Sci. Nat. 37, 547-579; Spearman (1904), Am. J. Psychol. 15, 72-101.
    """
    if sign not in SIGNS:
        raise OptionError(f"sign is 'helping' or 'suppressing'; got {sign!r}.")
    check_protocols(members, by="hc.evidence.agreement")
    columns = [_columns(name, table, sign) for name, table in members.items()]
    categories = _common(members)
    by_category = []
    for category in categories:
        tables = [table.sel(category=category).transpose("layer", "head", ...) for table in members.values()]
        inside = [(table[member] == 1).values.ravel() for table, (member, _) in zip(tables, columns, strict=True)]
        effects = [table[effect].values.ravel() for table, (_, effect) in zip(tables, columns, strict=True)]
        compared = pairwise(np.stack(inside), np.stack(effects).astype(np.float64))
        by_category.append(compared | {"size": np.sum(inside, axis=1)})
    names = {"correlation": "spearman"}
    dims = ("category", "protocol", "other")
    grids = {name: np.stack([compared[name] for compared in by_category]) for name in by_category[0]}
    table = xr.Dataset(
        {names.get(name, name): (dims[: grid.ndim], grid) for name, grid in grids.items()},
        coords={"category": categories, "protocol": list(members), "other": list(members)},
        attrs={"sign": sign},
    )
    parts = {part: [str(protocol.attrs.get(part, "")) for protocol in members.values()] for part in PARTS}
    parts = {part: texts for part, texts in parts.items() if any(texts)}
    parts["approximation"] = [approximation_label(protocol) for protocol in members.values()]
    return table.assign_coords({part: ("protocol", texts) for part, texts in parts.items()})


def pairs(agreement: xr.Dataset) -> pd.DataFrame:
    """One row per category and pair of protocols; `differ_in` names the parts of their protocols that are not the same.

    Heads are missing (not 0) where a protocol has no number in the category.
    """
    parts = {part: agreement[part].values for part in PARTS if part in agreement.coords}
    names = [str(name) for name in agreement["protocol"].values]
    rows, numbers = [], ("jaccard", "expected", "spearman", "n_heads")
    for category in agreement["category"].values:
        table = agreement.sel(category=category)
        has_numbers = np.diagonal(table["n_heads"].values) > 0
        sizes = [int(n) if has else None for n, has in zip(table["size"].values, has_numbers, strict=True)]
        for i, j in itertools.combinations(range(len(names)), 2):
            cell = table.isel(protocol=i, other=j)
            differences = (
                difference
                for part, texts in parts.items()
                if texts[i] != texts[j]
                for difference in _differences(part, str(texts[i]), str(texts[j]))
            )
            both = cell["both"].item() if has_numbers[i] and has_numbers[j] else None
            protocols = (str(category), agreement.attrs["sign"], names[i], names[j], ", ".join(differences))
            rows.append((*protocols, sizes[i], sizes[j], both, *(cell[name].item() for name in numbers)))
    columns = ["category", "sign", "first", "second", "differ_in", "heads_first", "heads_second", "both", *numbers]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype(dict.fromkeys(("heads_first", "heads_second", "both"), "Int64"))


def _columns(name: str, table: xr.Dataset, sign: str) -> tuple[str, str]:
    """The variables of a table that hold the members and effects of one sign."""
    if table.attrs.get("sign") != "suppressing":
        return SIGNS[sign]
    if sign != "suppressing":
        raise OptionError(
            f"{name} holds suppressing heads (hc.overlap with sign='suppressing'), not helping ones: pass "
            "sign='suppressing', or what hc.categorize returns."
        )
    # hc.overlap stores them under the names of the helping ones.
    return SIGNS["helping"]


def _differences(part: str, first: str, second: str) -> list[str]:
    """The part of the protocol, or of its plan the parts that differ."""
    if part != "plan":
        return [part]
    # Parts that a plan leaves out are as in the first results.
    plans = _plan(first), _plan(second)
    return sorted(key for key in plans[0] | plans[1] if plans[0].get(key) != plans[1].get(key))


def _plan(text: str) -> dict[str, Any]:
    try:
        stored = json.loads(text or "{}")
    except ValueError:
        stored = text
    return stored if isinstance(stored, dict) else {"plan": stored}


def _common(members: Mapping[str, xr.Dataset]) -> list[str]:
    if not members:
        raise DataError("There is no protocol to compare.")
    check_same_heads(members)
    categories = {name: table["category"].values.astype(str).tolist() for name, table in members.items()}
    first, *others = categories.values()
    common = [category for category in first if all(category in names for names in others)]
    if not common:
        listed = [f"{name} has {first_names(names, 4)}" for name, names in categories.items()]
        raise DataError(
            f"The protocols have no category in common: {first_names(listed, 3, '; ')}. Compare runs of one suite."
        )
    return common


def method_agreement(strength: xr.Dataset) -> xr.Dataset:
    """Rank correlation of the strengths of heads between methods, group by group.

    `rank_correlation` is Spearman's over the heads with a number in both; a head that hurts ranks below one that does
    nothing. Methods that merely favour the same layers agree too: `layer_correlation` is what is left when every head
    has the mean rank of its layer. Heads are no sample and depend on each other, so there is neither an interval nor a
    p. Agreement makes neither method right, and a head low in one is not shown to be unused.

    Args:
        strength: What `hc.evidence.method_scores` returns: `strength (method, group, layer, head)`.

    Returns:
        `rank_correlation, layer_correlation, n_heads (group, method, other)`: NaN where a method has no number in the
        group or is constant there. Coordinates and attributes of `strength`.

    Raises:
        DataError: No strengths, or fewer than two methods.

    Example:
        >>> import headcats as hc
        >>> agreement = hc.evidence.method_agreement(hc.evidence.method_scores(hc.load("results/mini-icl")))
        >>> agreement.rank_correlation.dims
        ('group', 'method', 'other')
        >>> bool((abs(agreement.rank_correlation) <= 1.0001).all())
        True

    References:
        Spearman (1904), Am. J. Psychol. 15, 72-101.
    """
    values, layer_of = _checked(strength)
    methods, groups = (strength[axis].values for axis in ("method", "group"))
    cells = np.array([[[_compared(a, b, layer_of) for b in rows] for a in rows] for rows in values])
    names = ("rank_correlation", "layer_correlation", "n_heads")
    table = xr.Dataset(
        {name: (("group", "method", "other"), cells[..., place]) for place, name in enumerate(names)},
        coords={"group": groups, "method": methods, "other": methods, **head_coords(strength)},
        attrs=strength.attrs,
    )
    along = [name for name in strength.coords if name != "method" and strength[name].dims == ("method",)]
    return table.assign(n_heads=table["n_heads"].astype(int)).assign_coords({name: strength[name] for name in along})


def _checked(strength: xr.Dataset) -> tuple[Float[np.ndarray, "group method place"], Int[np.ndarray, " place"]]:
    """Strengths by layer x head, and the layer of every place."""
    if not isinstance(strength, xr.Dataset) or set(getattr(strength.get("strength"), "dims", ())) != set(_DIMS):
        raise DataError(
            f"hc.evidence.method_agreement takes a Dataset with `strength` over {', '.join(_DIMS)}; got a "
            f"{type(strength).__name__}. Pass hc.evidence.method_scores(results)."
        )
    values = strength["strength"].transpose("group", "method", "layer", "head")
    if values.sizes["method"] < 2:
        raise DataError(
            f"Agreement needs at least two methods; there is {', '.join(map(str, values['method'].values)) or 'none'}. "
            "Run another method on the same model, into the same results."
        )
    layer_of = np.repeat(np.arange(values.sizes["layer"]), values.sizes["head"])
    return values.values.reshape(*values.shape[:2], -1).astype(np.float64), layer_of


def _compared(
    first: Float[np.ndarray, " place"], second: Float[np.ndarray, " place"], layer: Int[np.ndarray, " place"]
) -> tuple[float, float, int]:
    """Rank correlation, its mean over all orders of the heads within each layer, and the heads it is over."""
    both = np.isfinite(first) & np.isfinite(second)
    n, correlation = int(both.sum()), rank_correlation(first[both], second[both])
    if np.isnan(correlation):
        return correlation, correlation, n
    ranks = [scipy.stats.rankdata(values[both]) - (n + 1) / 2 for values in (first, second)]
    of_first, of_second = (np.bincount(layer[both], weights=values) for values in ranks)
    shared = (of_first * of_second / np.maximum(np.bincount(layer[both]), 1)).sum()
    return correlation, float(shared / np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum())), n
