"""Groups of heads that share keys and values, on panels of layers and heads: thin lines between them, and their names.

Which heads form a group is said by the coordinate `kv_head (layer, head)` of a table; without it there are none.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Int

from headcats.figures.colours import BACKGROUND, QUIET_TEXT
from headcats.figures.panels.curves import broken_lines, runs
from headcats.figures.tables import n_cells
from headcats.results.head_axes import ABSENT, KV_HEAD

GROUPS = "between groups"
"""Name of the lines; `PanelGrid` explains them in the caption."""
HOVER = "<br>keys and values of L%{layer}H%{group_first}–L%{layer}H%{group_last}"
"""Names the group of a head: its first and its last query head."""


@dataclass(frozen=True)
class Groups:
    """Groups of heads of a table."""

    number: Int[np.ndarray, "layer head"]
    """Key-value head of every head, from layer 0 and head 0; `ABSENT` where there is no head."""
    layers_across: bool
    """True if x is the layer."""

    @classmethod
    def of(cls, table: xr.Dataset, *, layers_across: bool) -> "Groups | None":
        """Read the groups of a table; None where it names none."""
        if KV_HEAD not in table.coords:
            return None
        number = np.full((n_cells(table, "layer"), n_cells(table, "head")), ABSENT)
        number[np.ix_(table["layer"].values, table["head"].values)] = table[KV_HEAD].transpose("layer", "head").values
        return cls(number, layers_across)

    def lines(self, *, cell: tuple[float, float], gap: int) -> list[go.Scatter]:
        """Lines between neighbouring groups of a layer, over cells of so many pixels with a gap; joined over layers."""
        upper, lower = self.number[:, :-1], self.number[:, 1:]
        borders = (upper != lower) & (upper != ABSENT) & (lower != ABSENT)
        segments = [
            (start - 0.5, stop - 0.5, head + 0.5)
            for head, border in enumerate(borders.T)
            for start, stop in runs(border)
        ]
        if not segments:
            return []
        start, stop, between = np.array(segments).T
        # A line of odd width on the border of two pixels would be smeared over both.
        between += 0.5 / cell[1 if self.layers_across else 0]
        along, across = broken_lines((start, between), (stop, between))
        xs, ys = (along, across) if self.layers_across else (across, along)
        # On dark cells a thin dark line needs a light one around it.
        looks = {BACKGROUND: gap + 2.0, QUIET_TEXT: 1.0} if gap else {QUIET_TEXT: 0.6}
        return [
            go.Scatter(x=xs, y=ys, mode="lines", line={"color": colour, "width": width}, name=GROUPS)
            for colour, width in looks.items()
        ]

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Add the columns that `HOVER` names to a frame of one row per head."""
        numbers = self.number[frame["layer"].to_numpy(), frame["head"].to_numpy()]
        of_layer = self.number[frame["layer"].to_numpy()] == numbers[:, None]
        last = of_layer.shape[1] - 1 - of_layer[:, ::-1].argmax(axis=1)
        return frame.assign(group_first=of_layer.argmax(axis=1), group_last=last)
