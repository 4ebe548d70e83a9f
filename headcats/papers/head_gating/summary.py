"""Summary of fitted gates: shares of heads, losses, and missing seeds."""

import xarray as xr

from headcats.base.errors import pluralize
from headcats.papers.head_gating.over_seeds import GATE_SCORES, always_any


def summary(block: xr.Dataset) -> list[str]:
    """Sentences on what `head_gating` returns: shares of heads, losses, missing seeds, what was left out."""
    lines, planned = [], int(block.attrs.get("n_seeds", block.sizes["seed"]))
    reduced = always_any(block)
    for name in block.dataset.values:
        gates = block.sel(dataset=name)
        gates = gates.sel(seed=gates.g_plus.notnull().any(("layer", "head")))
        n_seeds, of_heads = gates.sizes["seed"], reduced.sel(dataset=name)
        shares = (
            f"{score} always {of_heads.percent_always.sel(score=score).item():.1f} %, "
            f"any {of_heads.percent_any.sel(score=score).item():.1f} %"
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
