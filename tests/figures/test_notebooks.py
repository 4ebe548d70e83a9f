"""What a figure hands to the notebooks that show it: Colab, Jupyter, VS Code."""

import functools
import json
import re
from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest
from figures.examples import EXAMPLES, FIGURES

import headcats.figures
from headcats.figures import data

PLOTLY = "application/vnd.plotly.v1+json"
HTML = "text/html"
# Renderer, as plotly chooses it by itself in each place -> what it hands over.
RENDERERS = {
    "colab": HTML,
    "notebook": HTML,
    "notebook_connected": HTML,
    "kaggle": HTML,
    "jupyterlab": PLOTLY,
    "vscode": PLOTLY,
    "plotly_mimetype": PLOTLY,
}


@pytest.fixture
def renderer(request: pytest.FixtureRequest) -> Iterator[str]:
    before = plotly.io.renderers.default
    plotly.io.renderers.default = request.param
    yield request.param
    plotly.io.renderers.default = before


@functools.cache
def drawn(name: str) -> go.Figure:
    return getattr(headcats.figures, name)(EXAMPLES[name](2, 3), title="A title")


@pytest.mark.parametrize("renderer", RENDERERS, indirect=True)
@pytest.mark.parametrize("name", FIGURES)
def test_a_notebook_gets_the_whole_figure_as_valid_json(name: str, renderer: str) -> None:
    fig = drawn(name)
    bundle = fig._repr_mimebundle_()
    assert set(bundle) == {RENDERERS[renderer]}
    # NaN is no JSON: a browser would refuse the whole figure.
    json.dumps(bundle, allow_nan=False)
    if RENDERERS[renderer] == PLOTLY:
        shown = bundle[PLOTLY]
        assert shown["data"] == json.loads(fig.to_json())["data"]
        assert shown["layout"]["title"]["text"].startswith("A title")
    else:
        page = bundle[HTML]
        assert "Plotly.newPlot(" in page
        assert '"A title' in page
        assert "NaN" not in page.partition("Plotly.newPlot(")[2]


def texts(value: object) -> Iterator[str]:
    """Every text of a figure; arrays of numbers are texts only in name."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from texts(one) if key != "bdata" else ()
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


@pytest.mark.parametrize("name", FIGURES)
def test_missing_numbers_are_in_no_text(name: str) -> None:
    table, draw = EXAMPLES[name](3, 4), np.random.default_rng(0)
    floats = {key: values for key, values in table.data_vars.items() if values.dtype.kind == "f"}
    holes = table.assign({key: values.where(draw.random(values.shape) > 0.4) for key, values in floats.items()})
    found = json.loads(getattr(headcats.figures, name)(holes).to_json())
    assert [text for text in texts(found) if re.search(r"\bnan\b", text, re.IGNORECASE)] == []


def test_numbers_stay_with_a_figure_that_was_shown() -> None:
    fig = headcats.figures.overlap_map(EXAMPLES["overlap_map"](2, 2))
    fig._repr_mimebundle_()
    assert len(data(fig))
