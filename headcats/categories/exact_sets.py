"""Heads in exactly each set of categories, with the exact distribution by chance."""

import functools
import itertools
import math

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy import special

from headcats.categories.argument_checks import OVERLAP, check_is
from headcats.errors import DataError

# Probabilities below this do not change any interval or printed p.
_NEGLIGIBLE = 1e-15


def exact_sets(overlap: xr.Dataset) -> xr.Dataset:
    """Heads in exactly each set of categories, and in none, with the number expected by chance.

    Chance is that of `hc.overlap`: categories keep their sizes and are placed independently of each other, over all
    heads or within each layer. The distribution is a chain of hypergeometric ones, computed rather than drawn.

    Args:
        overlap: What `hc.overlap` returns. Only `in` counts; categories and heads without numbers are left out.

    Returns:
        Dims `set` (names joined by "+" in the order of the categories, "" for none: 2^n of them, small sets first) and
        `category` (those with numbers). `contains (set, category)`; over `set`: `observed`, `heads` (such as "L0H1,
        L2H0"), `expected` (mean number of heads; over all sets they sum to the number of heads), `low, high` (95 %
        interval of the number), `p` (at least as many as observed, one-sided), and the last four with the suffix
        `_within_layers`. Attributes of the overlap, with `n_heads`.

    Raises:
        DataError: No overlap, or one without numbers in any category.

    Example:
        >>> import headcats as hc
        >>> from headcats.categories import exact_sets
        >>> results = hc.load("results/mini-icl")
        >>> overlap = hc.overlap(hc.categorize(hc.score(results, method="denoising_patch")))
        >>> sets = exact_sets(overlap)
        >>> round(float(sets.expected.sum())) == sets.attrs["n_heads"]
        True
    """
    check_is(overlap, OVERLAP, by="exact_sets")
    grids = overlap[["member", "effect"]].transpose("category", "layer", "head")
    has_number = grids["effect"].notnull().values
    with_numbers = has_number.any(axis=(1, 2))
    if not with_numbers.any():
        raise DataError("exact_sets expects an overlap with numbers in at least one category; here is none.")
    exists = np.asarray(has_number.any(axis=0))
    names = [str(name) for name in overlap["category"].values[with_numbers]]
    member = grids["member"].values[with_numbers] == 1
    sets = [pick for k in range(len(names) + 1) for pick in itertools.combinations(range(len(names)), k)]
    contains = np.array([[i in pick for i in range(len(names))] for pick in sets])

    columns: dict[str, list[float]] = {}
    observed, heads = [], []
    layers, numbers = np.meshgrid(overlap["layer"].values, overlap["head"].values, indexing="ij")
    blocks = {
        "": [(int(exists.sum()), [int(row.sum()) for row in member])],
        "_within_layers": [
            (int(heads.sum()), [int(row[i].sum()) for row in member]) for i, heads in enumerate(exists) if heads.any()
        ],
    }
    for inside in contains:
        exact = exists & (member == inside[:, None, None]).all(axis=0)
        observed.append(int(exact.sum()))
        heads.append(", ".join(f"L{i}H{j}" for i, j in zip(layers[exact], numbers[exact], strict=True)))
        for suffix, sizes in blocks.items():
            for name, value in _by_chance(sizes, inside, observed[-1]).items():
                columns.setdefault(f"{name}{suffix}", []).append(value)
    return xr.Dataset(
        {
            "contains": (("set", "category"), contains),
            "observed": ("set", observed),
            "heads": ("set", heads),
            **{name: ("set", values) for name, values in columns.items()},
        },
        coords={"set": ["+".join(names[i] for i in pick) for pick in sets], "category": names},
        attrs=overlap.attrs | {"n_heads": int(exists.sum())},
    )


def _by_chance(blocks: list[tuple[int, list[int]]], inside: np.ndarray, observed: int) -> dict[str, float]:
    """Mean, 95 % interval and upper tail of the number of heads of a set that is `inside` some categories.

    `blocks` holds the heads of each block, and how many of them are in each category.
    """
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
    """Probability of `count` marked elements among `drawn` of `n`, by `scipy.stats.hypergeom`'s definition.

    From a table of logarithms of factorials: element by element, as scipy does it, takes twenty times as long.
    """
    factorial = special.gammaln(np.arange(n + 1) + 1.0)
    left, right, missing = marked - count, drawn - count, n - marked - drawn + count
    possible = (left >= 0) & (right >= 0) & (missing >= 0)
    below = [factorial[np.where(possible, part, 0)] for part in (left, right, missing)]
    above = factorial[marked] + factorial[n - marked] + factorial[drawn] + factorial[n - drawn] - factorial[n]
    return np.exp(np.where(possible, above - factorial[count] - sum(below), -np.inf))
