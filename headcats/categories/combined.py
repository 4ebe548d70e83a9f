"""Heads that two ways of judging agree on."""

import json

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from scipy import stats

from headcats.base.errors import DataError
from headcats.categories.argument_checks import MEMBERS, check_is, check_same_heads
from headcats.categories.by_block import listed_categories
from headcats.categories.judging import ROWS, warn_of

_OUTCOMES = {"member": "", "suppressing": "suppressing_"}
_OF_FIRST = ("effect", "low", "high", "p_value", "q_value", "tasks")


def in_both(members: xr.Dataset, other: xr.Dataset) -> xr.Dataset:
    """Heads that are in a category by both of two ways to judge them, such as patching and weights.

    In where both say in, out where one says out, undecided otherwise. By chance: both selections keep their number of
    heads in every layer and are placed there independently (an exact sum of hypergeometric variables), so that two
    methods that merely favour the same layers agree no more than chance.

    Args:
        members: What `hc.categorize` or `hc.overlap` returns.
        other: The same of another method or protocol on the same heads.

    Returns:
        Memberships for `hc.overlap`, `hc.categories.head_table` and the figures, over the categories that both have,
        with the numbers of `members`: `member, suppressing`; `effect, low, high, p_value, q_value, tasks, n_tasks,
        min_tasks, n_items`; `size`, `size_first, size_other` on the common heads, `size_by_chance` (mean) and
        `p_by_chance` (at least as many heads in both, one-sided), over `category`; the same with the prefix
        `suppressing_`. Attributes of `members`, with both rules in `rule`.

    Raises:
        DataError: No memberships, groups of heads beside single ones, other layers or heads, or no common category.

    Warns:
        StatisticsWarning: Categories that only one of them has.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> strict = hc.categorize(scores, rule=hc.rules.fdr(alpha=0.01, min_effect=0.2))
        >>> both = hc.categories.in_both(hc.categorize(scores), strict)
        >>> bool(both["size"].equals(strict["size"]))  # whatever is in by the stricter rule is in by the other
        True
        >>> both.p_by_chance.dims
        ('category',)

    References:
        headcats' own; the hypergeometric null is that of Fisher's exact test, layer by layer.
    """
    for table in (members, other):
        check_is(table, MEMBERS, by="hc.categories.in_both")
        if "effect" not in table:
            raise DataError(
                "hc.categories.in_both reads `member` and `effect` of both memberships; `effect` is missing."
            )
    check_same_heads({"members": members, "other": other})
    names, of_other = (table["category"].values.astype(str).tolist() for table in (members, other))
    common = [name for name in names if name in of_other]
    if not common:
        raise DataError(f"The memberships have no category in common: {', '.join(names)}, and {', '.join(of_other)}.")
    first, second = (table.sel(category=common).transpose(..., "layer", "head") for table in (members, other))
    warn_of(
        {
            "Categories that only one of the two has are left out": [
                name for name in dict.fromkeys([*names, *of_other]) if name not in common
            ]
        }
    )
    both = xr.Dataset(coords={name: values for name, values in first.coords.items() if set(values.dims) <= set(ROWS)})
    for outcome, prefix in _OUTCOMES.items():
        if outcome not in first or outcome not in second:
            continue
        a, b = (table[outcome].transpose(*ROWS).values for table in (first, second))
        joined = np.where((a == 1) & (b == 1), 1, np.where((a == -1) | (b == -1), -1, 0)).astype(np.int8)
        both[outcome] = (ROWS, joined)
        both = both.assign(
            {f"{prefix}{name}": first[f"{prefix}{name}"] for name in _OF_FIRST if prefix + name in first}
        )
        exists = (first["effect"].notnull() & second["effect"].notnull()).transpose(*ROWS).values
        both = both.assign(_sizes((a == 1) & exists, (b == 1) & exists, exists, prefix))
    for name in ("n_tasks", "min_tasks", "n_items"):
        if name in first:
            both[name] = first[name]
    rules = " and ".join(dict.fromkeys(str(table.attrs.get("rule", "a rule")) for table in (members, other)))
    attrs = {name: value for name, value in members.attrs.items() if name != "not_judged"}
    if "categories" in attrs:
        entries = [entry for entry in listed_categories(members) if entry["name"] in common]
        attrs["categories"] = json.dumps(entries, ensure_ascii=False)
    return both.assign_attrs(attrs | {"rule": rules})


def _sizes(
    a: Bool[np.ndarray, "category layer head"],
    b: Bool[np.ndarray, "category layer head"],
    exists: Bool[np.ndarray, "category layer head"],
    prefix: str,
) -> dict[str, tuple[str, np.ndarray]]:
    shared, of_a, of_b = (heads.sum(axis=(1, 2)) for heads in (a & b, a, b))
    chance = [_by_chance(*rows, n) for rows, n in zip(zip(a, b, exists, strict=True), shared.tolist(), strict=True)]
    mean, p = (np.array(values) for values in zip(*chance, strict=True))
    columns = {"size": shared, "size_first": of_a, "size_other": of_b, "size_by_chance": mean, "p_by_chance": p}
    return {f"{prefix}{name}": ("category", values) for name, values in columns.items()}


def _by_chance(
    a: Bool[np.ndarray, "layer head"], b: Bool[np.ndarray, "layer head"], exists: Bool[np.ndarray, "layer head"], n: int
) -> tuple[float, float]:
    """Mean number of heads in both, and the probability of at least `n`, if both are placed at random in each layer."""
    total: Float[np.ndarray, " count"] = np.ones(1)
    mean = 0.0
    for heads, of_a, of_b in zip(exists.sum(1).tolist(), a.sum(1).tolist(), b.sum(1).tolist(), strict=True):
        if of_a and of_b:
            mean += of_a * of_b / heads
            total = np.convolve(total, stats.hypergeom.pmf(np.arange(min(of_a, of_b) + 1), heads, of_a, of_b))
    return mean, float(min(1.0, total[n:].sum()))
