"""What every figure shares: registration, the numbers behind it, and writing it to a file that opens offline."""

import functools
import html
import importlib.util
import inspect
import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec

import pandas as pd
import plotly.graph_objects as go

from headcats.errors import DataError, OptionError, StorageError
from headcats.figures.approximation import marked_as_approximation
from headcats.figures.panels.grid import PanelGrid
from headcats.registry import register
from headcats.results.whole_file import write_whole

P = ParamSpec("P")

IMAGE_SUFFIXES = (".png", ".svg", ".pdf")
_DIV_ID = "headcats-figure"  # fixed, so that the same figure gives the same bytes
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 0; background: white; }}
main {{ overflow-x: auto; }}
.plotly-graph-div {{ transform-origin: 0 0; }}
</style>
</head>
<body>
<main>
{body}
</main>
<script>
{fit}
</script>
</body>
</html>
"""

# Everything in a figure has its place in pixels, so a window narrower than that shows all of it smaller, down to what
# can still be read, and scrolls from there. By a transform, through which Plotly still finds the head below the
# pointer; a transformed figure takes up as much of the page as before, unless the element around it is made smaller.
_FIT = """const shown = document.getElementById("FIGURE"), around = shown.parentElement, own = around.style.cssText;
function fit() {
  around.style.cssText = own;
  shown.style.transform = "";
  const scale = Math.max(LEAST, document.querySelector("main").clientWidth / shown.offsetWidth);
  if (scale < 1) {
    shown.style.transform = `scale(${scale})`;
    around.style.width = `${Math.floor(scale * shown.offsetWidth)}px`;
    around.style.height = `${Math.ceil(scale * shown.offsetHeight)}px`;
  }
}
addEventListener("resize", fit);
fit();"""
_LEAST = 0.6


def figure(draw: Callable[P, PanelGrid | go.Figure | tuple[go.Figure, pd.DataFrame]]) -> Callable[P, go.Figure]:
    """Register a function as a figure under its own name.

    The function takes labelled data first and options by keyword. The name of its first parameter says which table it
    reads (`overlap`, `scores`, ...; see `reads`). It returns any plotly figure; or that and the tidy frame behind it
    (one row per mark), which `hc.figures.data(fig)` then gives; or a `PanelGrid`, which is drawn like the built-in
    figures. With an option `title`, the command line and the report pass a title.

    Args:
        draw: From a table and options to a figure.

    Returns:
        The same function, returning the plotly figure alone.

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
    signature = inspect.signature(draw)

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> go.Figure:
        result = draw(*args, **kwargs)
        if isinstance(result, go.Figure):
            return result
        if isinstance(result, PanelGrid):
            table = next(iter(signature.bind(*args, **kwargs).arguments.values()))
            grid = marked_as_approximation(result, table)
            result = grid.draw(), grid.frame
        fig, frame = result
        # plotly figures refuse unknown public attributes and are not hashable, so the frame rides on a private one.
        fig._headcats_frame = frame
        return fig

    drawn.__signature__ = signature.replace(return_annotation=go.Figure)  # type: ignore[attr-defined]
    drawn.__annotations__ = {**draw.__annotations__, "return": go.Figure}
    drawn.is_headcats_figure = True  # type: ignore[attr-defined]
    register("figure", draw.__name__, drawn)
    return drawn


def reads(drawn: Callable[..., Any]) -> str:
    """Name of the table that a figure takes: the name of its first parameter.

    Args:
        drawn: A figure, or a function that `figure` is to register.

    Returns:
        For example `"overlap"`, `"scores"` or `"curves"`.

    Example:
        >>> import headcats as hc
        >>> hc.figures.reads(hc.figures.overlap_map)
        'overlap'
    """
    return next(iter(inspect.signature(drawn).parameters))


def data(fig: go.Figure) -> pd.DataFrame:
    """The tidy frame behind a figure: one row per panel and head, columns named in the figure's docstring.

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

    `.html` is one self-contained page: plotly.js is inside and nothing is requested from the network. A window narrower
    than the figure shows it smaller. `.png`, `.svg` and `.pdf` need the extra `images` (kaleido) and Chrome or
    Chromium. The file appears complete or not at all.

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


def _page(fig: go.Figure) -> str:
    title = fig.layout.title.text or "headcats figure"
    # The button that sends a chart to plotly's server has no place on a page that works offline.
    config = {"displaylogo": False, "showSendToCloud": False}
    body = fig.to_html(full_html=False, include_plotlyjs=True, div_id=_DIV_ID, config=config)
    fit = _FIT.replace("FIGURE", _DIV_ID).replace("LEAST", str(_LEAST))
    return _PAGE.format(title=html.escape(html.unescape(title)), body=body, fit=fit)


def _image(fig: go.Figure, image_format: str) -> bytes:
    if importlib.util.find_spec("kaleido") is None:
        raise OptionError(
            f"Writing .{image_format} needs kaleido, which is not installed: pip install 'headcats[images]' "
            "(and Chrome or Chromium). Or write .html, which needs neither."
        )
    try:
        return fig.to_image(format=image_format, scale=2)
    # plotly and kaleido raise ValueError, RuntimeError or their own classes, by version, when the browser is missing.
    except Exception as problem:
        message = textwrap.shorten(" ".join(map(str, problem.args)), 160, placeholder=" …") or type(problem).__name__
        raise OptionError(
            f"Writing .{image_format} failed: kaleido could not use Chrome or Chromium ({message}). "
            "Install Chrome or Chromium (`plotly_get_chrome` fetches one), or write .html, which needs neither."
        ) from problem
