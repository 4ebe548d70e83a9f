"""A picture of every registered figure, drawn by the example of its docstring, without a browser."""

import contextlib
import doctest
import inspect
import re
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import plotly.graph_objects as go

import headcats as hc
from headcats.base import registry
from headcats.figures.static.svg import svg

# The examples of these show made-up numbers, as they run in milliseconds.
_INSTEAD = {
    "always_any": """
    >>> import headcats as hc
    >>> few = hc.papers.head_gating.GatingSettings(updates=5, batch=8)
    >>> texts = hc.papers.head_gating.task_texts("plural", n_prompts=16, n_demos=2)
    >>> gates = hc.methods.head_gating(hc.load_model("mini"), texts, preset=few, n_seeds=2)
    >>> fig = hc.figures.always_any(gates, palette="colour_blind")
    """,
    "layer_token": """
    >>> import headcats as hc
    >>> two = ["country_capital", "country_language"]
    >>> batches = hc.task_prompts("mini", "country_capital", suite=two, n_prompts=8)
    >>> restored = hc.papers.token_probe.patching_by_role(hc.load_model("mini"), batches)
    >>> fig = hc.figures.layer_token(restored)
    """,
}
SERIES = Path(__file__).parents[2] / "tutorials" / "mini-checkpoints.tar.xz"


class Picture(NamedTuple):
    """A figure of the gallery.

    Attributes:
        name: After `hc.figures.`.
        caption: First sentence of its docstring.
        code: The line that draws it.
        svg: The picture.
    """

    name: str
    caption: str
    code: str
    svg: str


def pictures_of(run: Path) -> list[Picture]:
    """One for every registered figure; examples read a copy of the run."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings(action="ignore"):
        shutil.copytree(run, "results/mini-icl")
        shutil.unpack_archive(SERIES, "results", filter="data")
        return [_picture(name) for name in sorted(registry.names("figure"))]


def _picture(name: str) -> Picture:
    words = inspect.cleandoc(getattr(hc.figures, name).__doc__ or "")
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(_INSTEAD.get(name, words)):
        exec(example.source, names)
        if re.search(rf"\bhc\.figures\.{name}\(", example.source):
            break
    else:
        raise ValueError(f"The example of hc.figures.{name} must draw it.")
    (figure,) = [item for item in names.values() if isinstance(item, go.Figure)]
    picture = svg(figure)
    if picture is None:
        raise ValueError(f"hc.figures.{name} has no static picture.")
    return Picture(name, words.split("\n\n")[0].replace("\n", " "), example.source.strip(), picture)
