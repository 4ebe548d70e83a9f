"""Panels of layers and heads, one cell a head: by default layers across, in the figures of some papers heads across.

Without marks the axes of a paper have that paper's own ticks: a copy for publication.
"""

import xarray as xr

from headcats.base.errors import UnknownNameError, unknown_name_message
from headcats.figures.panels.axes import Axis, ticks
from headcats.figures.panels.cells import Cells, square_cells
from headcats.figures.panels.layout import MARKED, UNMARKED
from headcats.figures.tables import n_cells
from headcats.results.head_axes import noun, unit_of

LAYERS_ACROSS, PAPER = "layers", "paper"
"""Layouts: layer along x, as in every figure by default; the axes of the figure's paper."""
_LEAST = (100, 72)  # pixels of a panel


def layer_head_cells(
    table: xr.Dataset,
    *,
    within: tuple[int, int],
    least: tuple[int, int] = _LEAST,
    layout: str = LAYERS_ACROSS,
    marks: str = MARKED,
) -> Cells:
    """Square cells of layers across and heads down, head 0 on top; as in a paper with ticks that do not adapt.

    A copy for publication has all ticks of Elhelo & Geva (2025), `arange(0, n + 1, n // 5)`: where the last of them is
    `n`, its axis goes on for half a cell.
    """
    layers, heads = (n_cells(table, dim) for dim in ("layer", "head"))
    x = Axis("layer", layers, "layer", ticks(layers))
    y = Axis("head", heads, noun(unit_of(table)), ticks(heads), reverse=True)
    if for_publication(layout, marks):
        x, y = x.with_last_tick(), y.with_last_tick()
        # A picture of twice the size, as `write` makes them, has whole pixels.
        size = square_cells(x, y, within=within, least=least, unit=0.5)
        x, y = x.with_last_tick(size[0]), y.with_last_tick(size[1])
    else:
        size = square_cells(x, y, within=within, least=least)
    if layout == LAYERS_ACROSS:
        x, y = x.numbered(size[0]), y.numbered(size[1])
    return Cells(x, y, size)


def for_publication(layout: str, marks: str) -> bool:
    """True if a figure is a copy for a paper: its axes, and nothing on the cells but their colours."""
    return layout == PAPER and marks == UNMARKED


def check_layout(layout: str, known: tuple[str, ...] = (LAYERS_ACROSS, PAPER)) -> None:
    """Raise `UnknownNameError` for a layout that does not exist."""
    if layout not in known:
        raise UnknownNameError(unknown_name_message("layout", layout, known))
