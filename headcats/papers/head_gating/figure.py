"""Gate scores over seeds: two panels per data set, Always and Any."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float, UInt8

from headcats.base.errors import OptionError, UnknownNameError, pluralize, unknown_name_message
from headcats.figures.colours import COLOUR_BLIND, NO_VALUE, ON_LIGHT, check_palette
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.colour_scale import ColourScale
from headcats.figures.panels.curves import broken_lines
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import LAYERS_ACROSS, check_layout, layer_head_cells
from headcats.figures.panels.layout import MARKED, Panel, Placed, Plot, Text
from headcats.figures.panels.legend import Entry, Legend
from headcats.figures.panels.text import escaped
from headcats.figures.tables import head_rows, require
from headcats.papers.head_gating.over_seeds import GATE_SCORES
from headcats.papers.head_gating.over_seeds import always_any as reduced_gates
from headcats.papers.head_gating.settings import THRESHOLD
from headcats.papers.panels import fixed_scale, head_layer_cells, panel_names

COMPOSITE = "composite"
REDUCTIONS = ("Always", "Any")
# Names that the published figure shortens.
SHORT = {"Math Calculation": "Math", "Syntactic Understanding": "Syntax"}
# Palette -> colours of a single score.
_SCALES = {"headcats": "Turbo", COLOUR_BLIND: "Cividis"}
_SIZE = 340  # pixels of the longer side of a panel, about
# Corner of the colour square -> (facilitation, interference).
CORNERS = {"both": (1.0, 1.0), "facilitation": (1.0, 0.0), "interference": (0.0, 1.0), "neither": (0.0, 0.0)}
# Palette -> red, green and blue of full interference and of full facilitation. Those of the second add up to white, and
# neither blindness to red, to green nor to blue brings any two of the four corners together.
_COLOURS = {"headcats": ((255, 0, 0), (0, 255, 0)), COLOUR_BLIND: ((255, 165, 0), (0, 90, 255))}
_SQUARE, _STEPS = 87, 28
_LEFT, _TOP, _LEGEND = 44, 22, 44  # pixels left of and above the square, and from it to the legend


@figure
def always_any(
    gates: xr.Dataset,
    *,
    score: str = COMPOSITE,
    threshold: float = THRESHOLD,
    palette: str = "headcats",
    layout: str = LAYERS_ACROSS,
    marks: str = MARKED,
    title: str | None = None,
) -> PanelGrid:
    """Gate scores of every head in all seeds (Always) and in at least one (Any), a row per data set.

    x = layer, y = head, head 0 on top; with `layout="paper"` x = Head, y = Layer, layer 0 at the bottom. Always is the
    smallest score over the seeds, Any the largest. Composite: red = interference, green = facilitation, so yellow =
    both and black = neither; heads with an interference of at least `threshold` are hatched. Or a single score, 0 to 1,
    from dark blue over green and yellow to red (turbo), hatched from `threshold` on. Above each panel stands the share
    of heads that reach the threshold; heads without a number are grey with a cross. Math Calculation and Syntactic
    Understanding are shortened as in the paper.

    Args:
        gates: What `hc.methods.head_gating` returns: `facilitation, interference, irrelevance (dataset, seed, layer,
            head)` in [0, 1].
        score: `"composite"`, `"facilitation"`, `"interference"` or `"irrelevance"`.
        threshold: Score from which a head counts, in (0, 1).
        palette: `"headcats"`: the paper's red and green; `"colour_blind"`: interference orange, facilitation blue, so
            both white and neither black, and single scores from dark blue to yellow (cividis).
        layout: `"layers"`: layer along x, as in other figures; `"paper"`: heads along x, every sixth numbered, or of up
            to 16 all.
        marks: `"all"`, or `"none"` for colours alone; with `layout="paper"` a copy for publication with the paper's
            ticks, at most five in steps of 1, 2, 5, 10, .... **There colour is the only cue.**
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel and head: `panel` (such as "Math (Always)"), `dataset,
        reduction, layer, head, name, facilitation, interference, irrelevance` (all reduced), `seeds` (how many),
        `hatched`, `colour` ("" in single-score panels and without a number); where heads share keys and values also
        `kv_head`.

    Raises:
        DataError: a variable or dimension is missing.
        UnknownNameError: another `score`, palette, `layout` or choice of `marks`.
        OptionError: `threshold` outside (0, 1).

    References:
        Layout after Nam et al. (2025), Causal Head Gating, arXiv 2505.13737, figure 3b.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> dims = ("dataset", "seed", "layer", "head")  # as hc.methods.head_gating returns them
        >>> names = ["facilitation", "interference", "irrelevance"]
        >>> scores = dict(zip(names, np.random.default_rng(0).random((3, 1, 3, 2, 4)), strict=True))
        >>> coords = {"dataset": ["plural"], "seed": range(3), "layer": range(2), "head": range(4)}
        >>> gates = xr.Dataset({name: (dims, values) for name, values in scores.items()}, coords)
        >>> fig = hc.figures.always_any(gates, palette="colour_blind")
        >>> list(hc.figures.data(fig).panel.unique())
        ['plural (Always)', 'plural (Any)']
    """
    if score not in (COMPOSITE, *GATE_SCORES):
        raise UnknownNameError(unknown_name_message("score of always_any", score, (COMPOSITE, *GATE_SCORES)))
    if not 0 < threshold < 1:
        raise OptionError(f"always_any expects a threshold between 0 and 1, both excluded; got {threshold}.")
    check_layout(layout)
    variables = dict.fromkeys(GATE_SCORES, ("dataset", "seed", "layer", "head"))
    require(gates, variables, figure="always_any", table='hc.suite_blocks(results)["head_gating"]')
    reduced = reduced_gates(gates, threshold=threshold)
    datasets = panel_names(gates, "dataset", figure="always_any")
    if set(datasets) <= set(SHORT):  # the published figure has Math above Syntax
        datasets = sorted(datasets, key=list(SHORT).index)
    frames = [
        _rows(reduced.sel(dataset=dataset), dataset, reduction, score, threshold=threshold, palette=palette)
        for dataset in datasets
        for reduction in REDUCTIONS
    ]
    frame = pd.concat(frames, ignore_index=True)
    within, least = (_SIZE, _SIZE), (120, 100)
    if layout == LAYERS_ACROSS:
        cells = layer_head_cells(gates, within=within, least=least)
    else:
        cells = head_layer_cells(gates, within=within, least=least, marks=marks)
    counted = ("facilitation", "interference") if score == COMPOSITE else (score,)
    panels = [
        Panel(
            str(panel_rows["panel"].iloc[0]),
            [_plot(cells, panel_rows, frame, score, palette=palette)],
            notes=[f"{name} ≥ {threshold:g}: {_share(panel_rows[name], threshold)} of heads" for name in counted],
        )
        for panel_rows in frames
    ]
    planned = int(gates.attrs.get("n_seeds", gates.sizes["seed"]))
    caption = _caption(frame, score, threshold=threshold, planned=planned)
    beside: ColourSquare | ColourScale = ColourSquare(threshold, palette)
    if score != COMPOSITE:
        beside = fixed_scale((0.0, 1.0), colours=_SCALES[palette], name=score.capitalize())
    return PanelGrid(panels, frame, title, caption, columns=2, beside=beside, grey=True, marks=marks)


def _rows(
    scores: xr.Dataset, dataset: str, reduction: str, score: str, *, threshold: float, palette: str
) -> pd.DataFrame:
    reduced = scores[reduction.lower()]
    rows = head_rows(scores, {name: reduced.sel(score=name).astype(float) for name in GATE_SCORES})
    rows.insert(0, "panel", f"{SHORT.get(dataset, dataset)} ({reduction})")
    rows.insert(1, "dataset", dataset)
    rows.insert(2, "reduction", reduction)
    rows["seeds"] = int(scores["n_seeds"])
    rows["hatched"] = rows["interference" if score == COMPOSITE else score] >= threshold
    colours = composite(rows["facilitation"].to_numpy(), rows["interference"].to_numpy(), palette=palette)
    return rows.assign(colour=[hex_colour(colour) for colour in colours] if score == COMPOSITE else "")


def _plot(cells: Cells, rows: pd.DataFrame, frame: pd.DataFrame, score: str, *, palette: str) -> Plot:
    name, dataset, reduction = (str(rows[column].iloc[0]) for column in ("panel", "dataset", "reduction"))
    pointed, lines = rows.reset_index(drop=True), []
    for column in GATE_SCORES:
        for end in REDUCTIONS:
            reduced = frame[(frame["dataset"] == dataset) & (frame["reduction"] == end)]
            pointed[f"{column}_{end}"] = reduced[column].to_numpy()
        value, least, most = (f"%{{{column}_{end}:.3f}}" for end in (reduction, *REDUCTIONS))
        lines.append(f"{column} {value} (seeds {least} to {most})")
    template = f"<b>L%{{layer}}H%{{head}}</b> {escaped(name)}<br>{'<br>'.join(lines)}"
    if score == COMPOSITE:
        rgba = composite(rows["facilitation"].to_numpy(), rows["interference"].to_numpy(), palette=palette)
        colours = [_image(cells, pointed, rgba, name=name, template=template), lines_between(cells)]
    else:
        colours = [cells.heatmap(pointed, score, name=name, template=template)]
    hatching = cells.hatching(rows[rows["hatched"]], name="hatched", ink=ON_LIGHT)
    return cells.plot([*colours, hatching, cells.crosses(rows[rows["facilitation"].isna()])])


def _image(
    cells: Cells, frame: pd.DataFrame, rgba: UInt8[np.ndarray, "row rgba"], *, name: str, template: str
) -> go.Image:
    """Cells in colours of their own, one per row of the frame."""
    colours = cells.grid(frame, rgba, fill=np.uint8(0))
    pointer = cells.pointer(frame, template)
    return go.Image(z=colours, colormodel="rgba", x0=0, dx=1, y0=0, dy=1, name=name, **pointer)


def lines_between(cells: Cells) -> go.Scatter | None:
    """Light lines between the cells of an image, as wide as the gaps of a heatmap."""
    # A line of odd width on the border of two pixels would be smeared over both.
    across, down = (0.5 * (cells.gap % 2) / side for side in cells.size)
    left, top = np.arange(1, cells.x.n) - 0.5 + across, np.arange(1, cells.y.n) - 0.5 + down
    if not cells.gap or not (left.size or top.size):
        return None
    upright, flat = ((left, -0.5), (left, cells.y.n - 0.5)), ((-0.5, top), (cells.x.n - 0.5, top))
    xs, ys = np.concatenate([broken_lines(*upright), broken_lines(*flat)], axis=1)
    return go.Scatter(x=xs, y=ys, mode="lines", line={"color": NO_VALUE, "width": cells.gap}, name="cell lines")


def _share(values: pd.Series, threshold: float) -> str:
    scored = values.dropna()
    return f"{100 * float((scored >= threshold).mean()):.1f} %" if len(scored) else "none"


def _caption(frame: pd.DataFrame, score: str, *, threshold: float, planned: int) -> list[str]:
    """Seeds (of how many each row, where these are not the same), short names, hatching, crosses."""
    seeds = frame.groupby("dataset", sort=False)["seeds"].first()
    least, most = int(seeds.min()), int(seeds.max())
    planned = max(planned, most)
    span = f"{least} to {pluralize(most, 'seed')}" if least < most else pluralize(most, "seed")
    parts = [f"Always = smallest, Any = largest score of {span}"]
    if most == 1:
        parts.append("with one seed, Always and Any are the same")
    if least < planned:
        rows = (f"{escaped(SHORT.get(name, name))} {n} of {pluralize(planned, 'seed')}" for name, n in seeds.items())
        parts.append(f"not all seeds are here: {', '.join(rows)}")
    if least < most:
        parts.append("Always shrinks and Any grows with seeds, so these rows cannot be compared")
    parts += [f"{abbreviation} = {name}" for name, abbreviation in SHORT.items() if name in seeds.index]
    return [*parts, f"hatched: {'interference' if score == COMPOSITE else score} ≥ {threshold:g}"]


def composite(
    facilitation: Float[np.ndarray, "..."], interference: Float[np.ndarray, "..."], *, palette: str = "headcats"
) -> UInt8[np.ndarray, "... rgba"]:
    """Colours of heads with these scores in [0, 1] (see `_COLOURS`); transparent where either is NaN."""
    check_palette(palette)
    missing = np.isnan(facilitation) | np.isnan(interference)
    scores = np.stack([np.clip(np.nan_to_num(score), 0, 1) for score in (interference, facilitation)], axis=-1)
    levels = np.rint(scores @ np.array(_COLOURS[palette], dtype=scores.dtype)).clip(0, 255)
    opaque = np.where(missing, 0, 255)[..., None]
    return np.concatenate([levels, opaque], axis=-1).astype(np.uint8)


def hex_colour(rgba: UInt8[np.ndarray, " rgba"]) -> str:
    """`#rrggbb`, or "" for a transparent one."""
    return "#{:02x}{:02x}{:02x}".format(*rgba[:3]) if rgba[3] else ""


def corner_colour(name: str, *, palette: str = "headcats") -> str:
    """Colour of a corner of the square, `#rrggbb`."""
    return hex_colour(composite(*(np.array(score) for score in CORNERS[name]), palette=palette))


@dataclass(frozen=True)
class ColourSquare:
    """Square of all colours with its two axes and a legend of its corners; see `Beside`."""

    hatched_from: float
    """Interference from which cells are hatched."""
    palette: str = "headcats"

    def size(self, length: int) -> tuple[int, int]:
        """See `Beside`; the same beside plots of any height."""
        return 150, 250

    def unmarked(self) -> "ColourSquare":
        """See `Beside`: nothing is hatched."""
        return dataclasses.replace(self, hatched_from=math.inf)

    def placed(self, at: tuple[int, int], length: int) -> list[Placed]:
        """See `Beside`."""
        labels = ["0", *[""] * (_STEPS // 2 - 1), "0.5", *[""] * (_STEPS // 2 - 1), "1"]
        across, upwards = (Axis(name, _STEPS + 1, name, labels=labels) for name in ("facilitation", "interference"))
        left, top = at[0] + _LEFT, at[1] + _TOP
        # From top to bottom the rows of a picture follow its y axis, as cells of heads do.
        colours = composite(*np.meshgrid(*[np.linspace(0, 1, _STEPS + 1)] * 2), palette=self.palette)
        square = go.Image(z=colours, colormodel="rgba", name="colours")
        hatches = {name: ON_LIGHT if CORNERS[name][1] >= self.hatched_from else "" for name in CORNERS}
        entries = [
            Entry(name, corner_colour(name, palette=self.palette), hatch, outlined=True)
            for name, hatch in hatches.items()
        ]
        return [
            Placed(Plot(across, upwards, (_SQUARE, _SQUARE), [square]), (left, top)),
            Placed(Text("Colours", 13), (at[0], at[1] - 2)),
            *Legend(entries).placed((at[0], top + _SQUARE + _LEGEND), length),
        ]
