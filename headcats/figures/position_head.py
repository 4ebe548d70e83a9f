"""Position x head: where in the prompt the output of a head matters."""

import math

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError, UnknownNameError, check_count, unknown_name_message
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells, square_cells
from headcats.figures.panels.colour_scale import signed_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel
from headcats.figures.panels.text import escaped
from headcats.figures.tables import require
from headcats.results.visible import shortened, visible, with_visible_ends
from headcats.scores.given_blocks import usual_metric

_UNPATCHED = ("metric", "prompt")
_VARIABLES = {
    "patched": ("metric", "prompt", "position", "layer", "head"),
    "clean": _UNPATCHED,
    "corrupted": _UNPATCHED,
}
_SIZE, _LEAST = (1040, 640), (160, 60)  # pixels of the map, about
_LABELLED = 13  # pixels of a cell that has room for the text of its token
_LONGEST = 16  # letters of a token


@figure
def position_head(
    by_position: xr.Dataset, *, heads: int = 20, metric: str | None = None, title: str | None = None
) -> PanelGrid:
    """Signed effect of every head at every position of the prompts.

    x = the heads with the largest effect at any position, by layer; y = position, from the first downwards, named by
    its token where all prompts have the same; else by its role, or by the first prompt's token and "…". One diverging
    colour scale around 0 (blue = the head helps there, red = it hurts), clipped at the 99.9th percentile, which "≤" and
    "+" at its ends then say. An open circle marks effects that cannot be told from the rounding of a 16-bit model.

    Args:
        by_position: As `hc.sweep(..., positions="each")` returns it: `patched (metric, prompt, position, layer, head)`,
            `clean` and `corrupted (metric, prompt)`; or as `hc.as_block` makes it. With one head per layer, columns
            are layers.
        heads: Most heads.
        metric: Metric to draw; None takes "logit_diff", or the only one.
        title: Written above the map; an approximation is named there and in the hover.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per head that is drawn and position: `layer, head, name,
        position, token, role, effect`, the mean over prompts in shares of the mean clean-corrupted gap, and
        `below_noise`; for an approximation also `approximation`.

    Raises:
        DataError: Another table, no prompt, or a mean gap that is not above 0.
        OptionError: `heads` is no number of at least 1, or several metrics to choose from.
        UnknownNameError: Unknown metric.

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> batch = hc.task_prompts("mini", "country_capital", suite=two, n_prompts=4)[0]
        >>> ds = hc.sweep(hc.load_model("mini"), batch, "denoising_patch", positions="each")
        >>> fig = hc.figures.position_head(ds, heads=8)
        >>> hc.figures.data(fig).groupby("role").effect.max().idxmax()  # the end of the prompt
        'between_query'

    References:
        Meng et al. (2022), arXiv 2202.05262, for patches position by position; Heimersheim & Nanda (2024), arXiv
        2404.15255, for the effect.
    """
    require(by_position, _VARIABLES, figure="position_head", table="hc.sweep(model, batch, method, positions='each')")
    check_count("heads", heads)
    metric = metric or usual_metric({"": by_position})
    if metric not in (known := [str(name) for name in by_position["metric"].values]):
        raise UnknownNameError(unknown_name_message("metric of this sweep", metric, known))
    effect = _effects(by_position.sel(metric=metric))
    frame, labels, n_heads = _frame(by_position.sel(metric=metric), effect, heads=heads)
    rows = list(dict.fromkeys(frame["name"]))
    cells = _cells(rows, labels, int(by_position["position"][0]))
    # Few cells of many act.
    scale = signed_scale(frame["effect"].to_numpy(), name="effect", quantile=0.999)
    spoken = frame.assign(
        place=np.tile(np.arange(len(labels)), len(rows)), label=np.tile(labels, len(rows)), spoken=_spoken(frame)
    )
    template = "<b>%{name}</b> at %{spoken}<br>effect %{effect:.3f}"
    noisy = frame["below_noise"] & (frame["effect"] != 0)
    traces = [
        cells.heatmap(spoken, "effect", name="effect", template=template),
        cells.symbols(spoken[noisy], name="below noise", symbol="circle-open", share=0.45, opacity=0.35),
        cells.crosses(spoken[frame["effect"].isna()]),
    ]
    caption = ["blue: helps there, red: hurts"]
    if len(rows) < n_heads:
        caption.append(f"the {len(rows)} of {n_heads} heads with the largest effects")
    caption += ["○ below 16-bit noise"] if noisy.any() else []
    return PanelGrid([Panel("", [cells.plot(traces)])], frame, title, caption, beside=scale, grey=True)


