"""A figure that is drawn like the built-in ones: panels of cells, laid out by `PanelGrid`."""

import pandas as pd
import xarray as xr

from headcats.figures import figure
from headcats.figures.panels import Panel, PanelGrid, head_rows, layer_head_cells, rising_scale


@figure
def norm_grid(norms: xr.Dataset, *, title: str | None = None) -> PanelGrid:
    """Norms of head outputs, x = layer, y = head, one panel per category.

    Args:
        norms: A block of `output_norm`.
        title: Heading.

    Returns:
        The figure; `hc.figures.data(fig)` has one row per category and head: `panel, layer, head, name, norm`.
    """
    mean = norms["norm"].groupby("category").mean()
    frame = pd.concat(
        [
            head_rows(norms, {"norm": mean.sel(category=name)}).assign(panel=str(name))
            for name in mean["category"].values
        ]
    )
    cells = layer_head_cells(norms, within=(150, 150))
    scale = rising_scale(frame["norm"].to_numpy(), colours="viridis", name="norm")
    template = "<b>L%{layer}H%{head}</b><br>norm %{norm:.2f}"
    panels = [
        Panel(name, [cells.plot([cells.heatmap(rows, "norm", name=name, template=template)])])
        for name, rows in frame.groupby("panel", sort=False)
    ]
    return PanelGrid(panels, frame, title, beside=scale, grey=True)
