"""Toggle curves: the log-probability of the targets while heads are switched off, by each gate score."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError, pluralize
from headcats.figures.colours import OUTLINE
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, Scale, scale_over
from headcats.figures.panels.curves import band, marked_line
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped, hover
from headcats.figures.tables import panel_names, require
from headcats.papers.head_gating.seeds_figure import SYMBOLS
from headcats.papers.head_gating.settings import THRESHOLD
from headcats.results.head_axes import cell_name, unit_of

_CURVE = ("seed", "score", "heads_off")
_DASHES = {"facilitation": "solid", "irrelevance": "dash", "interference": "dot"}
_SIGNS = {"facilitation": "●", "irrelevance": "■", "interference": "◆"}
_UNNAMED = "data"
_SIZE = (360, 240)  # pixels of a panel
_MARKERS, _TICKS = 12, 9  # of a curve, about; most of an axis
_NAMED = 3  # heads that the pointer names, where seeds differ


@figure
def gate_toggles(toggles: xr.Dataset, *, title: str | None = None) -> PanelGrid:
    """Log-probability of the targets with 0, 1, 2, ... heads switched off, largest score first; one panel per data set.

    x = heads switched off, y = log-probability in nats, the same scale in all panels. A line per score (solid with
    circles facilitation, dashed with squares irrelevance, dotted with diamonds interference) is the mean over seeds, a
    grey band their range. If the scores are right, the line of facilitation falls from the start, and the others stay
    or rise as long as scores are high. The notes say how far the line has moved when all heads of at least the
    threshold are off.

    Args:
        toggles: What `hc.papers.head_gating.toggle_curves` returns; of several data sets, `xarray.concat([...],
            "dataset")`.
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per data set, score and number of heads: `dataset, score,
        heads_off, log_prob` (mean over seeds), `least, most` (over seeds), `n_seeds, heads` (switched off last, with
        the number of seeds in which it was that one).

    Raises:
        DataError: a variable or dimension is missing, or no seed was measured.

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737, for the ablation in the order of the scores.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> dims = ("seed", "score", "heads_off")  # as hc.papers.head_gating.toggle_curves returns them
        >>> scores = ["facilitation", "irrelevance", "interference"]
        >>> falls = -np.arange(5) * np.array([2.0, 0.1, 0.0])[:, None] * np.ones((2, 1, 1))
        >>> places = np.tile([-1, 0, 1, 2, 3], (2, 3, 1))
        >>> toggles = xr.Dataset(
        ...     {"log_prob": (dims, falls), "layer_off": (dims, places), "head_off": (dims, 0 * places)}
        ...     | {"change": (dims[:2], falls[..., 2]), "n_high": (dims[:2], np.full((2, 3), 2))},
        ...     {"seed": [0, 1], "score": scores, "heads_off": range(5)},
        ... )
        >>> fig = hc.figures.gate_toggles(toggles)
        >>> list(hc.figures.data(fig).query("score == 'facilitation'").log_prob)
        [0.0, -2.0, -4.0, -6.0, -8.0]
    """
    toggles = _with_datasets(toggles)
    variables: dict[str, tuple[str, ...]] = {
        **dict.fromkeys(("log_prob", "layer_off", "head_off"), ("dataset", *_CURVE)),
        **dict.fromkeys(("change", "n_high"), ("dataset", *_CURVE[:2])),
    }
    call = "hc.papers.head_gating.toggle_curves(model, texts, gates)"
    require(toggles, variables, figure="gate_toggles", table=call, counted=False)
    missing = [score for score in SYMBOLS if score not in toggles["score"].values]
    if missing or not toggles["log_prob"].notnull().any():
        lacks = f"no score {missing[0]!r}" if missing else "no number"
        raise DataError(
            f"gate_toggles expects curves of all three scores from one seed at least; got {lacks}. Pass {call}."
        )
    names = panel_names(toggles, "dataset", figure="gate_toggles")
    frame = pd.concat([_rows(toggles.sel(dataset=name), name) for name in names], ignore_index=True)
    n = toggles.sizes["heads_off"]
    x = Axis("heads_off", n, "heads switched off", most=_TICKS)
    y = scale_over(frame["least"].min(), frame["most"].max(), "log-probability (nats)", default=(-1.0, 0.1))
    panels = [
        Panel(
            "" if name == _UNNAMED else name,
            [_plot(frame[frame["dataset"] == name], x, y)],
            notes=_notes(toggles.sel(dataset=name)),
        )
        for name in names
    ]
    signs = [f"{_SIGNS[score]} {score}" for score in SYMBOLS]
    seeds = pluralize(int(frame["n_seeds"].max()), "seed")
    caption = ["heads switched off in descending order of: " + "  ".join(signs), f"lines: mean over {seeds}"]
    caption += ["grey: their range"] if int(frame["n_seeds"].max()) > 1 else []
    return PanelGrid(panels, frame, title, caption, columns=3)


def _with_datasets(toggles: xr.Dataset) -> xr.Dataset:
    """With the dimension of data sets, which curves of a single one lack; anything else as it is."""
    if not isinstance(toggles, xr.Dataset) or "dataset" in toggles.dims or "log_prob" not in toggles:
        return toggles
    named = toggles if "dataset" in toggles.coords else toggles.assign_coords(dataset=_UNNAMED)
    return named.expand_dims("dataset")


def _rows(toggles: xr.Dataset, name: str) -> pd.DataFrame:
    curves = toggles.transpose(*_CURVE, ...)
    measured = curves["log_prob"].notnull().any(("score", "heads_off")).to_numpy()
    curves, unit = curves.isel(seed=np.flatnonzero(measured)), unit_of(toggles)
    parts = []
    for score in SYMBOLS:
        of_score = curves.sel(score=score)
        values = of_score["log_prob"].to_numpy()
        if not len(values):
            continue
        places = np.stack([of_score["layer_off"], of_score["head_off"]], axis=-1)
        columns = {"log_prob": values.mean(0), "least": values.min(0), "most": values.max(0), "n_seeds": len(values)}
        heads = [_named(places[:, step], unit) for step in range(places.shape[1])]
        labels = {"dataset": name, "score": score, "heads_off": of_score["heads_off"].to_numpy()}
        parts.append(pd.DataFrame(labels | columns | {"heads": heads}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _named(places: np.ndarray, unit: str) -> str:
    """Heads that were switched off last, those of most seeds first: `L1H3 (2 seeds), L0H1`; "" for none."""
    counts = Counter(tuple(place) for place in places.tolist() if place[0] >= 0)
    common = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    named = [
        cell_name(layer, head, unit) + (f" ({n} seeds)" if n > 1 and len(places) > 1 else "")
        for (layer, head), n in common[:_NAMED]
    ]
    return ", ".join(named) + (f" and {len(common) - _NAMED} more" if len(common) > _NAMED else "")


def _plot(rows: pd.DataFrame, x: Axis, y: Scale) -> Plot:
    bands, lines = [], []
    for score, symbol in SYMBOLS.items():
        of_score = rows[rows["score"] == score] if len(rows) else rows
        if not len(of_score):
            continue
        steps = of_score["heads_off"].to_numpy()
        if of_score["n_seeds"].iloc[0] > 1:
            ends = (of_score[end].to_numpy() for end in ("least", "most"))
            bands.append(band(steps, *ends, name=f"seeds, {score}", opacity=0.5))
        template = (
            f"<b>%{{heads_off}} heads off</b>, by {score}<br>log-probability %{{log_prob:.3f}} nats"
            "<br>seeds %{least:.3f} to %{most:.3f}<br>last: %{last}"
        )
        last = [heads or "none yet" for heads in of_score["heads"]]
        lines.append(
            marked_line(
                steps,
                of_score["log_prob"].to_numpy(),
                look=(OUTLINE, symbol, _DASHES[score]),
                name=score,
                every=max(1, round(len(steps) / _MARKERS)),
                hover=hover(template, of_score.assign(last=last), x="heads_off", y="log_prob"),
            )
        )
    return Plot(x, y, _SIZE, [*bands, *lines])


def _notes(toggles: xr.Dataset) -> list[str]:
    """Change of the curve of each score when all heads of at least the threshold are off."""
    threshold = float(json.loads(str(toggles.attrs.get("provenance", "{}"))).get("threshold", THRESHOLD))
    notes = []
    for score, sign in _SIGNS.items():
        of_score = toggles.sel(score=score)
        measured = of_score["change"].notnull()
        if bool(measured.any()):
            n_high, change = float(of_score["n_high"].where(measured).mean()), float(of_score["change"].mean())
            notes.append(f"{sign} {escaped(score)} ≥ {threshold:g}: {n_high:.3g} heads off, {change:+.2f} nats")
    return notes or ["no seed measured"]
