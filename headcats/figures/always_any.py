"""What every gate fit agrees on, and what any of them found: two panels per data set."""

import html
import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import OptionError, UnknownNameError
from headcats.figures.axes import Axis, Canvas, add_axes, add_text, ticks_every
from headcats.figures.cells import head_name, n_cells, of_frame, require
from headcats.figures.colour_bar import fixed_colour_axis
from headcats.figures.colours import COLOUR_BLIND, ON_LIGHT, check_palette
from headcats.figures.composite import LEGEND, add_colour_square, composite, hex_colour
from headcats.figures.figure import figure
from headcats.figures.hatch import hatch_lines
from headcats.figures.marks import TINY, add_cell_lines, add_crosses, heatmap
from headcats.figures.panel_order import panel_names
from headcats.figures.placing import below_caption, captioned_figure, folded, in_rows, title_width
from headcats.formatting import pluralize
from headcats.registry import unknown_name_message
from headcats.scores import always_any as reduced_gates

SCORES = ("facilitation", "interference", "irrelevance")
COMPOSITE = "composite"
REDUCTIONS = ("Always", "Any")
# Names that the published figure shortens.
SHORT = {"Math Calculation": "Math", "Syntactic Understanding": "Syntax"}
TICKS = 6
# Palette -> colours of a single score.
_SCALES = {"headcats": "Turbo", COLOUR_BLIND: "Cividis"}

_SIZE = 340  # pixels of the longer side of a panel, about
_LEFT, _RIGHT, _BOTTOM = 62, 40, 12
_BETWEEN, _TICKS, _NAME, _BAR = 46, 22, 18, 84


@figure
def always_any(
    gates: xr.Dataset,
    *,
    score: str = COMPOSITE,
    threshold: float = 0.5,
    palette: str = "headcats",
    title: str | None = None,
) -> tuple[go.Figure, pd.DataFrame]:
    """What learned gates say of every head: in all seeds (Always) and in at least one (Any), a row per data set.

    x = Head, y = Layer, layer 0 at the bottom; ticks every 6, as in the paper (on every one of up to 16
    that have room: in steps of 6 a small model would have two numbers). Always is the
    smallest score over the seeds, Any the largest. Composite: red = interference, green = facilitation, so yellow =
    both and black = neither; heads with an interference of at least `threshold` are hatched, so that the corners differ
    in more than colour. Or one score per panel, 0 to 1, from dark blue over green and yellow to red (turbo), hatched
    from `threshold` on. Above every panel stands the share of heads that reach the threshold; heads without a number
    are grey with a cross. Math Calculation and Syntactic Understanding are called Math and Syntax, as in the paper; the
    caption says so.

    Args:
        gates: `facilitation, interference, irrelevance (dataset, seed, layer, head)`, each in [0, 1], as
            `hc.methods.head_gating` returns it; any number of data sets. What is drawn is `hc.always_any(gates)`.
        score: `"composite"`, `"facilitation"`, `"interference"` or `"irrelevance"`.
        threshold: Score from which a head counts, in (0, 1).
        palette: `"headcats"`: the paper's red and green; `"colour_blind"`: interference orange, facilitation blue, so
            both white and neither black, and single scores from dark blue to yellow (cividis).
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel and head: `panel` (such as "Math (Always)"), `dataset,
        reduction, layer, head, name, facilitation, interference, irrelevance` (all three reduced), `seeds` (how many
        were), `hatched`, `colour` ("" in single-score panels and without a number).

    Raises:
        DataError: a variable or dimension is missing.
        UnknownNameError: another `score` or palette.
        OptionError: `threshold` outside (0, 1).

    References:
        Layout after Nam et al. (2025), Causal Head Gating, arXiv 2505.13737, figure 3b.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> dims = ("dataset", "seed", "layer", "head")  # as hc.methods.head_gating returns them
        >>> facilitation, interference = np.random.default_rng(0).random((2, 1, 3, 2, 4))
        >>> scores = {"facilitation": facilitation, "interference": interference}
        >>> scores["irrelevance"] = (1 - facilitation) * (1 - interference)
        >>> coords = {"dataset": ["plural"], "seed": range(3), "layer": range(2), "head": range(4)}
        >>> gates = xr.Dataset({name: (dims, values) for name, values in scores.items()}, coords)
        >>> fig = hc.figures.always_any(gates, palette="colour_blind")
        >>> list(hc.figures.data(fig).panel.unique())
        ['plural (Always)', 'plural (Any)']
    """
    if score not in (COMPOSITE, *SCORES):
        raise UnknownNameError(unknown_name_message("score of always_any", score, (COMPOSITE, *SCORES)))
    if not 0 < threshold < 1:
        raise OptionError(f"always_any expects a threshold between 0 and 1, both excluded; got {threshold}.")
    check_palette(palette)
    variables = dict.fromkeys(SCORES, ("dataset", "seed", "layer", "head"))
    table = 'hc.suite_blocks(results)["head_gating"]'
    require(gates, variables, figure="always_any", source="hc.methods.head_gating", table=table)
    frame = _frame(gates, score, threshold=threshold, palette=palette)
    return _draw(gates, frame, score, threshold=threshold, palette=palette, title=title), frame


