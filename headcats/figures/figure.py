"""Registration of figures, the numbers behind them, and writing them to files that open offline."""

import functools
import html
import inspect
import json
import os
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError, OptionError, StorageError
from headcats.base.guard import Guard, function_name, is_built_in
from headcats.base.registry import register
from headcats.figures.colours import DARK
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.text import escaped
from headcats.results.declaration import approximation_label
from headcats.results.whole_file import write_whole

P = ParamSpec("P")

IMAGE_SUFFIXES = (".png", ".svg", ".pdf")
_PAGE, _SHARED = (Path(__file__).with_name(name) for name in ("page.html", "in_pages.js"))


def figure(draw: Callable[P, PanelGrid | go.Figure | tuple[go.Figure, pd.DataFrame]]) -> Callable[P, go.Figure]:
    """Register a function as a figure under its own name.

    The function takes labelled data first and options by keyword. The name of its first parameter says which table it
    reads (`overlap`, `scores`, ...). It returns any plotly figure; or that and the tidy frame behind it
    (one row per mark), which `hc.figures.data(fig)` then gives; or a `PanelGrid`, which is drawn like the built-in
    figures. With an option `title`, the command line and the report pass a title. Whoever passes one, it is text, and
    the function gets it as the HTML that plotly shows as that text.

    Args:
        draw: From a table and options to a figure.

    Returns:
        The same function, returning the plotly figure alone.

    Raises:
        OptionError: A function without a name, or without a table to read.
        ExtensionError: By what it returns: your function raises something, or gives no figure.

    Example:
        >>> import headcats as hc
        >>> import plotly.graph_objects as go
        >>> @hc.figures.figure
        ... def effect_histogram(scores, *, bins=40):
        ...     return go.Figure(go.Histogram(x=scores["effect"].values.ravel(), nbinsx=bins))
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> fig = hc.figures.effect_histogram(scores, bins=20)
        >>> fig.data[0].type
        'histogram'
    """
    name, signature = function_name("figure", draw), inspect.signature(draw)
    if not signature.parameters:
        raise OptionError(f"Figure {name!r} takes nothing: its first parameter names the table it reads, as `scores`.")
    guard = Guard("Figure", name, draw)

    def drawn(*args: Any, **kwargs: Any) -> Any:
        infinite: dict[str, int] = {}
        if is_built_in(draw):
            args = tuple(_finite(value, infinite) for value in args)
            kwargs = {key: _finite(value, infinite) for key, value in kwargs.items()}
        result: Any = draw(*args, **kwargs)
        if isinstance(result, PanelGrid):
            if infinite:
                named = ", ".join(f"{escaped(variable)} ({n})" for variable, n in infinite.items())
                result = replace(result, caption=[*result.caption, f"infinite numbers are left out: {named}"])
            grid = _mark_approximation(result, next(iter(signature.bind(*args, **kwargs).arguments.values())))
            fig = grid.draw()
            if "ipykernel" in sys.modules:
                from headcats.figures.static.renderer import keep_drawing  # imports IPython

                keep_drawing(fig)
            return fig, grid.frame
        return result

    @functools.wraps(draw)
    def draw_plotly(*args: P.args, **kwargs: P.kwargs) -> go.Figure:
        # Plotly reads titles as HTML, and those of the command line name models and suites.
        if isinstance(kwargs.get("title"), str):
            kwargs["title"] = escaped(kwargs["title"])
        if not is_built_in(draw):
            signature.bind(*args, **kwargs)  # a TypeError that is the caller's, not the figure's
        result = guard(drawn, *args, **kwargs)
        if isinstance(result, go.Figure):
            return result
        fig, frame = result if isinstance(result, tuple) and len(result) == 2 else (None, None)
        if not isinstance(fig, go.Figure) or not isinstance(frame, pd.DataFrame):
            raise guard.refusal("a plotly figure, that and the frame behind it, or a PanelGrid", result)
        # plotly figures refuse unknown public attributes and are not hashable, so the frame rides on a private one.
        fig._headcats_frame = frame
        return fig

    draw_plotly.__signature__ = signature.replace(return_annotation=go.Figure)  # type: ignore[attr-defined]
    draw_plotly.__annotations__ = {**draw.__annotations__, "return": go.Figure}
    draw_plotly.is_headcats_figure = True  # type: ignore[attr-defined]
    register("figure", name, draw_plotly)
    return draw_plotly


def reads(draw: Callable[..., Any]) -> str:
    """Name of the table that a figure takes: the name of its first parameter."""
    return next(iter(inspect.signature(draw).parameters))


