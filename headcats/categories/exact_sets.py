"""Heads in exactly each set of categories, and the number expected by chance."""

import functools
import itertools
import math
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy import special

from headcats.base.errors import DataError
from headcats.categories.argument_checks import OVERLAP, check_is
from headcats.results.head_axes import cell_name, unit_of

# Probabilities below this do not change any interval or printed p.
_NEGLIGIBLE = 1e-15


def exact_sets(overlap: xr.Dataset) -> xr.Dataset:
    """Heads in exactly each set of categories, and in none (2^n sets), beside chance as in `hc.overlap`, here exact.

    Dims `set` (names joined by "+", "" for none, small sets first) and `category` (those with numbers). `contains (set,
    category)`; over `set`: `observed` (undecided counts as out; `observed_least, observed_most`: for certain, and
    possibly), `heads` ("L0H1, L2H0"), `expected` (mean), `low, high` (95 % interval), `p` (at least as many,
    one-sided), the last four also with the suffix `_within_layers`. A DataError without numbers in any category.
    """
    check_is(overlap, OVERLAP, by="exact_sets")
    grids = overlap[["member", "effect", "undecided"]].transpose("category", "layer", "head")
    has_number = grids["effect"].notnull().values
    with_numbers = has_number.any(axis=(1, 2))
    if not with_numbers.any():
        raise DataError("exact_sets expects an overlap with numbers in at least one category; here is none.")
    exists = np.asarray(has_number.any(axis=0))
    names = [str(name) for name in overlap["category"].values[with_numbers]]
    member = grids["member"].values[with_numbers] == 1
    undecided = grids["undecided"].values[with_numbers]
    contains = np.array(sorted(itertools.product((True, False), repeat=len(names)), key=sum))

    rows: list[dict[str, Any]] = []
    unit = unit_of(overlap)
    layers, numbers = np.meshgrid(overlap["layer"].values, overlap["head"].values, indexing="ij")
    blocks = {
        "": [(int(exists.sum()), [int(row.sum()) for row in member])],
        "_within_layers": [
            (int(heads.sum()), [int(row[i].sum()) for row in member]) for i, heads in enumerate(exists) if heads.any()
        ],
    }
    for inside in contains:
        matches = member == inside[:, None, None]
        exact, certain, possible = (
            exists & fits.all(axis=0) for fits in (matches, matches & ~undecided, matches | undecided)
        )
        heads = ", ".join(cell_name(i, j, unit) for i, j in zip(layers[exact], numbers[exact], strict=True))
        counts = {"observed": exact, "observed_least": certain, "observed_most": possible}
        rows.append({name: int(found.sum()) for name, found in counts.items()} | {"heads": heads})
        for suffix, sizes in blocks.items():
            chance = _by_chance(sizes, inside, rows[-1]["observed"])
            rows[-1] |= {f"{name}{suffix}": value for name, value in chance.items()}
    return xr.Dataset(
        {"contains": (("set", "category"), contains)}
        | {name: ("set", [row[name] for row in rows]) for name in rows[0]},
        coords={"set": ["+".join(itertools.compress(names, inside)) for inside in contains], "category": names},
        attrs=overlap.attrs | {"n_heads": int(exists.sum())},
    )


def _by_chance(blocks: list[tuple[int, list[int]]], inside: np.ndarray, observed: int) -> dict[str, float]:
    """Mean, 95 % interval and upper tail of the heads of a set; `blocks`: heads, and how many are in each category."""
    mean, total = 0.0, np.ones(1)
    for n, sizes in blocks:
        kinds = tuple(sorted(size if has else n - size for size, has in zip(sizes, inside, strict=True)))
        mean += n * float(np.prod([kind / n for kind in kinds]))
        if kinds[0]:
            total = np.convolve(total, _intersection(n, kinds))
    reached = np.cumsum(total)
    low, high = (int(np.searchsorted(reached, share * reached[-1])) for share in (0.025, 0.975))
    return {"expected": mean, "low": low, "high": high, "p": min(1.0, float(total[observed:].sum()))}


@functools.lru_cache(maxsize=4096)
def _intersection(n: int, kinds: tuple[int, ...]) -> Float[np.ndarray, " count"]:
    """Probability of 0, 1, ... elements in the intersection of random subsets of those sizes of n elements."""
    share = np.zeros(kinds[0] + 1)
    share[-1] = 1.0
    for kind in kinds[1:]:
        likely = np.flatnonzero(share > _NEGLIGIBLE)
        few, many = int(likely[0]), int(likely[-1])
        # Hoeffding's bound for sampling without replacement: further from the mean lies less than is negligible.
        reach = math.sqrt(many * math.log(2 / _NEGLIGIBLE) / 2)
        count = np.arange(max(0, int(few * kind / n - reach)), min(many, math.ceil(many * kind / n + reach)) + 1)
        reached = share[likely] @ _hypergeometric(count, n, likely[:, None], kind)
        share = np.zeros(many + 1)
        share[count] = reached
    return share


def _hypergeometric(count: np.ndarray, n: int, marked: np.ndarray, drawn: int) -> Float[np.ndarray, "marked count"]:
    """`scipy.stats.hypergeom.pmf` from a table of logarithms of factorials: twenty times as fast here."""
    factorial = special.gammaln(np.arange(n + 1) + 1.0)
    left, right, missing = marked - count, drawn - count, n - marked - drawn + count
    possible = (left >= 0) & (right >= 0) & (missing >= 0)
    below = [factorial[np.where(possible, part, 0)] for part in (left, right, missing)]
    above = factorial[marked] + factorial[n - marked] + factorial[drawn] + factorial[n - drawn] - factorial[n]
    return np.exp(np.where(possible, above - factorial[count] - sum(below), -np.inf))
