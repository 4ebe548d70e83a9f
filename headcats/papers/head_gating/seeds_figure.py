"""Gate scores seed by seed: how many heads reach the threshold, and how the scores are distributed."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError, OptionError, pluralize
from headcats.figures.colours import HATCH, OUTLINE, TEXT
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped, hover
from headcats.figures.tables import panel_names, require
from headcats.papers.head_gating.over_seeds import GATE_SCORES
from headcats.papers.head_gating.settings import THRESHOLD

SYMBOLS = {"facilitation": "circle", "irrelevance": "square", "interference": "diamond"}
"""Score -> its symbol, in the order of the paper's figures."""
_BINS = 10
_SIZE = (246, 190)  # pixels of a panel
_SPREAD = 0.3  # of the seeds beside each other, in cells


@figure
def gate_seeds(gates: xr.Dataset, *, threshold: float = THRESHOLD, title: str | None = None) -> PanelGrid:
    """Agreement of seeds: share of heads with each score, and the distribution of the scores, seed by seed.

    A row per data set. First panel: a symbol per seed at the percentage of the model's heads whose score is at least
    `threshold`, and a line at the mean over seeds. Then a panel per score: x = score in ten bins, y = percentage of
    heads; a thin line per seed, and a thick one for their mean. Scores near 0 and 1 alone mean that gates are open or
    shut; lines apart mean that seeds find other sets of heads.

    Args:
        gates: What `hc.methods.head_gating` returns: `facilitation, interference, irrelevance (dataset, seed, layer,
            head)` in [0, 1]. Seeds without gates are left out.
        threshold: Score from which a head counts, in (0, 1).
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per data set, score, seed and bin: `dataset, score, seed, low,
        high` (of the bin; the last one holds 1), `n_heads, percent` (of the model's heads in it), `n_reached,
        percent_reached` (heads with at least `threshold`, whatever the bin).

    Raises:
        DataError: a variable or dimension is missing, or no seed has gates.
        OptionError: `threshold` outside (0, 1).

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737, for scores, seeds and threshold.

    Example:
        >>> import headcats as hc
        >>> few = hc.papers.head_gating.GatingSettings(updates=5, batch=8)  # the paper: 500 updates of 64 texts
        >>> texts = hc.methods.task_texts("plural", n_prompts=16, n_demos=2)
        >>> gates = hc.methods.head_gating(hc.load_model("mini"), texts, preset=few, n_seeds=2)
        >>> fig = hc.figures.gate_seeds(gates)
        >>> hc.figures.data(fig).groupby(["score", "seed"]).n_heads.sum().unique()  # each head is in one bin
        array([48])
    """
    if not 0 < threshold < 1:
        raise OptionError(f"gate_seeds expects a threshold between 0 and 1, both excluded; got {threshold}.")
    variables = dict.fromkeys(GATE_SCORES, ("dataset", "seed", "layer", "head"))
    require(gates, variables, figure="gate_seeds", table='hc.suite_blocks(results)["head_gating"]')
    names = panel_names(gates, "dataset", figure="gate_seeds")
    frame = pd.concat([_rows(gates.sel(dataset=name), name, threshold) for name in names], ignore_index=True)
    if not len(frame):
        raise DataError(
            "gate_seeds expects gates of at least one seed; got NaN alone. Fit some: hc.methods.head_gating."
        )
    planned = int(gates.attrs.get("n_seeds", gates.sizes["seed"]))
    panels = [panel for name in names for panel in _panels(frame[frame["dataset"] == name], name, threshold, planned)]
    caption = ["a symbol, and a thin line, per seed", "thick lines: mean over seeds"]
    return PanelGrid(panels, frame, title, caption)


