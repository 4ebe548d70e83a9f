"""Panels of layers and heads, one cell a head: by default layers across, in the figures of some papers heads across."""

import xarray as xr

from headcats.errors import UnknownNameError
from headcats.figures.panels.axes import Axis, ticks
from headcats.figures.panels.cells import Cells, square_cells
from headcats.figures.panels.groups import Groups
from headcats.figures.tables import n_cells
from headcats.registry import unknown_name_message
from headcats.results.head_axes import noun, unit_of

LAYERS_ACROSS, PAPER = "layers", "paper"
"""Layouts: layer along x, as in every figure by default; the axes of the figure's paper."""
_LEAST = (100, 72)  # pixels of a panel
_TICK_STEP = 6  # cells


def layer_head_cells(
    table: xr.Dataset, *, within: tuple[int, int], least: tuple[int, int] = _LEAST, layout: str = LAYERS_ACROSS
) -> Cells:
    """Square cells of layers across and heads down, head 0 on top; as in a paper with ticks that do not adapt."""
    layers, heads = (n_cells(table, dim) for dim in ("layer", "head"))
    x = Axis("layer", layers, "layer", ticks(layers))
    y = Axis("head", heads, noun(unit_of(table)), ticks(heads), reverse=True)
    size = square_cells(x, y, within=within, least=least)
    if layout == LAYERS_ACROSS:
        x, y = x.numbered(size[0]), y.numbered(size[1])
    return Cells(x, y, size, Groups.of(table, layers_across=True))


def head_layer_cells(
    table: xr.Dataset, *, within: tuple[int, int], least: tuple[int, int] = _LEAST, reverse: bool = False
) -> Cells:
    """As in papers: square cells of heads across and layers upwards, or with `reverse` down."""
    layers, heads = (n_cells(table, dim) for dim in ("layer", "head"))
    name = noun(unit_of(table)).capitalize()
    x, y = Axis("head", heads, name), Axis("layer", layers, "Layer", reverse=reverse)
    size = square_cells(x, y, within=within, least=least)
    groups = Groups.of(table, layers_across=False)
    return Cells(x.every(_TICK_STEP, size[0]), y.every(_TICK_STEP, size[1]), size, groups)


def check_layout(layout: str) -> None:
    """Raise `UnknownNameError` for a layout that does not exist."""
    if layout not in (LAYERS_ACROSS, PAPER):
        raise UnknownNameError(unknown_name_message("layout", layout, (LAYERS_ACROSS, PAPER)))
