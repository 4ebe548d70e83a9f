"""How many heads serve exactly which categories, beside the number that chance would give."""

import html
import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.categories.exact_sets import exact_sets
from headcats.errors import OptionError
from headcats.figures.axes import Axis, Canvas, Panel, Scale, add_axes, new_figure
from headcats.figures.cells import require
from headcats.figures.colours import OUTLINE, TEXT, UNCLASSIFIED, Palette, named_palette, suite_colours
from headcats.figures.figure import figure
from headcats.figures.placing import LETTER, WIDEST, add_caption, below_caption, folded, title_width
from headcats.figures.screen import screen_hover, screen_title, with_approximation

_VARIABLES: dict[str, tuple[str, ...]] = dict.fromkeys(("member", "effect"), ("category", "layer", "head"))
# Suffix of the variables of `exact_sets` -> row of numbers, symbol, and where in its column (in columns) it stands.
_CHANCES = {
    "": ("by chance", "diamond", 0.1),
    "_within_layers": ("by chance in layers", "circle-open", 0.3),
}
_ROWS = ("heads", *(row for row, _, _ in _CHANCES.values()))
_BAR, _BAR_AT = 0.36, -0.2

# Pixels. Columns grow to the second width where there are few.
_COLUMN, _WIDE, _ROW, _HEIGHT, _RIGHT, _BOTTOM = 38, 130, 22, 220, 26, 20


@figure
def set_counts(
    overlap: xr.Dataset, *, palette: str = "headcats", at_least: float = 1.0, title: str | None = None
) -> tuple[go.Figure, pd.DataFrame]:
    """Heads that are in exactly each set of categories, beside their number by chance: an UpSet plot.

    One column per set, small sets first; filled dots below it say which categories it has. Bars: heads observed, in the
    colour that the overlap map gives them. Diamond: mean number by chance, every category's heads spread independently
    of the others over all heads; circle: over the heads of each layer; with lines, their 95 % intervals, which are
    exact (`headcats.categories.exact_sets`). The same numbers stand below the bars. Shown are all single categories,
    every other set with heads, and sets without heads of which chance would give at least `at_least`; the caption
    says what is left out. Chance says whether categories are independent of each other, not whether they are specific.

    Args:
        overlap: As `hc.overlap` returns it: `member` (1 = in) and `effect (category, layer, head)`; 1 to 8 categories,
            whose order and colours come from the attribute `categories`, or without it from their names. Categories and
            heads without numbers take no part.
        palette: As in `overlap_map`.
        at_least: Heads that chance has to give, in either way, to a set without heads that is shown; at least 0.
        title: Written above; that of a screen (attribute `approximation`) says so.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per set, shown or not, also that of no category: `set` (names
        joined by "+", "" for none), `n_categories, observed, expected, low, high, p, expected_within_layers,
        low_within_layers, high_within_layers, p_within_layers` (p: at least as many by chance, one-sided), `heads`
        (such as "L0H1, L2H0"), `label, colour` (as in `overlap_map`), `shown`; for a screen also `approximation`.
        `observed` and both `expected` sum to the number of heads.

    Raises:
        DataError: a variable or dimension is missing, a category that the attribute `categories` does not list, or no
            category has numbers.
        OptionError: `at_least` is no number of at least 0.
        UnknownNameError: unknown palette.

    References:
        Layout after Lex, Gehlenborg, Strobelt, Vuillemot & Pfister (2014), UpSet, IEEE Trans. Vis. Comput. Graph. 20,
        1983-1992.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> overlap = hc.overlap(hc.categorize(hc.score(results, method="denoising_patch")))
        >>> numbers = hc.figures.data(hc.figures.set_counts(overlap))
        >>> bool(numbers.observed.sum() == numbers.expected.sum().round(6))
        True
    """
    if not at_least >= 0:
        raise OptionError(f"set_counts(at_least) is a number of heads, at least 0; got {at_least}.")
    table = "hc.overlap(hc.categorize(hc.score(results)))"
    require(overlap, _VARIABLES, figure="set_counts", source="hc.overlap(members)", table=table)
    colours = named_palette(palette, suite_colours(overlap, [str(name) for name in overlap["category"].values]))
    order = list(colours.categories)
    sets = exact_sets(overlap.sel(category=order))
    frame = _frame(sets, colours, at_least=at_least)
    fig = _draw(sets, frame, order, at_least=at_least, note=screen_hover(overlap), title=screen_title(title, overlap))
    return fig, with_approximation(frame, overlap)


