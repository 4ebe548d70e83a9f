"""Summary of fitted gates: shares of heads, losses, and missing seeds."""

import xarray as xr

from headcats.errors import pluralize


def summary(block: xr.Dataset) -> list[str]:
    """Sentences on what `head_gating` returns: shares of heads, losses, missing seeds, what was left out."""
    lines, planned = [], int(block.attrs.get("n_seeds", block.sizes["seed"]))
    for name in block.dataset.values:
        gates = block.sel(dataset=name)
        gates = gates.sel(seed=gates.g_plus.notnull().any(("layer", "head")))
        n_seeds = gates.sizes["seed"]
        heads = int(gates.g_plus.notnull().any("seed").sum())
        shares = []
        for score in ("facilitation", "interference", "irrelevance"):
            always, any_seed = (
                _percent(extreme, heads) for extreme in (gates[score].min("seed"), gates[score].max("seed"))
            )
            shares.append(f"{score} always {always}, any {any_seed}")
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


def _percent(scores: xr.DataArray, heads: int) -> str:
    return f"{100 * int((scores >= 0.5).sum()) / heads:.1f} %"
