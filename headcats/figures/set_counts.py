"""Numbers of heads in exactly each set of categories, beside those that chance would give."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import pluralize
from headcats.categories.exact_sets import exact_sets
from headcats.figures.colours import FAINT, TEXT, Palette, entry_of, ink_on, named_palette, suite_colours
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.curves import broken_lines, stacked_bars
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import WIDEST, Panel, Plot
from headcats.figures.panels.text import SMALL, escaped, text_width
from headcats.figures.tables import require
from headcats.results.head_axes import noun, unit_of

_VARIABLES: dict[str, tuple[str, ...]] = dict.fromkeys(("member", "effect", "undecided"), ("category", "layer", "head"))
# Suffix of the variables of `exact_sets` -> row of numbers, symbol, and where in its column (in columns) it stands.
_CHANCES = {"": ("by chance", "diamond", 0.1), "_within_layers": ("by chance in layers", "circle-open", 0.3)}
_ROWS = ("heads", "least–most", *(row for row, _, _ in _CHANCES.values()))
_AT_LEAST = 1  # heads that chance has to give to a set without heads that is shown
_BAR, _BAR_AT = 0.36, -0.2
# Pixels. Columns grow to the second width where there are few.
_COLUMN, _WIDE, _ROW, _HEIGHT, _LEAST, _BESIDE = 44, 130, 22, 220, 500, 60


@figure
def set_counts(overlap: xr.Dataset, *, palette: str = "headcats", title: str | None = None) -> PanelGrid:
    """Heads that are in exactly each set of categories, beside their number by chance: an UpSet plot.

    One column per set, small sets first; filled dots below it say which categories it has. Bars: heads observed,
    undecided ones counted as out; hatched where a head is undecided in another category. Below: the least and most
    heads that settling these could give. Diamond: mean number by chance, every category's heads spread independently of
    the others over all heads; circle: over the heads of each layer; lines: their exact 95 % intervals. Shown are all
    single categories, every other set with heads, and sets without heads of which chance would give at least one; the
    caption says what is left out. Chance tests whether categories are independent of each other, not whether they are
    specific.

    Args:
        overlap: As `hc.overlap` returns it: `member` (1 = in), `effect` and `undecided (category, layer, head)`; 1 to 8
            categories, in the order and colours of the attribute `categories`, or without it as in a suite. Categories
            and heads without numbers take no part.
        palette: As in `overlap_map`.
        title: Written above.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per set, shown or not, also that of no category: `set` (names
        joined by "+", "" for none), `n_categories, observed, observed_least, observed_most, expected, low, high, p,
        expected_within_layers, low_within_layers, high_within_layers, p_within_layers` (p: at least as many by chance,
        one-sided), `heads` (such as "L0H1, L2H0"), `label, colour` (as in `overlap_map`), `shown`; also
        `approximation`, if any. `observed` and both `expected` sum to the number of heads.

    Raises:
        DataError: a variable or dimension is missing, a category that the attribute `categories` does not list, or no
            category has numbers.
        UnknownNameError: unknown palette.

    References:
        Layout after Lex, Gehlenborg, Strobelt, Vuillemot & Pfister (2014), UpSet, IEEE Trans. Vis. Comput. Graph. 20,
        1983-1992.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> overlap = hc.overlap(hc.categorize(hc.score(results, method="denoising_patch")))
        >>> fig = hc.figures.set_counts(overlap)
        >>> numbers = hc.figures.data(fig)
        >>> bool(numbers.observed.sum() == numbers.expected.sum().round(6))
        True
    """
    require(overlap, _VARIABLES, figure="set_counts", table="hc.overlap(hc.categorize(hc.score(results)))")
    colours = named_palette(palette, suite_colours(overlap))
    order = list(colours.categories)
    sets = exact_sets(overlap.sel(category=order))
    categories = [str(name) for name in sets["category"].values]
    cells = f"{noun(unit_of(overlap))}s"
    y = Axis("row", len(_ROWS) + len(categories), labels=[cells, *_ROWS[1:], *categories], reverse=True)
    spans = zip(sets["observed_least"].values.tolist(), sets["observed_most"].values.tolist(), strict=True)
    column = max(_COLUMN, *(text_width(_span(*span), SMALL) + 10 for span in spans))
    frame = _frame(sets, colours, most=(WIDEST - y.room - _BESIDE) // column)
    columns = frame[frame["shown"]].reset_index(drop=True)
    n = len(columns)
    width = n * min(max(_WIDE, column), max(column, _LEAST // n))
    tops = columns[["observed", "high", "high_within_layers"]].max(axis=1)
    most = max(1.0, float(tops.max())) * 1.05
    heads = Scale(0.0, most, cells, format="d" if most > 5 else "")
    hovertext = [_pointed(row) for row in columns.itertuples()]  # `text` would be written on bars
    hover = {"hovertext": hovertext, "hovertemplate": "%{hovertext}<extra></extra>"}
    bars = [*_bars(columns, hover), *(_chance(columns, suffix) for suffix in _CHANCES)]
    inside = sets["contains"].transpose("set", "category").to_numpy()[frame["shown"]].astype(bool)
    # Bars of no head have nothing to point at; their numbers have.
    dots = [*_numbers(columns, hover), *_dots(inside)]
    plots = [Plot(Axis("set", n), heads, (width, _HEIGHT), bars), Plot(Axis("set", n), y, (width, _ROW * y.n), dots)]
    caption = _caption(frame, [name for name in order if name not in categories], cells)
    return PanelGrid([Panel("", plots)], frame, title, caption)


def _frame(sets: xr.Dataset, colours: Palette, *, most: int) -> pd.DataFrame:
    sets = sets.assign(n_categories=sets["contains"].sum("category")).drop_dims("category")
    by_chance = [f"{name}{suffix}" for suffix in _CHANCES for name in ("expected", "low", "high", "p")]
    observed = ["observed", "observed_least", "observed_most"]
    frame = sets[["n_categories", *observed, *by_chance, "heads"]].to_dataframe().reset_index()
    n = frame["n_categories"]
    frame["label"] = entry_of(n, frame["set"])
    frame["colour"] = frame["label"].map(colours.entries)
    mean = frame[["expected", "expected_within_layers"]].max(axis=1)
    eligible = ((frame["observed"] > 0) | (mean >= _AT_LEAST) | (n == 1)) & (n > 0)
    # Where there are more columns than room, those with the fewest heads are left out, and of as many heads those that
    # chance would give anyway.
    place = pd.Series(np.lexsort((mean, -frame["observed"], n != 1, ~eligible)).argsort())
    frame["shown"] = eligible & ((place < most) | (n == 1))
    return frame


def _pointed(row: Any) -> str:
    """Text at the pointer on a set."""
    values = row._asdict()
    chances = (
        f"<br>{name}: {values[f'expected{suffix}']:.2f} [{values[f'low{suffix}']}, {values[f'high{suffix}']}], "
        f"p {values[f'p{suffix}']:.2g}"
        for suffix, (name, _, _) in _CHANCES.items()
    )
    heads = f": {_first(row.heads)}" if row.heads else ""
    least, most = row.observed_least, row.observed_most
    observed = f"{row.observed} observed{f' (least {least}, most {most})' if least < most else ''}{heads}"
    return f"<b>{escaped(row.set).replace('+', ' + ')}</b><br>{observed}{''.join(chances)}"


def _bars(columns: pd.DataFrame, hover: dict[str, Any]) -> list[go.Bar]:
    """Heads of each set: those that are out of all others, and on top those that are undecided in some."""
    colours, certain = list(columns["colour"]), columns["observed_least"].to_numpy()
    counts = {"heads for certain": certain, "heads undecided elsewhere": columns["observed"].to_numpy() - certain}
    return stacked_bars(
        np.arange(len(columns)) + _BAR_AT, counts, width=_BAR, colour=colours,
        undecided=colours, ink=[*map(ink_on, colours)], **hover,
    )  # fmt: skip


def _chance(columns: pd.DataFrame, suffix: str) -> go.Scatter:
    name, symbol, at = _CHANCES[suffix]
    mean, low, high = (columns[f"{column}{suffix}"].to_numpy(dtype=float) for column in ("expected", "low", "high"))
    return go.Scatter(
        x=np.arange(len(columns)) + at,
        y=mean,
        mode="markers",
        marker={"symbol": symbol, "size": 7, "color": TEXT},
        error_y={"array": high - mean, "arrayminus": mean - low, "color": TEXT, "thickness": 1, "width": 3},
        cliponaxis=False,  # a mean of 0 lies on the edge of the panel
        name=name,
    )


def _numbers(columns: pd.DataFrame, hover: dict[str, Any]) -> list[go.Scatter]:
    """Rows of numbers between bars and dots."""
    texts = [[f"<b>{number}</b>" for number in columns["observed"]]]
    texts.append([_span(*bounds) for bounds in columns[["observed_least", "observed_most"]].to_numpy().tolist()])
    texts += [[_number(value) for value in columns[f"expected{suffix}"]] for suffix in _CHANCES]
    places, font = np.arange(len(columns)), {"size": 11, "color": TEXT}
    return [
        go.Scatter(x=places, y=np.full(len(columns), row), mode="text", text=text, textfont=font,
                   name=f"{name}, written", **hover)
        for row, (name, text) in enumerate(zip(_ROWS, texts, strict=True))
    ]  # fmt: skip


def _dots(inside: np.ndarray) -> list[go.Scatter]:
    """Dots of the categories that a set has, joined by a line; light ones elsewhere."""
    places, last = np.arange(len(inside)), len(_ROWS) + inside.shape[1] - 1
    xs, ys = broken_lines((places, len(_ROWS) + inside.argmax(1)), (places, last - inside[:, ::-1].argmax(1)))
    line = go.Scatter(x=xs, y=ys, mode="lines", line={"color": TEXT, "width": 2}, name="sets")
    dots = [
        go.Scatter(x=columns, y=rows + len(_ROWS), mode="markers", marker={"size": 10, "color": colour}, name=name)
        for name, (columns, rows), colour in (
            ("not in the set", (~inside).nonzero(), FAINT),
            ("in the set", inside.nonzero(), TEXT),
        )
    ]
    return [line, *dots]


def _first(heads: str, *, most: int = 12) -> str:
    names = heads.split(", ")
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _span(least: int, most: int) -> str:
    return f"{least}–{most}" if least < most else str(most)


def _caption(frame: pd.DataFrame, not_judged: list[str], cells: str) -> list[str]:
    none = frame[frame["n_categories"] == 0].iloc[0]
    by_chance = f"by chance {_number(none.expected)}, in layers {_number(none.expected_within_layers)}"
    parts = [
        f"bars: {cells} in exactly these categories",
        "◆ by chance, categories independent of each other",
        "○ the same within each layer",
        "lines: 95 % of placements",
        f"in no category: {none.observed} {cells} ({by_chance})",
    ]
    if (frame["observed_least"] < frame["observed_most"]).any():
        parts[1:1] = ["hatched: undecided in others", f"least–most: as undecided {cells} may turn out"]
    left_out = frame[~frame["shown"] & (frame["n_categories"] > 0)]
    empty, full = left_out[left_out["observed"] == 0], left_out[left_out["observed"] > 0]
    if len(empty):
        parts.append(f"not shown: {pluralize(len(empty), 'set')} without {cells}, of less than {_AT_LEAST} by chance")
    if len(full):
        sets, heads = pluralize(len(full), "set"), int(full["observed"].sum())
        parts.append(f"no room for {sets} with {pluralize(heads, cells.removesuffix('s'))}, which the numbers have")
    if not_judged:
        parts.append(f"not judged: {escaped(', '.join(not_judged))}")
    return parts