def _frame(sets: xr.Dataset, colours: Palette, *, at_least: float) -> pd.DataFrame:
    frame = pd.DataFrame({"set": sets["set"].values.astype(str)})
    frame["n_categories"] = sets["contains"].sum("category").values
    for suffix in ("", *_CHANCES):
        for name in ("expected", "low", "high", "p"):
            frame[f"{name}{suffix}"] = sets[f"{name}{suffix}"].values
    frame.insert(2, "observed", sets["observed"].values)
    frame["heads"] = sets["heads"].values.astype(str)
    frame["label"] = [
        "Unclassified" if not k else f"{k} categories" if k > 1 else name
        for k, name in zip(frame["n_categories"], frame["set"], strict=True)
    ]
    by_label = {f"{k} categories": colour for k, colour in colours.counts.items()} | colours.categories
    frame["colour"] = frame["label"].map(by_label | {"Unclassified": colours.unclassified})
    by_chance = frame[["expected", "expected_within_layers"]].max(axis=1)
    asked = (frame["observed"] > 0) | (by_chance >= at_least) | (frame["n_categories"] == 1)
    asked &= frame["n_categories"] > 0
    room = (WIDEST - _left(sets["category"].values) - _RIGHT) // _COLUMN
    # Where there are more columns than room, those with the fewest heads are left out, and of as many heads those that
    # chance would give anyway.
    single = frame["n_categories"] == 1
    place = pd.Series(np.lexsort((by_chance, -frame["observed"], ~single, ~asked)).argsort())
    frame["shown"] = asked & ((place < room) | single)
    return frame


def _left(names: np.ndarray) -> int:
    """Pixels left of the columns, for the names of rows."""
    return 22 + math.ceil(LETTER * max(map(len, [*map(str, names), *_ROWS])))


