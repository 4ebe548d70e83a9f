"""Diagonal hatching of cells: a second cue beside colour that stays readable from 3 to 100 pixels a cell."""

import numpy as np
from jaxtyping import Bool, Float

_SPACING = 8  # pixels between two lines, where cells are large enough


def hatch_lines(
    mask: Bool[np.ndarray, "head layer"], *, cell: tuple[int, int]
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, " point"]]:
    """Line segments "/" over the cells of a mask, at least one through every cell.

    Args:
        mask: Cells to hatch, heads downwards, layers to the right, one unit wide and centred on their index.
        cell: Width and height of a cell in pixels; large cells get several lines.

    Returns:
        x (layer) and y (head) of the points, segments separated by NaN. Segments that continue each other
        from cell to cell are joined, so a fully hatched 80 x 64 panel is 143 lines.
    """
    per_x, per_y = (max(1, round(size / _SPACING)) for size in cell)
    fine = np.kron(mask, np.ones((per_y, per_x), dtype=bool)).astype(bool)
    rows, columns = fine.shape
    xs: list[float] = []
    ys: list[float] = []
    # "/" steps one row up for each column to the right: such cells share row + column, the index of a diagonal of
    # the upside-down grid.
    for offset in range(-(rows - 1), columns):
        run = np.diagonal(fine[::-1], offset).astype(np.int8)
        edges = np.diff(np.concatenate([[0], run, [0]]))
        first_column, bottom_row = max(offset, 0), rows - 1 - max(-offset, 0)
        for start, stop in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
            xs += [(first_column + start) / per_x - 0.5, (first_column + stop) / per_x - 0.5, np.nan]
            ys += [(bottom_row - start + 1) / per_y - 0.5, (bottom_row - stop + 1) / per_y - 0.5, np.nan]
    return np.asarray(xs, dtype=np.float32), np.asarray(ys, dtype=np.float32)
