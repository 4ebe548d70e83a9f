"""What fitted gates say: shares of heads, losses, and what is missing."""

import xarray as xr


def summary(block: xr.Dataset) -> list[str]:
    """Per data set: shares of heads, losses, seeds that are missing; and what was left out.

    Args:
        block: What `hc.methods.head_gating` returns.
    """
    lines, asked = [], int(block.attrs.get("n_seeds", block.sizes["seed"]))
    for name in block.dataset.values:
        one = block.sel(dataset=name)
        found = one.g_plus.notnull().any(("layer", "head"))
        one, n_seeds = one.sel(seed=found), int(found.sum())
        heads = int(one.g_plus.notnull().any("seed").sum())
        shares = [
            f"{score} always {_percent(one[score].min('seed'), heads)}, any {_percent(one[score].max('seed'), heads)}"
            for score in ("facilitation", "interference", "irrelevance")
        ]
        plus, minus = (float(one.loss.sel(stage=stage).mean()) for stage in ("g_plus", "g_minus"))
        lines.append(
            f"{name} ({n_seeds} {'seed' if n_seeds == 1 else 'seeds'}, {int(one.n)} texts), heads with a score of "
            f"at least .5: {'; '.join(shares)}. Loss of held-out texts: {float(one.open_loss):.3g} nats with all "
            f"gates open, {plus:.3g} under G+, {minus:.3g} under G-."
        )
        if n_seeds < asked:
            lines.append(f"{name}: {asked - n_seeds} of {asked} seeds are missing: refused, or not run yet.")
    if block.sizes["seed"] == 1:
        lines.append("With one seed, always and any are the same.")
    if block.attrs["left_out"]:
        lines.append(f"Left out: {block.attrs['left_out']}")
    return lines


def _percent(scores: xr.DataArray, heads: int) -> str:
    return f"{100 * int((scores >= 0.5).sum()) / heads:.1f} %"