def _cells(heads: list[str], labels: list[str], first: int) -> Cells:
    x = Axis("name", len(heads), "", labels=heads, slanted=True)
    y = Axis("place", len(labels), "position", first=first, reverse=True)
    # Positions may be many, and scroll; heads are few, and their names need room.
    width = max(_LABELLED, square_cells(x, y, within=_SIZE[::-1], least=_LEAST)[0])
    height = max(3, min(22, _SIZE[0] // len(labels)), math.ceil(_LEAST[1] / len(labels)))
    named = Axis("label", len(labels), "", labels=labels, reverse=True)
    return Cells(x, named if height >= _LABELLED else y.every(5, height), (width, height))


def _effects(sweep: xr.Dataset) -> xr.DataArray:
    """Effects over (position, layer, head), in shares of the gap."""
    gap = float((sweep["clean"] - sweep["corrupted"]).mean("prompt"))
    if not gap > 0:
        raise DataError(
            f"The mean clean-corrupted gap is {gap:.3g}: effects are shares of it, and mean nothing unless it is above "
            "0."
        )
    sign = 1 if sweep.attrs.get("base") == "corrupted" else -1
    with xr.set_options(arithmetic_join="exact"):
        change = (sweep["patched"] - sweep["corrupted" if sign == 1 else "clean"]).mean("prompt")
    return (sign * change / gap).transpose("position", "layer", "head")


def _frame(sweep: xr.Dataset, effect: xr.DataArray, *, heads: int) -> tuple[pd.DataFrame, list[str], int]:
    """Rows, one per head and position; the label of every position; and the number of heads with numbers."""
    largest = abs(effect).max("position").to_series().dropna()
    chosen = sorted(largest.sort_values(ascending=False, kind="stable").index[:heads]) or [
        (int(effect["layer"][0]), int(effect["head"][0]))
    ]
    tokens, roles, labels = _names(sweep)
    noise = sweep["below_noise"] if "below_noise" in sweep else xr.zeros_like(effect, dtype=bool)
    noise = noise.transpose("position", "layer", "head")
    positions = {"position": sweep["position"].values, "token": tokens, "role": roles}
    parts = []
    for layer, head in chosen:
        name = f"L{layer}H{head}" if effect.sizes["head"] > 1 else f"L{layer}"
        tables = {"effect": effect, "below_noise": noise}
        columns = {column: table.sel(layer=layer, head=head).values for column, table in tables.items()}
        parts.append(pd.DataFrame({"layer": layer, "head": head, "name": name} | positions | columns))
    return pd.concat(parts, ignore_index=True), labels, len(largest)


def _names(sweep: xr.Dataset) -> tuple[list[str], list[str], list[str]]:
    """Token, role and label of every position; "" where they are not known, or differ between prompts."""
    positions = sweep["position"].values.tolist()
    roles = list(map(str, sweep["role"].values)) if "role" in sweep.coords else [""] * len(positions)
    tokens, labels = [""] * len(positions), [str(position) for position in positions]
    if "token" not in sweep.coords:
        return tokens, roles, [f"{label} {role}".strip() for label, role in zip(labels, roles, strict=True)]
    for place, of_prompts in enumerate(sweep["token"].transpose("position", "prompt").values):
        first, same = str(of_prompts[0]), len(set(of_prompts)) == 1
        tokens[place] = first if same else ""
        text = first if same else roles[place] or f"{first} …"
        labels[place] = f"{positions[place]} {shortened(with_visible_ends(text), most=_LONGEST)}"
    return tokens, roles, labels


def _spoken(frame: pd.DataFrame) -> pd.Series:
    """Text at the pointer on a position: its number, token and role."""
    token = frame["token"].map(lambda text: escaped(f" {visible(text)!r}") if text else "")
    role = frame["role"].map(lambda text: escaped(f", {text}") if text else "")
    return "position " + frame["position"].astype(str) + token + role