def _datasets(gates: xr.Dataset) -> list[str]:
    names = panel_names(gates["facilitation"], "dataset", categories=gates.attrs.get("categories"), figure="always_any")
    # The published figure has Math above Syntax.
    return sorted(names, key=list(SHORT).index) if set(names) <= set(SHORT) else names


def _asked(gates: xr.Dataset) -> int:
    """Seeds that a run was asked for; those of the table where it does not say."""
    return int(gates.attrs.get("n_seeds", gates.sizes["seed"]))


def _frame(gates: xr.Dataset, score: str, *, threshold: float, palette: str) -> pd.DataFrame:
    reduced = reduced_gates(gates, threshold=threshold)
    panels = []
    for dataset in _datasets(gates):
        here = reduced.sel(dataset=dataset).transpose("score", "layer", "head")
        layers, heads = (grid.ravel() for grid in np.meshgrid(here["layer"], here["head"], indexing="ij"))
        for reduction in REDUCTIONS:
            one = pd.DataFrame({"layer": layers, "head": heads})
            one.insert(0, "panel", f"{SHORT.get(dataset, dataset)} ({reduction})")
            one.insert(1, "dataset", dataset)
            one.insert(2, "reduction", reduction)
            one["name"] = [head_name(int(layer), int(head)) for layer, head in zip(layers, heads, strict=True)]
            for name in SCORES:
                one[name] = here[reduction.lower()].sel(score=name).to_numpy().ravel().astype(float)
            one["seeds"] = int(here["n_seeds"])
            one["hatched"] = one["interference" if score == COMPOSITE else score] >= threshold
            pair = (one[["facilitation"]].to_numpy(), one[["interference"]].to_numpy())
            colours = composite(*pair, palette=palette)[:, 0]
            one["colour"] = [hex_colour(colour) for colour in colours] if score == COMPOSITE else ""
            panels.append(one)
    return pd.concat(panels, ignore_index=True)


