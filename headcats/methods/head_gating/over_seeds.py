"""Gates fitted from several random starts, reduced to heads that always, or ever, have a property."""

import numpy as np
import xarray as xr

from headcats.errors import DataError, OptionError
from headcats.results.tree import refuse_results

GATE_SCORES = ("facilitation", "interference", "irrelevance")
_AXES = ("dataset", "seed", "layer", "head")


def always_any(gates: xr.Dataset, *, threshold: float = 0.5) -> xr.Dataset:
    """Smallest and largest score of every head over the random starts of `head_gating`, and how many heads that makes.

    A head that is facilitating from every start (`always`) is one that the data set cannot do without; one that is so
    from some start (`any`) can be replaced by others. With few seeds the two are close by construction: compare
    numbers of heads only between data sets of equally many seeds.

    Args:
        gates: What `hc.methods.head_gating` returns: scores in [0, 1], dims `(dataset, seed, layer, head)`.
        threshold: Score from which on a head counts, in (0, 1).

    Returns:
        Dims `(score, dataset, layer, head)`, score = facilitation, interference, irrelevance: `always`, the minimum
        over seeds; `any`, the maximum; `fraction` of the seeds with at least `threshold`. `percent_always` and
        `percent_any (score, dataset)`: percent of the heads of the model with at least `threshold`. `n_seeds
        (dataset)`: seeds that were fitted; missing ones are left out. NaN for heads that a layer lacks. Attributes of
        `gates`, and `threshold`.

    Raises:
        DataError: Something else than gates; of whole results, the message names the call that takes them out.
        OptionError: A threshold outside (0, 1).

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> scores = np.array([[[[0.9, 0.1]], [[0.8, 0.7]]]])  # a data set, two seeds, a layer of two heads
        >>> names = ["facilitation", "interference", "irrelevance"]  # hc.methods.head_gating gives these three
        >>> gates = xr.Dataset({name: (("dataset", "seed", "layer", "head"), scores) for name in names})
        >>> table = hc.methods.head_gating.always_any(gates, threshold=0.5)
        >>> table.always.dims
        ('score', 'dataset', 'layer', 'head')
        >>> table.always.sel(score="facilitation").values, table.percent_any.sel(score="facilitation").values
        (array([[[0.8, 0.1]]]), array([100.]))

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737, figure 3b.
    """
    if not 0 < threshold < 1:
        raise OptionError(f"threshold must lie between 0 and 1, got {threshold}.")
    refuse_results(
        gates,
        by="hc.methods.head_gating.always_any",
        expected="`facilitation`, `interference`, `irrelevance` over (dataset, seed, layer, head)",
        table='hc.suite_blocks(results)["head_gating"]',
    )
    missing = [name for name in GATE_SCORES if name not in gates or set(gates[name].dims) != set(_AXES)]
    if missing:
        raise DataError(
            f"always_any takes what head_gating returns, with dims {_AXES}: {missing[0]!r} is missing or has other "
            "dims. Results of one data set keep their dim with gates.sel(dataset=[...])."
        )
    scores = np.stack([gates[name].transpose(*_AXES).values for name in GATE_SCORES])
    known = np.isfinite(scores)
    exists, n_seeds = known.any(axis=2), known[0].any(axis=(2, 3)).sum(axis=1)
    always = np.where(exists, np.where(known, scores, np.inf).min(axis=2), np.nan)
    largest = np.where(exists, np.where(known, scores, -np.inf).max(axis=2), np.nan)
    counts = known.sum(axis=2)
    with np.errstate(invalid="ignore"):
        fraction = np.where(known, scores >= threshold, False).sum(axis=2) / np.where(exists, counts, np.nan)
    axes = ("score", "dataset", "layer", "head")
    return xr.Dataset(
        {
            "always": (axes, always),
            "any": (axes, largest),
            "fraction": (axes, fraction),
            "percent_always": (axes[:2], _percent(always, exists, threshold)),
            "percent_any": (axes[:2], _percent(largest, exists, threshold)),
            "n_seeds": ("dataset", n_seeds),
        },
        coords={"score": list(GATE_SCORES), **{axis: gates[axis].values for axis in axes[1:]}},
        attrs=gates.attrs | {"threshold": threshold},
    )


def _percent(values: np.ndarray, exists: np.ndarray, threshold: float) -> np.ndarray:
    heads = exists.sum(axis=(2, 3)).astype(float)
    heads[heads == 0] = np.nan
    return 100 * np.where(exists, values >= threshold, False).sum(axis=(2, 3)) / heads
