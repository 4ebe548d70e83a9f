"""Would other prompts give the same heads? Agreement of the categories of two halves of the query items."""

import json
import logging
import warnings
from collections.abc import Callable

import numpy as np
import xarray as xr

from headcats.categories.argument_checks import MEMBERS, RESULTS, check_is
from headcats.errors import DataError, OptionError, StatisticsWarning
from headcats.evidence.comparison.agreeing import SIGNS, agreement
from headcats.scores.items import first_half, of_items

_log = logging.getLogger("headcats")
HALVES = ("first", "second")


def half_agreement(
    results: xr.DataTree,
    judge: Callable[[xr.DataTree], xr.Dataset],
    *,
    splits: int = 5,
    seed: int = 0,
    sign: str = "helping",
) -> xr.Dataset:
    """Jaccard index and rank correlation between the categories of two random halves of the query items.

    All prompts of an item, in every task, are in the same half. A half has half the items, so its intervals are wider
    than those of the full run and fewer heads are `in`: a lower bound of the agreement of two samples of full size.

    Args:
        results: As `hc.load` returns them.
        judge: Results -> what `hc.categorize` returns, for example
            `lambda half: hc.categorize(hc.score(half, method="denoising_patch"))`.
        splits: How many random splits.
        seed: Seed of the splits.
        sign: "helping" or "suppressing" heads.

    Returns:
        Over splits, by `category`: `jaccard, spearman, expected` (means), `jaccard_min, jaccard_max, spearman_min,
        spearman_max`; `expected` is the mean Jaccard index of random sets of the same sizes. Every single split:
        `split_jaccard, split_spearman, split_expected (split, category)`, `size (split, half, category)` = heads in,
        and `reason (split)`: why a split could not be judged ("" where it could; its numbers are NaN, its sizes 0).
        `n_splits (category)` counts the splits that have a Jaccard index: NaN where both halves are empty. `n_heads
        (category)`: heads with a number in both halves, in the split with the most; 0 where no task was scored.

    Raises:
        OptionError: `splits` below 1, or another `sign`.
        DataError: `results` are no results, or `judge` returns no memberships.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> def judge(half):
        ...     return hc.categorize(hc.score(half, method="denoising_patch"), rule=hc.rules.top_fraction(p=0.1))
        >>> halves = hc.evidence.half_agreement(results, judge, splits=1)
        >>> halves.jaccard.dims, halves.split_jaccard.dims
        (('category',), ('split', 'category'))

    References:
        Split-half reliability: Spearman (1910) and Brown (1910), Br. J. Psychol. 3, 271-295 and 296-322, without their
        formula for the full length.
    """
    check_is(results, RESULTS, by="hc.evidence.half_agreement")
    if not callable(judge):
        raise DataError(
            f"judge must be a function, results -> what hc.categorize returns; got a {type(judge).__name__}."
        )
    if sign not in SIGNS:
        raise OptionError(f"sign is 'helping' or 'suppressing'; got {sign!r}.")
    if splits < 1:
        raise OptionError(f"splits must be at least 1, got {splits}.")
    categories = [entry["name"] for entry in json.loads(results.attrs["categories"])]
    shape = (splits, len(categories))
    by_split = {name: np.full(shape, np.nan) for name in ("jaccard", "spearman", "expected")}
    sizes, reasons = np.zeros((splits, len(HALVES), len(categories)), dtype=np.int64), [""] * splits
    n_heads = np.zeros(len(categories), dtype=np.int64)
    _log.info("Judging %d halves of the prompts.", 2 * splits)
    for split in range(splits):
        members = {}
        for half in HALVES:
            try:
                # The result holds why a half is too small; the full run has warned of the rest.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", StatisticsWarning)
                    members[half] = judge(_half(results, half, seed=seed + split))
            except DataError as error:
                reasons[split] = str(error)
                break
            check_is(members[half], MEMBERS, by="hc.evidence.half_agreement", came="judge returned")
        if reasons[split]:
            continue
        table = agreement(members, sign=sign).reindex(category=categories, fill_value={"size": 0, "n_heads": 0})
        pair = table.sel(protocol=HALVES[0], other=HALVES[1])
        for name, values in by_split.items():
            values[split] = pair[name].values
        n_heads = np.maximum(n_heads, pair["n_heads"].values)
        sizes[split] = table["size"].transpose("protocol", "category").values
    result = xr.Dataset(
        {f"split_{name}": (("split", "category"), values) for name, values in by_split.items()},
        coords={"split": np.arange(splits), "half": list(HALVES), "category": categories},
        attrs={"sign": sign},
    )
    result["size"] = (("split", "half", "category"), sizes)
    result["n_heads"] = ("category", n_heads)
    result["reason"] = ("split", reasons)
    for name, values in by_split.items():
        result[name] = ("category", _over_splits(values, np.mean))
        if name != "expected":
            result[f"{name}_min"] = ("category", _over_splits(values, np.min))
            result[f"{name}_max"] = ("category", _over_splits(values, np.max))
    result["n_splits"] = ("category", np.isfinite(by_split["jaccard"]).sum(axis=0))
    return result


def _half(results: xr.DataTree, half: str, *, seed: int) -> xr.DataTree:
    return of_items(results, lambda item: first_half(item, seed=seed) == (half == HALVES[0]))


def _over_splits(values: np.ndarray, reduce: Callable[[np.ndarray], float]) -> list[float]:
    finite = [column[np.isfinite(column)] for column in values.T]
    return [float(reduce(column)) if len(column) else float("nan") for column in finite]