def _draw(
    gates: xr.Dataset, frame: pd.DataFrame, score: str, *, threshold: float, palette: str, title: str | None
) -> go.Figure:
    n_layers, n_heads = n_cells(gates, "layer"), n_cells(gates, "head")
    side = max(3, min(60, _SIZE // max(n_layers, n_heads)))
    cell = (max(side, math.ceil(120 / n_heads)), max(side, math.ceil(100 / n_layers)))
    size = (cell[0] * n_heads, cell[1] * n_layers)
    names = list(dict.fromkeys(frame["panel"]))
    counted = ("facilitation", "interference") if score == COMPOSITE else (score,)
    head_room = 22 + 15 * len(counted)
    longest = max(map(len, names))
    step = (max(size[0] + _BETWEEN, math.ceil(7.6 * longest) + 14, 225), head_room + size[1] + _TICKS + _NAME)
    n_rows = len(names) // 2

    right = _LEFT + step[0] + max(size[0], step[0] - _BETWEEN)
    beside = LEGEND[0] if score == COMPOSITE else _BAR
    width = max(right + 16 + beside + _RIGHT, title_width(title))
    lines = folded(_caption(frame, score, threshold=threshold, asked=_asked(gates)), width=width - 32)
    top = below_caption(title, lines)
    bar = max(n_rows * step[1] - head_room - _TICKS - _NAME, 150)
    height = max(top + n_rows * step[1], top + head_room + max(bar, LEGEND[1] if score == COMPOSITE else 0)) + _BOTTOM
    canvas = Canvas(width=width, height=height)

    fig = captioned_figure(canvas, title=title, lines=lines)
    spots = in_rows(len(names), columns=2, size=size, step=step, at=(_LEFT, top + head_room))
    for name, spot in zip(names, spots, strict=True):
        panel, here = spot.panel, frame[frame["panel"] == name]
        across = Axis(n_heads, "Head" if spot.outer[0] else "", ticks_every(TICKS, n_heads, cell=cell[0]))
        upwards = Axis(n_layers, "Layer" if spot.outer[1] else "", ticks_every(TICKS, n_layers, cell=cell[1]))
        axes = add_axes(fig, panel, canvas=canvas, x=across, y=upwards)
        middle = panel.left + size[0] // 2
        shown = html.escape(name, quote=False)
        add_text(fig, shown, canvas=canvas, at=(middle, panel.top - head_room + 2), size=14, anchor="center")
        for i, one in enumerate(counted):
            text = f"{one} ≥ {threshold:g}: {_share(here[one], threshold)} of heads"
            y = panel.top - 16 - 15 * (len(counted) - 1 - i)
            add_text(fig, text, canvas=canvas, at=(middle, y), size=11, anchor="center", quiet=True)
        _add_panel(fig, here, frame, score, palette=palette, cell=cell, axes=axes)
    at = (right + 16, spots[0].panel.top)
    if score == COMPOSITE:
        add_colour_square(fig, canvas=canvas, at=at, hatched_from=threshold, palette=palette)
    else:
        fig.update_layout(
            coloraxis=fixed_colour_axis(
                (0.0, 1.0),
                clipped=(False, False),
                colours=_SCALES[palette],
                at=(canvas.x(at[0]), canvas.y(at[1])),
                length=bar,
                name=score.capitalize(),
            )
        )
    return fig


def _add_panel(
    fig: go.Figure,
    here: pd.DataFrame,
    frame: pd.DataFrame,
    score: str,
    *,
    palette: str,
    cell: tuple[int, int],
    axes: dict[str, str],
) -> None:
    row = frame[frame["dataset"] == here["dataset"].iloc[0]]
    ends = [_grid(row[row["reduction"] == reduction], name) for name in SCORES for reduction in REDUCTIONS]
    facilitation, interference = _grid(here, "facilitation"), _grid(here, "interference")
    which = REDUCTIONS.index(here["reduction"].iloc[0])
    own = [f"{name} %{{customdata[{2 * i + which}]:.3f}}" for i, name in enumerate(SCORES)]
    spread = [f"(seeds %{{customdata[{2 * i}]:.3f}} to %{{customdata[{2 * i + 1}]:.3f}})" for i in range(len(SCORES))]
    numbers = "<br>".join(f"{one} {seeds}" for one, seeds in zip(own, spread, strict=True))
    hover: dict[str, Any] = {
        "customdata": np.stack(ends, axis=-1),
        "hovertemplate": f"<b>L%{{y}}H%{{x}}</b> {html.escape(str(here['panel'].iloc[0]), quote=False)}<br>{numbers}"
        "<extra></extra>",
        "name": str(here["panel"].iloc[0]),
    }
    if score == COMPOSITE:
        colours = composite(facilitation, interference, palette=palette)
        fig.add_trace(go.Image(z=colours, colormodel="rgba", x0=0, dx=1, y0=0, dy=1, **hover, **axes))
        add_cell_lines(fig, facilitation.shape, cell=cell, axes=axes)
    else:
        fig.add_trace(heatmap(_grid(here, score), cell=cell, axes=axes, **hover))
    hatched = of_frame(here, here["hatched"], fill=False)
    # Hatching runs downwards; here layers run upwards.
    xs, ys = hatch_lines(hatched[::-1], cell=cell)
    ys = len(hatched) - 1 - ys
    lines = {"color": ON_LIGHT, "width": 1 if min(cell) >= TINY else 0.5}
    fig.add_trace(
        go.Scatter(
            x=xs,
            y=ys,
            mode="lines",
            line=lines,
            opacity=0.45 if min(cell) >= TINY else 0.3,
            hoverinfo="skip",
            showlegend=False,
            name="hatched",
            **axes,
        )
    )
    add_crosses(fig, np.isnan(facilitation), cell=cell, axes=axes)


def _grid(frame: pd.DataFrame, column: str) -> np.ndarray:
    return of_frame(frame, frame[column], fill=np.float32(np.nan))


def _share(values: pd.Series, threshold: float) -> str:
    known = values.dropna()
    return f"{100 * float((known >= threshold).mean()):.1f} %" if len(known) else "none"


def _caption(frame: pd.DataFrame, score: str, *, threshold: float, asked: int) -> list[str]:
    parts = _seeds(frame, asked=asked)
    short = [name for name in SHORT if name in set(frame["dataset"])]
    parts += [f"{SHORT[name]} = {name}" for name in short]
    parts.append(f"hatched: {'interference' if score == COMPOSITE else score} ≥ {threshold:g}")
    if frame["facilitation"].isna().any():
        parts.append("× no value")
    return parts


def _seeds(frame: pd.DataFrame, *, asked: int) -> list[str]:
    """Of how many seeds the scores are the smallest and largest: of how many each row, where these are not the same."""
    found = {
        SHORT.get(str(name), str(name)): int(n)
        for name, n in frame.groupby("dataset", sort=False)["seeds"].first().items()
    }
    asked = max(asked, *found.values())
    least, most = min(found.values()), max(found.values())
    span = f"{least} to {pluralize(most, 'seed')}" if least < most else pluralize(most, "seed")
    parts = [f"Always = smallest, Any = largest score of {span}"]
    if most == 1:
        parts.append("with one seed, Always and Any are the same")
    if least < asked:
        rows = ", ".join(
            f"{html.escape(name, quote=False)} {n} of {pluralize(asked, 'seed')}" for name, n in found.items()
        )
        parts.append(f"not all seeds are here: {rows}")
    if least < most:
        parts.append("Always shrinks and Any grows with seeds, so these rows cannot be compared")
    return parts
