"""What holds for every registered figure, whatever it shows."""

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path

import jaxtyping
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.examples import CELLS, EXAMPLES, FIGURES, ICL, REGISTERED

import headcats.figures
from headcats.errors import DataError, UnknownNameError
from headcats.figures import data, figure, reads, write
from headcats.results.manifest import SUITE
from headcats.results.run_results import suite_blocks

figure_module = importlib.import_module("headcats.figures.figure")
SIZES = [(1, 1), (2, 2), pytest.param((80, 64), marks=pytest.mark.ci)]


def drawn(name: str, table: object, **options: object) -> go.Figure:
    return getattr(headcats.figures, name)(table, **options)


@pytest.mark.parametrize("name", REGISTERED)
def test_every_figure_reads_data_first_and_takes_options_by_name(name: str) -> None:
    parameters = list(inspect.signature(REGISTERED[name]).parameters.values())
    assert reads(REGISTERED[name]) == parameters[0].name
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters[1:])
    assert inspect.signature(REGISTERED[name]).return_annotation is go.Figure


def test_a_plain_plotly_figure_may_be_registered_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def effect_counts(scores: xr.Dataset, *, bins: int = 4) -> go.Figure:
        return go.Figure(go.Histogram(x=scores["effect"].values.ravel(), nbinsx=bins))

    monkeypatch.setattr(figure_module, "register", lambda *named: None)
    draw = figure(effect_counts)
    fig = draw(EXAMPLES["head_grid"](2, 3), bins=7)
    assert reads(draw) == "scores"
    assert fig.data[0].nbinsx == 7
    assert write(fig, tmp_path / "counts.html").stat().st_size > 1_000_000
    with pytest.raises(DataError, match="numbers"):
        data(fig)


@pytest.mark.parametrize("size", SIZES, ids="{0[0]}x{0[1]}".format)
@pytest.mark.parametrize("name", FIGURES)
def test_any_size_is_drawn_inside_the_figure_with_its_numbers(name: str, size: tuple[int, int]) -> None:
    fig = drawn(name, EXAMPLES[name](*size), title="A title")
    frame = data(fig)
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)
    assert all(column.isidentifier() for column in frame.columns)
    assert fig.layout.title.text.startswith("A title")
    assert 250 <= fig.layout.width <= 1650
    for axis in ("xaxis", "yaxis"):
        domains = [fig.layout[key].domain for key in fig.layout if key.startswith(axis)]
        assert all(0 < low < high < 1 for low, high in domains)
    places = [(text.x, text.y) for text in fig.layout.annotations]
    assert places
    assert all(0 < x < 1 and 0 < y < 1 for x, y in places)
    assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    "size", [(6, 8), *(pytest.param((n, n), marks=pytest.mark.ci) for n in (12, 32))], ids="{0[0]}x{0[1]}".format
)
@pytest.mark.parametrize("name", FIGURES)
def test_a_window_1400_pixels_wide_shows_the_whole_figure(name: str, size: tuple[int, int]) -> None:
    fig = drawn(name, EXAMPLES[name](*size), title="A title that is much longer than any window is wide " * 5)
    assert fig.layout.width <= 1400 - 15  # of a scroll bar at the side


@pytest.mark.parametrize("name", CELLS)
def test_cells_are_squares_of_whole_pixels(name: str) -> None:
    fig = drawn(name, EXAMPLES[name](6, 8))
    cells = [trace for trace in fig.data if trace.type in ("heatmap", "image")]
    assert cells
    for trace in cells:
        x, y = (fig.layout[f"{key[0]}axis{key[1:]}"] for key in (trace.xaxis or "x", trace.yaxis or "y"))
        shape = np.shape(trace.z)[:2]
        width = (x.domain[1] - x.domain[0]) * fig.layout.width / shape[1]
        height = (y.domain[1] - y.domain[0]) * fig.layout.height / shape[0]
        assert (width, height) == pytest.approx((round(width), round(height)))
        assert abs(x.range[1] - x.range[0]) == shape[1]