def _draw(
    sets: xr.Dataset, frame: pd.DataFrame, order: list[str], *, at_least: float, note: str, title: str | None
) -> go.Figure:
    shown = frame[frame["shown"]].reset_index(drop=True)
    judged = [str(name) for name in sets["category"].values]
    left, n = _left(sets["category"].values), len(shown)
    least = max(720, title_width(title))
    column = min(_WIDE, max(_COLUMN, (least - left - _RIGHT) // n))
    width = max(left + column * n + _RIGHT, least)
    caption = _caption(frame, [name for name in order if name not in judged], at_least=at_least)
    lines = folded(caption, width=width - 32)
    top = below_caption(title, lines) + 10
    rows = [*_ROWS, *judged]
    canvas = Canvas(width=width, height=top + _HEIGHT + _ROW * len(rows) + _BOTTOM)
    fig = new_figure(canvas, title=title)
    add_caption(fig, lines, canvas=canvas, title=title)

    tops = shown[["observed", "high", "high_within_layers"]].max(axis=1)
    most = max(1.0, float(tops.max())) * 1.05
    upper = Panel(left, top, column * n, _HEIGHT)
    scale = Scale(0.0, most, "heads", format="d" if most > 5 else "")
    axes = add_axes(fig, upper, canvas=canvas, x=Axis(n, "", []), y=scale)
    told = {"hovertext": _told(shown), "hovertemplate": f"%{{hovertext}}{note}<extra></extra>"}
    _add_bars(fig, shown, told, axes=axes)
    for suffix in _CHANCES:
        _add_chance(fig, shown, suffix, axes=axes)
    lower = Panel(left, top + _HEIGHT, column * n, _ROW * len(rows))
    named = Axis(len(rows), "", range(len(rows)), labels=[html.escape(row, quote=False) for row in rows], reverse=True)
    axes = add_axes(fig, lower, canvas=canvas, x=Axis(n, "", []), y=named)
    # Bars of no head have nothing to point at; their numbers have.
    _add_numbers(fig, shown, told, axes=axes)
    _add_dots(fig, shown, judged, axes=axes)
    return fig


def _told(shown: pd.DataFrame) -> list[str]:
    """What is said of every set when the pointer is over it."""
    return [
        "<b>{}</b><br>{} observed{}<br>{}".format(
            html.escape(row.set, quote=False).replace("+", " + "),
            row.observed,
            f": {_few(row.heads)}" if row.heads else "",
            "<br>".join(
                f"{name}: {getattr(row, f'expected{suffix}'):.2f} [{getattr(row, f'low{suffix}')}, "
                f"{getattr(row, f'high{suffix}')}], p {getattr(row, f'p{suffix}'):.2g}"
                for suffix, (name, _, _) in _CHANCES.items()
            ),
        )
        for row in shown.itertuples()
    ]


def _add_bars(fig: go.Figure, shown: pd.DataFrame, told: dict[str, Any], *, axes: dict[str, str]) -> None:
    fig.add_trace(
        go.Bar(
            x=np.arange(len(shown)) + _BAR_AT,
            y=shown["observed"].to_numpy(),
            width=_BAR,
            marker={"color": list(shown["colour"]), "line": {"color": OUTLINE, "width": 0.5}},
            name="heads observed",
            showlegend=False,
            **told,
            **axes,
        )
    )


def _add_chance(fig: go.Figure, shown: pd.DataFrame, suffix: str, *, axes: dict[str, str]) -> None:
    name, symbol, at = _CHANCES[suffix]
    mean, low, high = (shown[f"{column}{suffix}"].to_numpy(dtype=float) for column in ("expected", "low", "high"))
    fig.add_trace(
        go.Scatter(
            x=np.arange(len(shown)) + at,
            y=mean,
            mode="markers",
            marker={"symbol": symbol, "size": 7, "color": TEXT},
            error_y={
                "array": high - mean,
                "arrayminus": mean - low,
                "color": TEXT,
                "thickness": 1,
                "width": 3,
            },
            hoverinfo="skip",
            showlegend=False,
            # A mean of 0 lies on the edge of the panel.
            cliponaxis=False,
            name=name,
            **axes,
        )
    )


def _add_numbers(fig: go.Figure, shown: pd.DataFrame, told: dict[str, Any], *, axes: dict[str, str]) -> None:
    """The rows of numbers between bars and dots."""
    texts = [
        [f"<b>{number}</b>" for number in shown["observed"]],
        *([_short(value) for value in shown[f"expected{suffix}"]] for suffix in _CHANCES),
    ]
    for row, (name, text) in enumerate(zip(_ROWS, texts, strict=True)):
        fig.add_trace(
            go.Scatter(
                x=np.arange(len(shown)),
                y=np.full(len(shown), row),
                mode="text",
                text=text,
                textfont={"size": 11, "color": TEXT},
                showlegend=False,
                name=f"{name}, written",
                **told,
                **axes,
            )
        )


def _add_dots(fig: go.Figure, shown: pd.DataFrame, judged: list[str], *, axes: dict[str, str]) -> None:
    """Which categories a set has: filled dots, joined by a line; light ones elsewhere."""
    inside = np.array([_inside(row, judged) for row in shown["set"]])
    xs: list[float] = []
    ys: list[float] = []
    for column, row in enumerate(inside):
        has = np.flatnonzero(row)
        xs += [column, column, np.nan]
        ys += [len(_ROWS) + has[0], len(_ROWS) + has[-1], np.nan]
    common = {"hoverinfo": "skip", "showlegend": False, **axes}
    fig.add_trace(go.Scatter(x=xs, y=ys, mode="lines", line={"color": TEXT, "width": 2}, name="sets", **common))
    for name, where, colour in (("not in the set", ~inside, UNCLASSIFIED), ("in the set", inside, TEXT)):
        columns, rows = where.nonzero()
        marker = {"size": 10, "color": colour}
        y = rows + len(_ROWS)
        fig.add_trace(go.Scatter(x=columns, y=y, mode="markers", marker=marker, name=name, **common))


def _inside(joined: str, judged: list[str]) -> list[bool]:
    """Which categories, in their order, a name joined by "+" is of; a category may have a "+" in its own name."""
    rest, found = f"{joined}+", []
    for name in judged:
        found.append(rest.startswith(f"{name}+"))
        rest = rest.removeprefix(f"{name}+")
    return found


def _few(heads: str, *, most: int = 12) -> str:
    names = heads.split(", ")
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _caption(frame: pd.DataFrame, not_judged: list[str], *, at_least: float) -> list[str]:
    none = frame[frame["n_categories"] == 0].iloc[0]
    by_chance = f"by chance {_short(none.expected)}, in layers {_short(none.expected_within_layers)}"
    parts = [
        "bars: heads in exactly these categories",
        "◆ by chance, categories independent of each other",
        "○ the same within each layer",
        "lines: 95 % of placements",
        f"in no category: {none.observed} heads ({by_chance})",
    ]
    left_out = frame[~frame["shown"] & (frame["n_categories"] > 0)]
    empty, full = left_out[left_out["observed"] == 0], left_out[left_out["observed"] > 0]
    if len(empty):
        sets = "1 set" if len(empty) == 1 else f"{len(empty)} sets"
        parts.append(f"not shown: {sets} without heads, of less than {at_least:g} by chance")
    if len(full):
        parts.append(f"no room for {len(full)} sets with {full['observed'].sum()} heads; they are in the numbers")
    if not_judged:
        parts.append(f"not judged: {html.escape(', '.join(not_judged), quote=False)}")
    return parts
