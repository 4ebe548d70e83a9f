"""Panels that the figures of several papers share: heads across, panels per label, scales between declared ends."""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError
from headcats.figures.colours import listed_colours
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells, square_cells
from headcats.figures.panels.colour_scale import ColourScale
from headcats.figures.panels.heads import PAPER, for_publication
from headcats.figures.panels.layout import MARKED
from headcats.figures.tables import check_counted, check_dataset, n_cells, variables_of
from headcats.results.categories import FUNCTIONS
from headcats.results.head_axes import noun, unit_of

_TICK_STEP = 6  # cells
_ROUND = (1, 2, 5)  # of steps, times powers of ten


def head_layer_cells(
    table: xr.Dataset,
    *,
    within: tuple[int, int],
    published_step: int | None = None,
    least: tuple[int, int] = (100, 72),
    reverse: bool = False,
    marks: str = MARKED,
) -> Cells:
    """Square cells as in papers: heads across and layers upwards, or with `reverse` down.

    Every sixth is numbered, or of up to 16 all; in a copy for publication every `published_step`-th, or without one at
    most five in round steps.
    """
    layers, heads = (n_cells(table, dim) for dim in ("layer", "head"))
    name = noun(unit_of(table)).capitalize()
    x, y = Axis("head", heads, name), Axis("layer", layers, "Layer", reverse=reverse)
    size = square_cells(x, y, within=within, least=least)
    if not for_publication(PAPER, marks):
        x, y = x.every(_TICK_STEP, size[0]), y.every(_TICK_STEP, size[1])
    elif published_step:
        x, y = x.every(published_step, size[0], few=0), y.every(published_step, size[1], few=0)
    else:
        x, y = in_round_steps(x), in_round_steps(y)
    return Cells(x, y, size)


def in_round_steps(axis: Axis, *, most: int = 5) -> Axis:
    """Set ticks at 0, `step`, ...: the smallest step of 1, 2, 5, 10, 20, 50 ... with `most` at most.

    Of 24 cells 0, 5, 10, 15 and 20 are ticks, of 28 cells 0, 10 and 20.
    """
    steps = (base * 10**power for power in itertools.count() for base in _ROUND)
    step = next(step for step in steps if math.ceil(axis.n / step) <= most)
    return dataclasses.replace(axis, ticks=range(0, axis.n, step))


def pick_variable(
    data: Any, names: Sequence[str], *, grid: tuple[str, str], rows: Sequence[str], figure: str, table: str
) -> tuple[str, str | None]:
    """Name of the first of these variables over the grid, and its dimension that gives panels (None: one panel).

    Both dimensions of `grid` are needed; one of `rows` may come besides, and `seed`. Errors are those of `require`.
    """
    variable = f"one of {', '.join(names)}" if len(names) > 1 else f"`{names[0]}`"
    expected = f"{variable} over ({', '.join(grid)}) and at most one of {', '.join(rows)} (with or without seed)"
    check_dataset(data, figure=figure, expected=expected, table=table)
    for name in names:
        dims = [str(dim) for dim in data[name].dims] if name in data.data_vars else []
        panels = [dim for dim in dims if dim not in (*grid, "seed")]
        if set(grid) <= set(dims) and len(panels) <= 1 and set(panels) <= set(rows):
            check_counted(data, {"layer", "head"} & set(grid), figure=figure)
            return name, panels[0] if panels else None
    raise DataError(f"{figure} expects {expected}; got {variables_of(data, data.data_vars)}. Pass {table}.")


def panel_names(data: xr.Dataset, row: str, *, figure: str) -> list[str]:
    """Labels along `row` in the order of their panels; a DataError if there is none, or one comes twice.

    The eight functions stand in the order of their scheme; other names in that of the attribute `categories`, with
    those that it does not list after them as they come.
    """
    labels = [str(label) for label in data[row].values] if row in data.coords else []
    if not labels or len(set(labels)) < len(labels):
        received = ", ".join(labels) or f"{data.sizes[row]} without labels"
        raise DataError(f"{figure} expects distinct labels along `{row}`, one per panel; got {received}.")
    order = list(FUNCTIONS)
    if not set(labels) <= set(FUNCTIONS):
        order = []
        with contextlib.suppress(DataError):
            order = list(listed_colours(data))
    return [name for name in order if name in labels] + [name for name in labels if name not in order]


def fixed_scale(
    ends: tuple[float, float], *, colours: str, name: str, clipped: tuple[bool, bool] = (False, False)
) -> ColourScale:
    """Scale between declared ends, with five steps from tick to tick."""
    return ColourScale(colours, tuple(np.linspace(*ends, 6).tolist()), name, digits=1, clipped=clipped)