def data(fig: go.Figure) -> pd.DataFrame:
    """Tidy frame behind a figure: one row per panel and head, columns named in the figure's docstring.

    Args:
        fig: A figure as returned by one of `hc.figures`.

    Returns:
        A copy, so that changing it does not change what the figure holds.

    Raises:
        DataError: the figure was not drawn by headcats, or is a copy that plotly made of such a figure.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> numbers = hc.figures.data(hc.figures.head_grid(scores))
        >>> numbers.to_csv("head_grid.csv", index=False)
    """
    frame = getattr(fig, "_headcats_frame", None)
    if frame is None:
        raise DataError(
            f"Expected a figure returned by a function of hc.figures; got a {type(fig).__name__} without its numbers "
            "(plotly's own figures and copies made by plotly carry none). Pass the figure that hc.figures returned."
        )
    return frame.copy()


def write(fig: go.Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file; the suffix decides the format.

    `.html` is one self-contained page: plotly.js is inside and nothing is requested from the network. It is light or
    dark as the reader's system is, and a window narrower than the figure shows it smaller. `.png`, `.svg` and `.pdf`
    need the extra `images` (kaleido) and Chrome or Chromium. The file appears complete or not at all.

    Args:
        fig: Any plotly figure.
        path: File to write; its folder must exist.

    Returns:
        The path written.

    Raises:
        OptionError: another suffix, or an image format without kaleido or Chrome.
        StorageError: the folder is missing, read-only or full.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> page = hc.figures.write(hc.figures.head_grid(scores), "head_grid.html")  # or .png, .svg, .pdf
        >>> page.name
        'head_grid.html'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".html":
        content = _page(fig).encode("utf-8")
    elif suffix in IMAGE_SUFFIXES:
        content = _image(fig, suffix[1:])
    else:
        raise OptionError(
            f"Expected a file name ending in .html, {', '.join(IMAGE_SUFFIXES)}; got {path.name!r}. "
            "Choose one of these suffixes; .html needs nothing installed."
        )
    if not path.parent.is_dir():
        raise StorageError(f"Cannot write {path}: there is no folder {path.parent}. Make it first.")
    write_whole(path, content)
    return path


def _finite(value: Any, infinite: dict[str, int]) -> Any:
    """Replace the infinite numbers of a table by NaN, and count them by variable; anything else stays as it is."""
    if not isinstance(value, xr.Dataset):
        return value
    floats = {name: values for name, values in value.data_vars.items() if values.dtype.kind == "f"}
    places = {name: where for name, values in floats.items() if (where := np.isinf(values)).any()}
    infinite |= {str(name): int(where.sum()) for name, where in places.items()}
    return value.assign({name: value[name].where(~where) for name, where in places.items()})


def _mark_approximation(grid: PanelGrid, table: Any) -> PanelGrid:
    """Say in title, hover and numbers that effects are first-order approximations (attribute of the table)."""
    kind = grid.approximation or getattr(table, "attrs", {}).get("approximation")
    if not kind:
        return grid
    label, title = approximation_label(kind), grid.title
    if not title or label not in title:
        # First: the end of a long title may not fit above a small figure.
        start = escaped(f"{label[0].upper()}{label[1:]}")
        title = f"{start}: {title}" if title else start
    for trace in grid.traces:
        if trace.hovertemplate:
            trace.hovertemplate = trace.hovertemplate.replace("<extra>", f"<br>{escaped(label)}: estimated<extra>")
    return replace(grid, title=title, frame=grid.frame.assign(approximation=kind))


def _page(fig: go.Figure) -> str:
    # The button that sends a chart to plotly's server has no place on a page that works offline. The name is fixed, so
    # that the same figure gives the same bytes.
    config = {"displaylogo": False, "showSendToCloud": False}
    body = fig.to_html(full_html=False, include_plotlyjs=True, div_id="headcats-figure", config=config)
    title = html.escape(html.unescape(fig.layout.title.text or "headcats figure"))
    page = _PAGE.read_text(encoding="utf-8").replace("[[shared]]", _SHARED.read_text(encoding="utf-8"))
    before, after = page.split("[[figure]]")
    return before.replace("[[title]]", title) + body + after.replace("[[dark]]", json.dumps(DARK))


def _image(fig: go.Figure, image_format: str) -> bytes:
    try:
        return fig.to_image(format=image_format, scale=2)
    # plotly and kaleido raise ValueError, RuntimeError or their own classes, by version, when either part is missing.
    except Exception as problem:
        message = textwrap.shorten(" ".join(map(str, problem.args)), 160, placeholder=" …") or type(problem).__name__
        raise OptionError(
            f"Writing .{image_format} failed ({message}). It needs kaleido (pip install kaleido) and Chrome "
            "or Chromium (`plotly_get_chrome` fetches one). Or write .html, which needs neither."
        ) from problem
