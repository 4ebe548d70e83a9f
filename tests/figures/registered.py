"""Every registered figure with a table that it reads; papers, where they are installed, bring those of theirs."""

import functools
import importlib
import importlib.util
from collections.abc import Callable

import plotly.graph_objects as go
import xarray as xr
from figures.examples import (
    mixed_overlap,
    scattered_positions,
    scattered_relabelling,
    scattered_revisions,
    scattered_scores,
    scored_tasks,
)

from headcats.base.registry import lookup, names
from headcats.figures.figure import reads
from headcats.figures.panels.grid import PanelGrid

PAPERS = importlib.import_module("paper_tables") if importlib.util.find_spec("paper_tables") else None


def of_papers(name: str) -> tuple:
    """What papers say of their figures; nothing where there are none."""
    return tuple(getattr(PAPERS, name, ()))


TABLES: dict[str, Callable[[int, int], xr.Dataset]] = {
    "overlap": mixed_overlap,
    "scores": scattered_scores,
    "relabelling": scattered_relabelling,
    "revisions": scattered_revisions,
    "by_position": scattered_positions,
} | getattr(PAPERS, "TABLES", {})
"""What a figure reads -> such a table, for a model of so many layers and heads."""
REGISTERED = {name: lookup("figure", name) for name in names("figure")}
# Those drawn as a `PanelGrid`; of others nothing is asked but that they give a figure.
FIGURES = [name for name, draw in REGISTERED.items() if draw.__wrapped__.__annotations__.get("return") is PanelGrid]
EXAMPLES = {name: TABLES[reads(REGISTERED[name])] for name in FIGURES} | {"head_tasks": scored_tasks}
"""Name of a figure -> a table that it reads."""
MAPS = ("overlap_map", *of_papers("MAPS"))
"""Figures that `overlap_map` draws."""
TURNED = of_papers("TURNED")
"""Figures whose paper has other axes."""
HEAD_GRIDS = ("head_grid", *of_papers("HEAD_GRIDS"))
"""Figures of one number per head."""
PUBLISHED = {"layout": "paper", "marks": "none"}


@functools.cache
def drawn(name: str, size: tuple[int, int] = (5, 3), **options: object) -> go.Figure:
    """Draw a figure from its table for a model of so many layers and heads; read-only."""
    return REGISTERED[name](EXAMPLES[name](*size), **options)


def published(name: str, size: tuple[int, int], **options: object) -> go.Figure:
    """Draw its copy for publication; read-only."""
    return drawn(name, size, **PUBLISHED, **options)