def _rows(gates: xr.Dataset, name: str, threshold: float) -> pd.DataFrame:
    rows = []
    edges = np.arange(_BINS + 1) / _BINS
    for score in SYMBOLS:
        grids = gates[score].transpose("seed", "layer", "head").to_numpy().reshape(gates.sizes["seed"], -1)
        for seed, grid in zip(gates["seed"].values, grids, strict=True):
            values = grid[~np.isnan(grid)].astype(float)
            if not len(values):
                continue
            counts, reached = np.histogram(values.clip(0, 1), edges)[0], int((values >= threshold).sum())
            rows.append(
                pd.DataFrame(
                    {
                        "dataset": name,
                        "score": score,
                        "seed": int(seed),
                        "low": edges[:-1],
                        "high": edges[1:],
                        "n_heads": counts,
                        "percent": 100 * counts / len(values),
                        "n_reached": reached,
                        "percent_reached": 100 * reached / len(values),
                    }
                )
            )
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _panels(rows: pd.DataFrame, name: str, threshold: float, planned: int) -> list[Panel]:
    """Panels of the share of heads that reach the threshold, and of the distribution of each score."""
    if not len(rows):
        return []
    y = Scale(-4, 104, "% of heads")
    n_seeds = rows["seed"].nunique()
    seeds = pluralize(n_seeds, "seed") if n_seeds >= planned else f"{n_seeds} of {pluralize(planned, 'seed')}"
    reached = Axis("place", len(SYMBOLS), labels=list(SYMBOLS))
    panels = [Panel(f"Score ≥ {threshold:g}", [Plot(reached, y, _SIZE, _reached(rows))], notes=[seeds], section=name)]
    # A bin reaches from one tick to the next.
    bins = Axis("place", _BINS + 1, "score", range(0, _BINS + 1, 2), tick_texts=[f"{i / 5:g}" for i in range(6)])
    for score, symbol in SYMBOLS.items():
        of_score = rows[rows["score"] == score]
        shares = of_score.groupby("seed")["percent_reached"].first()
        note = f"≥ {threshold:g}: {shares.mean():.1f} % ({shares.min():.1f} to {shares.max():.1f}) of heads"
        plot = Plot(bins, y, _SIZE, _distribution(of_score, symbol))
        panels.append(Panel(score.capitalize(), [plot], notes=[note], section=name))
    return panels


def _reached(rows: pd.DataFrame) -> list[go.Scatter]:
    seeds = rows.drop_duplicates(["score", "seed"])
    traces = []
    for place, (score, symbol) in enumerate(SYMBOLS.items()):
        of_score = seeds[seeds["score"] == score]
        n = len(of_score)
        beside = np.linspace(-_SPREAD, _SPREAD, n) if n > 1 else np.zeros(1)
        mean = float(of_score["percent_reached"].mean())
        template = "<b>seed %{seed}</b>, %{score}<br>%{n_reached} heads, %{percent_reached:.1f} %"
        line = {"color": TEXT, "width": 2}
        traces += [
            go.Scatter(x=[place - 0.4, place + 0.4], y=[mean, mean], mode="lines", line=line, name=f"mean {score}"),
            go.Scatter(
                x=place + beside,
                y=of_score["percent_reached"].to_numpy(),
                mode="markers",
                marker={"symbol": symbol, "size": 8, "color": OUTLINE, "line": {"color": TEXT, "width": 0.8}},
                name=score,
                cliponaxis=False,
                **hover(template, of_score, y="percent_reached"),
            ),
        ]
    return traces


def _distribution(rows: pd.DataFrame, symbol: str) -> list[go.Scatter | None]:
    mean = rows.groupby(["low", "high", "score"], as_index=False)[["percent", "n_heads"]].mean()
    mean["n_seeds"] = rows["seed"].nunique()
    template = "<b>seed %{seed}</b>, %{score} %{low:.1f} to %{high:.1f}<br>%{n_heads} heads, %{percent:.1f} %"
    lines = [
        go.Scatter(
            x=np.arange(_BINS) + 0.5,
            y=of_seed["percent"].to_numpy(),
            mode="lines",
            line={"color": HATCH, "width": 0.8},
            name=f"seed {escaped(seed)}",
            **hover(template, of_seed, y="percent"),
        )
        for seed, of_seed in rows.groupby("seed")
    ]
    template = (
        "<b>mean of %{n_seeds} seeds</b>, %{score} %{low:.1f} to %{high:.1f}<br>%{n_heads:.1f} heads, %{percent:.1f} %"
    )
    thick = go.Scatter(
        x=np.arange(_BINS) + 0.5,
        y=mean["percent"].to_numpy(),
        mode="lines+markers",
        line={"color": TEXT, "width": 2.2},
        marker={"symbol": symbol, "size": 7, "color": OUTLINE, "line": {"color": TEXT, "width": 0.8}},
        name="mean over seeds",
        cliponaxis=False,
        **hover(template, mean, y="percent"),
    )
    return [*lines, thick]