@pytest.mark.parametrize("name", FIGURES)
def test_every_cell_says_what_it_is(name: str) -> None:
    fig = drawn(name, EXAMPLES[name](2, 3))
    shown = ("heatmap", "image") if name in CELLS else ("bar", "scatter")
    told = 0
    for trace in fig.data:
        # Of cells and curves in one figure, both speak.
        said = trace.hovertemplate if trace.type in shown or name in ("checkpoints", "gate_contrast") else None
        assert said is None or ("<b>" in said or "%{text}" in said or "<b>" in trace.hovertext[0])
        told += said is not None
        if said is None:
            assert trace.hoverinfo == "skip"
    assert told


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_table_gives_the_same_figure_and_stays_as_it_was(name: str) -> None:
    table = EXAMPLES[name](2, 3)
    before = table.copy(deep=True)
    first = drawn(name, table)
    xr.testing.assert_identical(table, before)
    turned = table.transpose(*reversed(list(table.dims)))
    assert drawn(name, turned).to_json() == first.to_json()
    pd.testing.assert_frame_equal(data(drawn(name, turned)), data(first))


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("wrong", [xr.Dataset(), xr.Dataset({"loss": ("step", [1.0])})], ids=["empty", "other"])
def test_another_table_is_refused_by_name(name: str, wrong: xr.Dataset) -> None:
    with pytest.raises(DataError, match=f"{name} expects"):
        drawn(name, wrong)


# Figure -> how the results of a run give what it reads.
OF_RESULTS = {
    "overlap_map": "hc.overlap(hc.categorize(hc.score(results)))",
    "head_grid": "hc.score(results)",
    "head_tasks": "hc.score(results)",
    "importance_grid": 'hc.suite_blocks(results)["function_probe"], or hc.score(results)',
    "elbow_curves": 'hc.suite_blocks(results)["function_probe"]',
    "scaled_heads": "hc.methods.function_probe.scale_function_heads(model, texts, heads)",
    "always_any": 'hc.suite_blocks(results)["head_gating"]',
    "gate_seeds": 'hc.suite_blocks(results)["head_gating"]',
    "gate_toggles": "hc.methods.head_gating.toggle_curves(model, texts, gates)",
    "gate_contrast": "hc.methods.head_gating.contrastive_gates(model, retain, forget)",
    "ov_map": 'hc.suite_blocks(results)["ov_relation"]',
    "relation_table": 'hc.suite_blocks(results)["ov_relation"]',
    "static_dynamic": "hc.methods.ov_relation.dynamic_relation(model, pairs, relations)",
    "relation_curves": "hc.methods.ov_relation.relation_ablation(model, relations, prompts)",
    "layer_token": 'hc.suite_blocks(results)["token_probe"]',
    "method_agreement": "hc.evidence.method_agreement(hc.evidence.method_scores(results))",
    "position_head": "hc.sweep(model, batch, method, positions='each')",
    "layer_profile": "hc.categorize(hc.score(results))",
    "set_counts": "hc.overlap(hc.categorize(hc.score(results)))",
    "relabelled_tasks": (
        'hc.run_evidence(model, results)["relabelling"], or xarray.load_dataset("DIR/evidence/relabelling.nc")'
    ),
    "generalisation_matrix": "hc.methods.token_probe.generalisation(model, datasets, at=(layer, role))",
    "probe_baselines": "hc.methods.token_probe.baselines(model, questions)",
    "checkpoints": "hc.evidence.over_revisions(hc.load_series(DIR))",
    "ablation_curves": 'hc.run_evidence(model, results)["curves"], or xarray.load_dataset("DIR/evidence/curves.nc")',
}


@pytest.fixture
def without_type_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the tests would refuse anything but a dataset before the figure does."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("name", FIGURES)
def test_whole_results_are_refused_with_the_call_that_gives_the_table(name: str) -> None:
    blocks = {method: EXAMPLES["layer_token"](2, 2) for method in ("token_probe", "other")}
    results = xr.DataTree.from_dict({f"/{SUITE}/{method}": block for method, block in blocks.items()})
    for given, came in ((results, "the whole results of a run"), (suite_blocks(results), "a dict of tables")):
        with pytest.raises(DataError, match=f"{name} .* over .*; got {came}") as refused:
            drawn(name, given)
        message = str(refused.value)
        assert OF_RESULTS[name] in message
        assert ("token_probe, other." in message) == ("suite_blocks" in OF_RESULTS[name])


