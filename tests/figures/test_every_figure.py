"""What holds for every registered figure, whatever it shows: one pass over each, and large models at night."""

import inspect
import json
import operator
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io
import pytest
import xarray as xr
from example_joint import gates_of
from figures.examples import ICL, without_last_head
from figures.reading import cells
from figures.registered import EXAMPLES, FIGURES, HEAD_GRIDS, REGISTERED, of_papers

import headcats
from headcats.base.errors import DataError, UnknownNameError
from headcats.base.registry import lookup
from headcats.figures import data
from headcats.figures.colours import BACKGROUND, DARK, ON_DARK, ON_LIGHT, TEXT
from headcats.figures.figure import reads
from headcats.figures.static.svg import svg
from headcats.results.categories import as_hex
from headcats.results.manifest import SUITE
from headcats.results.run_results import suite_blocks

LONG = "A title that is much longer than any window is wide " * 5
# What tells categories, or gates, apart by hue.
HUES = {*ICL.values(), "#9467bd", "#8c564b", "#e377c2", "#00ff00"}
_SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_keeps_the_contract(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, table = REGISTERED[name], with_holes(EXAMPLES[name](6, 8))
    check_signature(name)
    before = table.copy(deep=True)
    fig = draw(table, title="A title")
    xr.testing.assert_identical(table, before)
    turned = draw(table.transpose(*reversed(list(table.dims))), title="A title")
    assert turned.to_json() == fig.to_json()
    pd.testing.assert_frame_equal(data(turned), data(fig))

    check_places(fig)
    check_window(fig)
    check_square_cells(fig)
    check_hover(fig, name)
    check_pointer(fig, name)
    check_neutral_colours(fig)
    check_static_picture(fig)
    titles = [{str(axis.title.text).lower() for axis in found} for found in (fig.select_xaxes(), fig.select_yaxes())]
    assert "layer" not in titles[1]
    assert "layer" not in titles[0] or titles[0] <= {"layer", "facilitation", "update", "none", ""}
    documented = inspect.getdoc(draw.__wrapped__)
    assert [column for column in data(fig).columns if column not in documented] == []
    assert [text for text in texts_of(fig) if re.search(r"\bnan\b", text, re.IGNORECASE)] == []

    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    (shown,) = fig._repr_mimebundle_().values()
    json.dumps(shown, allow_nan=False)  # NaN is no JSON: a browser would refuse the whole figure
    assert shown["data"] == json.loads(fig.to_json())["data"]

    palettes = check_palettes(fig, name)
    one_cell = draw(EXAMPLES[name](1, 1), title=LONG, **palettes)
    check_places(one_cell)
    check_window(one_cell)
    check_static_picture(one_cell)
    assert not palettes or not hues_of(one_cell)
    assert bool(cells_of(one_cell)) == bool(cells_of(fig))

    for wrong in (xr.Dataset(), xr.Dataset({"loss": ("step", [1.0])})):
        with pytest.raises(DataError, match=f"{name} expects"):
            draw(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(12, 12), (32, 32), (40, 40), (80, 64)], ids="{0[0]}x{0[1]}".format)
def test_every_figure_of_a_large_model(size: tuple[int, int]) -> None:
    for name in FIGURES:
        table = EXAMPLES[name](*size)
        fig = REGISTERED[name](table, title="A title")
        check_places(fig)
        check_hover(fig, name)
        check_neutral_colours(fig)
        check_static_picture(fig)
        check_square_cells(fig)
        assert bool(cells_of(fig)) == bool(cells_of(REGISTERED[name](EXAMPLES[name](2, 2))))
        if size[0] < 80:  # a page shows wider maps smaller
            check_window(REGISTERED[name](table, title=LONG))


def check_signature(name: str) -> None:
    """Data first, then a title and few options by name."""
    signature = inspect.signature(REGISTERED[name])
    first, *options = signature.parameters.values()
    assert reads(REGISTERED[name]) == first.name
    assert all(option.kind is option.KEYWORD_ONLY for option in options)
    assert signature.return_annotation is go.Figure
    assert len(signature.parameters.keys() - {"marks"}) <= 6  # `marks` is the same in all of them
    assert "title" in signature.parameters


def check_places(fig: go.Figure) -> None:
    """Panels and texts are inside the figure, no two texts at one place, and there are numbers."""
    frame = data(fig)
    assert len(frame)
    assert all(column.isidentifier() for column in frame.columns)
    assert fig.layout.title.text.startswith("A title")
    assert 250 <= fig.layout.width <= 1650
    for axis in (*fig.select_xaxes(), *fig.select_yaxes()):
        assert 0 < axis.domain[0] < axis.domain[1] < 1
    places = [(text.x, text.y) for text in fig.layout.annotations]
    assert places
    assert all(0 < x < 1 and 0 < y < 1 for x, y in places)
    assert len(set(places)) == len(places)


