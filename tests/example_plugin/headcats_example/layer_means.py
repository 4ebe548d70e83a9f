"""A figure: any plotly figure of a labelled table; the first parameter says which table it reads."""

import plotly.express as px
import plotly.graph_objects as go
import xarray as xr

from headcats.figures import figure


@figure
def layer_means(scores: xr.Dataset, *, title: str | None = None) -> go.Figure:
    """Mean effect of the heads of each layer, one line per task.

    Args:
        scores: What `hc.score` returns.
        title: Heading.
    """
    table = scores["effect"].mean("head").to_dataframe().reset_index()
    return px.line(table, x="layer", y="effect", color="task", title=title)
