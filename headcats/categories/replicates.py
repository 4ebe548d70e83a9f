"""Combine the memberships of several runs."""

import math
from collections.abc import Mapping

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, OptionError
from headcats.categories.argument_checks import MEMBERS, check_named
from headcats.results.head_axes import head_coords, noun, unit_of

_LARGEST = ("member", "effect", "low", "high")
_SMALLEST = ("p_value", "q_value")
_GRID = ("category", "layer", "head")


def replicated(members: Mapping[str, xr.Dataset], *, by: str | float | int = "always") -> xr.Dataset:
    """Which heads are in a category in `by` of several runs: other prompts, seeds or templates of one model.

    With r = 1 ("any"), n ("always"), ceil(n / 2) ("half"), a number of runs or ceil(share * n): a head is in if at
    least r of the n runs have it in, out if fewer than r have it in or undecided, and undecided otherwise; effect, low
    and high are the r-th largest over the runs, p and q the r-th smallest. Suppressing heads likewise. This describes
    the runs; it is not a test.

    Args:
        members: Name of a run -> what `hc.categorize` returns, all over the same categories and heads.
        by: One of these words, a number of runs from 2 on, or a share of the runs in (0, 1] with a decimal point (1.0
            is all).

    Returns:
        Memberships, as `hc.overlap` and figures take them: `member, suppressing` and their `effect, low, high, p_value,
        q_value, tasks` (those of at least r runs), `size, suppressing_size`; and `share (category, layer, head)` and
        `suppressing_share` of the runs in which the head is in. Attributes of the first run, with `replicates` (number
        of runs) and `by`.

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
        if unit_of(run) != unit_of(runs[0]):
            kinds = " and of ".join(f"{noun(unit_of(each))}s" for each in (runs[0], run))
            raise DataError(f"Runs need the same heads: {next(iter(members))!r} and {name!r} are of {kinds}.")
        for axis in _GRID:
            if run[axis].values.tolist() != runs[0][axis].values.tolist():
                raise DataError(
                    f"Runs need the same categories and heads: {name!r} has another {axis} axis than "
                    f"{next(iter(members))!r}. Heads of different models do not correspond."
                )
    r = _needed(by, len(runs))
    result = xr.Dataset(coords={"category": runs[0]["category"], **head_coords(runs[0])})
    for prefix, verdict in (("", "member"), ("suppressing_", "suppressing")):
        stacked = _stack(runs, verdict)
        result[verdict] = (_GRID, _ranked(stacked, r, largest=True).astype(np.int8))
        result[f"{prefix}share"] = (_GRID, (stacked == 1).mean(axis=0))
        result[f"{prefix}size"] = (result[verdict] == 1).sum(("layer", "head"))
        for name in (*_LARGEST[1:], *_SMALLEST):
            values = _stack(runs, prefix + name)
            # Suppressing effects are negative: the r-th largest suppression is the r-th smallest of them.
            # p and q already are one-sided: the r-th smallest, for both.
            largest = name in _LARGEST and not prefix
            result[prefix + name] = (_GRID, _ranked(values, r, largest=largest))
        result[f"{prefix}tasks"] = (_GRID, _common_tasks(_stack(runs, f"{prefix}tasks"), r))
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
    return np.stack([run[name].transpose(*_GRID).values for run in runs])


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
