"""Combine memberships: heads that several runs find, or that two ways of judging agree on."""

import json
import math
from collections.abc import Mapping

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from scipy import stats

from headcats.base.errors import DataError, OptionError
from headcats.categories.argument_checks import MEMBERS, check_is, check_named, check_same_heads
from headcats.categories.by_block import listed_categories
from headcats.categories.judging import ROWS, warn_of
from headcats.results.head_axes import head_coords

_LARGEST = ("member", "effect", "low", "high")
_SMALLEST = ("p_value", "q_value")
_OUTCOMES = {"member": "", "suppressing": "suppressing_"}
_OF_FIRST = ("effect", "low", "high", "p_value", "q_value", "tasks")


def replicated(members: Mapping[str, xr.Dataset], *, by: str | float | int = "always") -> xr.Dataset:
    """Which heads are in a category in `by` of several runs: other prompts, seeds or templates of one model.

    With r = 1 ("any"), n ("always"), ceil(n / 2) ("half"), a number of runs or ceil(share * n): a head is in if at
    least r of the n runs have it in, out if fewer than r have it in or undecided, and undecided otherwise; effect, low
    and high are the r-th largest over the runs, p and q the r-th smallest. This describes the runs; it is not a test.

    Args:
        members: Name of a run -> what `hc.categorize` returns, all over the same categories and heads.
        by: One of these words, a number of runs from 2 on, or a share of the runs in (0, 1] with a decimal point.

    Returns:
        Memberships, as `hc.overlap` and figures take them: `member, suppressing` and their `effect, low, high, p_value,
        q_value, tasks` (those of at least r runs), `size, suppressing_size`; and `share, suppressing_share (category,
        layer, head)` of the runs in which the head is in. Attributes of the first run, with `replicates` and `by`.

    Raises:
        OptionError: More runs than there are, a share outside (0, 1], or the ambiguous integer 1.
        DataError: No run, no memberships, runs over different categories or heads, or without helping or suppressing
            heads.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> methods = ["denoising_patch", "mean_ablation"]
        >>> members = {name: hc.categorize(hc.score(results, method=name)) for name in methods}
        >>> both = hc.categories.replicated(members, by="always")
        >>> bool((both["size"] <= members["denoising_patch"]["size"]).all())
        True

    References:
        headcats' own: partial conjunction (Benjamini & Heller 2008, Biometrics 64, 1215-1222) in counts, without its
        test.
    """
    check_named(members, MEMBERS, by="hc.categories.replicated", of="run")
    if not members:
        raise DataError("replicated needs the memberships of at least one run.")
    runs = list(members.values())
    for name, run in members.items():
        if "suppressing" not in run or run.attrs.get("sign") == "suppressing":
            raise DataError(
                f"Run {name!r} does not hold helping and suppressing heads apart, as hc.categorize returns them (an "
                "overlap of suppressing heads holds these alone). Combine the memberships, then take their overlap."
            )
    check_same_heads(members)
    for name, run in members.items():
        if run["category"].values.tolist() != runs[0]["category"].values.tolist():
            raise DataError(f"Runs need the same categories: {name!r} has others than {next(iter(members))!r}.")
    r = _needed(by, len(runs))
    result = xr.Dataset(coords={"category": runs[0]["category"], **head_coords(runs[0])})
    for prefix, verdict in (("", "member"), ("suppressing_", "suppressing")):
        stacked = _stack(runs, verdict)
        result[verdict] = (ROWS, _ranked(stacked, r, largest=True).astype(np.int8))
        result[f"{prefix}share"] = (ROWS, (stacked == 1).mean(axis=0))
        result[f"{prefix}size"] = (result[verdict] == 1).sum(("layer", "head"))
        for name in (*_LARGEST[1:], *_SMALLEST):
            values = _stack(runs, prefix + name)
            # Suppressing effects are negative: the r-th largest suppression is the r-th smallest of them.
            # p and q already are one-sided: the r-th smallest, for both.
            largest = name in _LARGEST and not prefix
            result[prefix + name] = (ROWS, _ranked(values, r, largest=largest))
        result[f"{prefix}tasks"] = (ROWS, _common_tasks(_stack(runs, f"{prefix}tasks"), r))
    for name in ("n_tasks", "min_tasks"):
        result[name] = runs[0][name]
    return result.assign_attrs(runs[0].attrs | {"replicates": len(runs), "by": str(by)})


def _needed(by: str | float | int, n: int) -> int:
    words = {"any": 1, "always": n, "half": math.ceil(n / 2)}
    if by in words:
        return words[str(by)]
    if isinstance(by, int) and by > n:
        raise OptionError(f"by={by} is a number of runs, and there are only {n}.")
    if by == 1 and isinstance(by, int) and not isinstance(by, bool):
        raise OptionError("by=1 may mean one run or all of them: write by='any' or by='always'.")
    if isinstance(by, int) and by > 1:
        return by
    if isinstance(by, bool) or not isinstance(by, int | float) or not 0 < by <= 1:
        raise OptionError(f"by must be 'any', 'always', 'half', a number of runs or a share in (0, 1]; got {by!r}.")
    return math.ceil(by * n - 1e-9)


def _stack(runs: list[xr.Dataset], name: str) -> np.ndarray:
    return np.stack([run[name].transpose(*ROWS).values for run in runs])


def _ranked(values: np.ndarray, r: int, *, largest: bool) -> np.ndarray:
    # A missing number counts as the worst: it can only keep a head from being in.
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), -np.inf if largest else np.inf, values)
    ordered = np.sort(values, axis=0)
    ranked = ordered[len(ordered) - r] if largest else ordered[r - 1]
    return np.where(np.isinf(ranked), np.nan, ranked) if ranked.dtype.kind == "f" else ranked


def _common_tasks(texts: np.ndarray, r: int) -> np.ndarray:
    common = np.full(texts.shape[1:], "", dtype=object)
    for place in np.ndindex(common.shape):
        tasks = [task for text in texts[:, *place] for task in str(text).split(",") if task]
        common[place] = ",".join(task for task in dict.fromkeys(tasks) if tasks.count(task) >= r)
    return common.astype(str)


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