def check_window(fig: go.Figure) -> None:
    """A window 1400 pixels wide shows all of it, beside a scroll bar."""
    assert fig.layout.width <= 1400 - 15


def cells_of(fig: go.Figure) -> list[go.Heatmap | go.Image]:
    """Traces that show a number for every head or layer; figures without any draw bars and curves."""
    return [trace for trace in fig.data if trace.type in ("heatmap", "image")]


def check_square_cells(fig: go.Figure) -> None:
    """Cells are squares of whole pixels."""
    for trace in cells_of(fig):
        x, y = (fig.layout[f"{key[0]}axis{key[1:]}"] for key in (trace.xaxis or "x", trace.yaxis or "y"))
        shape = np.shape(trace.z)[:2]
        width = (x.domain[1] - x.domain[0]) * fig.layout.width / shape[1]
        height = (y.domain[1] - y.domain[0]) * fig.layout.height / shape[0]
        assert (width, height) == pytest.approx((round(width), round(height)))
        assert abs(x.range[1] - x.range[0]) == shape[1]


def check_hover(fig: go.Figure, name: str) -> None:
    """Every cell, or every bar and curve of a figure without cells, says at the pointer what it is; nothing else."""
    shown = ("heatmap", "image") if cells_of(fig) else ("bar", "scatter")
    told = 0
    for trace in fig.data:
        # Of cells and curves in one figure, both speak.
        said = trace.hovertemplate if trace.type in shown or name == "checkpoints" else None
        assert said is None or ("<b>" in said or "%{text}" in said or "<b>" in trace.hovertext[0])
        told += said is not None
        if said is None:
            assert trace.hoverinfo == "skip"
    assert told


def check_pointer(fig: go.Figure, name: str) -> None:
    """Templates name what their traces hold, and every number at the pointer is one of the figure's numbers."""
    known = data(fig).select_dtypes(["number", "bool"]).to_numpy(dtype=float)
    known = np.sort(known[np.isfinite(known)])
    for trace in fig.data:
        for field, column in re.findall(r"%\{(\w+)(?:\[(\d+)\])?", trace.hovertemplate or ""):
            if field == "x" or (field == "y" and trace.type in ("heatmap", "image")):
                continue  # places of cells and marks
            assert trace[field] is not None, field
            if field not in ("text", "hovertext"):
                shown = np.asarray(trace[field])[(..., int(column))] if column else np.asarray(trace[field])
                shown = shown.astype(float)[np.isfinite(shown.astype(float))]
                nearest = known[np.abs(known - shown[:, None]).argmin(-1)]
                np.testing.assert_allclose(shown, nearest, rtol=1e-4, atol=1e-6)


def check_neutral_colours(fig: go.Figure) -> None:
    """A dark page swaps every neutral colour, but for those on coloured cells."""
    found = [(path, text) for path, text in paths_of(json.loads(fig.to_json())) if is_neutral(text)]
    on_cells = {ON_LIGHT, ON_DARK}
    strangers = {(path, text) for path, text in found if text not in {*DARK, *on_cells}}
    # The legend of a composite holds its corners, which are colours of cells.
    assert not {text for path, text in strangers if path[:2] != ("data", "marker")}
    assert not [path for path, text in found if text in on_cells and path[0] != "data"]
    assert {text for _, text in found} >= {BACKGROUND, TEXT}


def check_static_picture(fig: go.Figure) -> None:
    """The picture that is drawn without a browser is as large, and has every text inside."""
    picture = svg(fig)
    root = ElementTree.fromstring(picture)
    width, height = int(root.get("width")), int(root.get("height"))
    assert (width, height) == (fig.layout.width, fig.layout.height)
    lines = [line for text in root.iter(f"{_SVG}text") for line in text]
    texts = {"".join(line.itertext()) for line in lines}
    notes = {re.sub("<[^>]*>", "", note.text) for note in fig.layout.annotations}
    assert any("A title" in text for text in texts)
    assert {note for note in notes if "&" not in note} <= texts
    for line in lines:
        if line.get("x") and re.search(r"\w", "".join(line.itertext())):
            assert -0.5 <= float(line.get("x")) <= width + 0.5, line.text
            assert -0.5 <= float(line.get("y")) <= height + 0.5, line.text
    assert "nan" not in re.sub('href="[^"]*"', "", picture).lower()


