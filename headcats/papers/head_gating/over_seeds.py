"""Gate scores reduced over random starts: heads that reach a threshold always, or in any."""

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, OptionError, pluralize
from headcats.papers.head_gating.settings import THRESHOLD
from headcats.results.head_axes import head_coords
from headcats.results.run_results import refuse_results

GATE_SCORES = ("facilitation", "interference", "irrelevance")
_AXES = ("dataset", "seed", "layer", "head")


def always_any(gates: xr.Dataset, *, threshold: float = THRESHOLD) -> xr.Dataset:
    """Smallest and largest score of every head over the random starts of `head_gating`, and shares of heads.

    A facilitating head is kept open from all N starts (`always`) or from some (`any`). More starts lower the one and
    raise the other by construction: compare numbers of heads only between data sets with equally many seeds.

    Args:
        gates: What `hc.methods.head_gating` returns: scores in [0, 1], dims `(dataset, seed, layer, head)`.
        threshold: Score from which a head counts, in (0, 1).

    Returns:
        Dims `(score, dataset, layer, head)`, score = facilitation, interference, irrelevance: `always`, the minimum
        over seeds; `any`, the maximum. `percent_always, percent_any (score, dataset)`: percent of heads with at least
        `threshold`. `n_seeds (dataset)`: seeds that were fitted. NaN for heads that a layer lacks. Attributes of
        `gates`, and `threshold`.

    Raises:
        DataError: Data of another kind; for whole results, the message names the call that takes the gates out.
        OptionError: A threshold outside (0, 1).

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737, figure 3b.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> scores = np.array([[[[0.9, 0.1]], [[0.8, 0.7]]]])  # a data set, two seeds, a layer of two heads
        >>> names = ["facilitation", "interference", "irrelevance"]  # hc.methods.head_gating gives these three
        >>> gates = xr.Dataset({name: (("dataset", "seed", "layer", "head"), scores) for name in names})
        >>> table = hc.papers.head_gating.always_any(gates, threshold=0.5)
        >>> table.always.sel(score="facilitation").values, table.percent_any.sel(score="facilitation").values
        (array([[[0.8, 0.1]]]), array([100.]))
    """
    if not 0 < threshold < 1:
        raise OptionError(f"threshold must lie between 0 and 1, got {threshold}.")
    refuse_results(
        gates,
        by="hc.papers.head_gating.always_any",
        expected="`facilitation`, `interference`, `irrelevance` over (dataset, seed, layer, head)",
        table='hc.suite_blocks(results)["head_gating"]',
    )
    missing = [name for name in GATE_SCORES if name not in gates or set(gates[name].dims) != set(_AXES)]
    if missing:
        raise DataError(
            f"always_any takes what head_gating returns, with dims {_AXES}: {missing[0]!r} is missing or has other "
            "dims. Results of one data set keep their dim with gates.sel(dataset=[...])."
        )
    coords = {"score": list(GATE_SCORES), "dataset": gates["dataset"].values, **head_coords(gates)}
    grids = np.stack([gates[name].transpose(*_AXES).values for name in GATE_SCORES])
    scores = xr.DataArray(grids, coords, ("score", *_AXES))
    n_fitted, grid = scores.count("seed"), ("layer", "head")
    n_heads = (n_fitted > 0).sum(grid)
    extremes = {"always": scores.min("seed"), "any": scores.max("seed")}
    percent = {
        f"percent_{name}": 100 * (extreme >= threshold).sum(grid) / n_heads.where(n_heads > 0)
        for name, extreme in extremes.items()
    }
    n_seeds = scores.isel(score=0, drop=True).notnull().any(grid).sum("seed")
    reduced = xr.Dataset({**extremes, **percent, "n_seeds": n_seeds})
    return reduced.assign_attrs(gates.attrs | {"threshold": threshold})


def summary(block: xr.Dataset) -> list[str]:
    """Sentences on what `head_gating` returns: shares of heads, losses, missing seeds, what was left out."""
    lines, planned = [], int(block.attrs.get("n_seeds", block.sizes["seed"]))
    reduced = always_any(block)
    for name in block.dataset.values:
        gates = block.sel(dataset=name)
        gates = gates.sel(seed=gates.g_plus.notnull().any(("layer", "head")))
        n_seeds, of_heads = gates.sizes["seed"], reduced.sel(dataset=name)
        shares = (
            f"{score} from all {n_seeds} starts {of_heads.percent_always.sel(score=score).item():.1f} %, "
            f"from any {of_heads.percent_any.sel(score=score).item():.1f} %"
            for score in GATE_SCORES
        )
        plus, minus = (float(gates.loss.sel(stage=stage).mean()) for stage in ("g_plus", "g_minus"))
        lines.append(
            f"{name} ({pluralize(n_seeds, 'seed')}, {int(gates.n)} texts), heads with a score of at least .5: "
            f"{'; '.join(shares)}. Loss of held-out texts: {float(gates.open_loss):.3g} nats with all gates open, "
            f"{plus:.3g} under G+, {minus:.3g} under G-."
        )
        if n_seeds < planned:
            lines.append(f"{name}: {planned - n_seeds} of {planned} seeds are missing: skipped, or not run yet.")
    if block.sizes["seed"] == 1:
        lines.append("With one seed, always and any are the same.")
    if block.attrs["left_out"]:
        lines.append(f"Left out: {block.attrs['left_out']}")
    return lines