@pytest.mark.usefixtures("without_type_checks")
def test_the_advice_names_the_tables_that_are_there() -> None:
    block = EXAMPLES["layer_token"](2, 2)
    labels = ["head_gating:preset=chg-mini", "head_gating:preset=chg-mini,n_seeds=2", "token_probe"]
    results = xr.DataTree.from_dict({f"/{SUITE}/{label}": block for label in labels})
    with pytest.raises(DataError) as refused:
        drawn("always_any", results)
    tables = [f'hc.suite_blocks(results)["{label}"]' for label in labels[:2]]
    assert f"{tables[0]} or {tables[1]}." in str(refused.value)


@pytest.mark.usefixtures("without_type_checks")
def test_results_without_a_method_over_the_suite_say_so() -> None:
    root, block = xr.Dataset(attrs={"manifest": "{}"}), EXAMPLES["layer_token"](2, 2)
    results = xr.DataTree.from_dict({"/": root, "/copy/denoising_patch": block})
    with pytest.raises(DataError, match="no joint method"):
        drawn("always_any", results)
    with pytest.raises(DataError, match=r'a part.*\["head_gating"\]\.$'):
        drawn("always_any", results["copy"])


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_panels_has_a_title_and_few_options(name: str) -> None:
    parameters = inspect.signature(REGISTERED[name]).parameters
    # `marks` is the same in all of them.
    assert len(parameters.keys() - {"marks"}) <= 6
    assert "title" in parameters


def without_last_head(table: xr.Dataset) -> xr.Dataset:
    """The same with no number for the last head of the last layer, in whatever holds numbers of heads."""
    last = (table["layer"] == table["layer"][-1]) & (table["head"] == table["head"][-1]) if "head" in table else None
    if last is None:
        last = (table["layer"] == table["layer"][-1]) & (table["role"] == table["role"][-1])
    changed = {
        name: values.where(~last)
        for name, values in table.data_vars.items()
        if set(last.dims) <= set(values.dims) and values.dtype.kind == "f"
    }
    return table.assign(changed)


@pytest.mark.parametrize("name", ["head_grid", "importance_grid", "always_any", "layer_token"])
def test_cells_without_a_number_are_grey_and_crossed(name: str) -> None:
    table = EXAMPLES[name](3, 4)
    fig = drawn(name, without_last_head(table))
    assert fig.layout.plot_bgcolor == "#e2e2e2"
    crosses = [trace for trace in fig.data if trace.name == "no value"]
    cells = [trace for trace in fig.data if trace.type in ("heatmap", "image")]
    panels = len([trace for trace in cells if trace.name != "colours"])
    assert len(crosses) == panels
    assert {trace.marker.symbol for trace in crosses} == {"x-thin"}
    assert any("× no value" in text.text for text in fig.layout.annotations)
    assert not any("× no value" in text.text for text in drawn(name, table).layout.annotations)
    assert all(len(trace.x) == 1 for trace in crosses)


def undecorated(name: str) -> Callable:
    return getattr(headcats.figures, name).__wrapped__


@pytest.mark.parametrize("name", FIGURES)
def test_a_docstring_names_the_columns_of_the_frame(name: str) -> None:
    frame = data(drawn(name, EXAMPLES[name](2, 2)))
    said = inspect.getdoc(undecorated(name))
    assert [column for column in frame.columns if column not in said] == []


PALETTES = ("headcats", "colour_blind")
# What tells categories, or gates, apart by hue.
HUES = {*ICL.values(), "#9467bd", "#8c564b", "#e377c2", "#00ff00"}


@pytest.mark.ci
@pytest.mark.parametrize("name", FIGURES)
def test_figures_that_tell_things_apart_by_hue_have_a_palette_for_everybody(name: str) -> None:
    table = EXAMPLES[name](4, 5)
    found = {colour for colour in HUES if f'"{colour}"' in drawn(name, table).to_json()}
    parameters = inspect.signature(getattr(headcats.figures, name)).parameters
    assert bool(found) == ("palette" in parameters)
    if found:
        first, other = (drawn(name, table, palette=palette) for palette in PALETTES)
        assert first.to_json() == drawn(name, table).to_json()
        assert not {colour for colour in HUES if f'"{colour}"' in other.to_json()}
        if "colour" in data(other):
            assert set(data(first).colour) != set(data(other).colour)
        with pytest.raises(UnknownNameError, match=r"'sepia'.*colour_blind"):
            drawn(name, table, palette="sepia")