def check_palettes(fig: go.Figure, name: str) -> dict[str, str]:
    """What tells things apart by hue has a palette for everybody: returns the option for it."""
    has_palettes = "palette" in inspect.signature(REGISTERED[name]).parameters
    assert bool(hues_of(fig)) == has_palettes
    if not has_palettes:
        return {}
    with pytest.raises(UnknownNameError, match=r"'sepia'.*headcats, colour_blind"):
        REGISTERED[name](EXAMPLES[name](1, 1), palette="sepia")
    return {"palette": "colour_blind"}


def hues_of(fig: go.Figure) -> set[str]:
    drawn = fig.to_json()
    return {colour for colour in HUES if f'"{colour}"' in drawn} | HUES.intersection(data(fig).get("colour", ()))


def with_holes(table: xr.Dataset) -> xr.Dataset:
    """The same with two fifths of its numbers missing."""
    draw = np.random.default_rng(0)
    floats = {key: values for key, values in table.data_vars.items() if values.dtype.kind == "f"}
    return table.assign({key: values.where(draw.random(values.shape) > 0.4) for key, values in floats.items()})


def paths_of(item: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text of a figure's JSON with the keys that lead to it; arrays of numbers are texts only in name."""
    if isinstance(item, str):
        yield path, item
    elif isinstance(item, dict):
        for key, value in item.items():
            yield from paths_of(value, (*path, key)) if key not in ("bdata", "colorscale") else ()
    elif isinstance(item, list):
        for value in item:
            yield from paths_of(value, path)


def texts_of(fig: go.Figure) -> list[str]:
    return [text for _, text in paths_of(json.loads(fig.to_json()))]


def is_neutral(text: str) -> bool:
    """Whether a text is a shade of grey, as plotly takes it."""
    if not re.fullmatch(r"#[0-9a-fA-F]{6}|rgb\([\d., ]+\)|white|black|gr[ae]y", text):
        return False
    return len(set(bytes.fromhex(as_hex(text, category="")[1:]))) == 1


@pytest.mark.usefixtures("unchecked_types", "joint_methods")
def test_whole_results_are_refused_with_the_call_that_gives_the_table() -> None:
    block = gates_of(np.zeros((1, 1, 2, 2)), datasets=["one"])
    results = xr.DataTree.from_dict({f"/{SUITE}/{method}": block for method in ("spoken_probe", "other")})
    for name in (*FIGURES, "head_scores"):
        draw = lookup("figure", name)
        for given, came in ((results, "the whole results"), (suite_blocks(results), "a dict of")):
            with pytest.raises(DataError, match=f"^{name} .*; got {came}") as refused:
                draw(given)
            said = str(refused.value)
            assert ". Pass hc." in said
            assert all(callable(operator.attrgetter(call)(headcats)) for call in re.findall(r"hc\.([\w.]+)\(", said))
            assert ("spoken_probe, other." in said) == ("hc.suite_blocks(" in said)
    labels = ("word_weights:preset=a", "word_weights:preset=a,n=2")
    several = xr.DataTree.from_dict({f"/{SUITE}/{label}": block for label in (*labels, "spoken_probe")})
    advice = " or ".join(f'hc.suite_blocks(results)["{label}"]' for label in labels)
    with pytest.raises(DataError, match=re.escape(f"{advice}.")):
        draw(several)
    without = xr.DataTree.from_dict({"/copy/denoising_patch": EXAMPLES["head_grid"](2, 2)})
    without.attrs["manifest"] = "{}"
    with pytest.raises(DataError, match="no joint method"):
        draw(without)
    with pytest.raises(DataError, match=r'a part.*\["word_weights"\]\.$'):
        draw(without["copy"])


@pytest.mark.parametrize("name", dict.fromkeys([*HEAD_GRIDS, *of_papers("TURNED")]))
def test_cells_without_a_number_are_grey_and_crossed(name: str) -> None:
    table = EXAMPLES[name](3, 4)
    fig, whole = REGISTERED[name](without_last_head(table)), REGISTERED[name](table)
    assert fig.layout.plot_bgcolor == "#e2e2e2"
    crosses = [trace for trace in fig.data if trace.name == "no value"]
    assert len(crosses) == len(cells(fig))
    assert {(trace.marker.symbol, len(trace.x)) for trace in crosses} == {("x-thin", 1)}
    assert ["× no value" in " ".join(texts_of(found)) for found in (fig, whole)] == [True, False]
