import functools

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.examples import ICL
from figures.reading import heatmaps, texts_of
from paper_tables import relations_of, scattered_relations

from headcats.base.errors import OptionError
from headcats.categories.membership import categorize
from headcats.categories.shared import overlap
from headcats.figures import data, overlap_map
from headcats.papers.ov_relation.figure import ov_map

# Relations copying, reversing and capital; L0H0, L0H1, L1H0, L1H1.
SCORE = np.array([[[0.9, 0.0], [0.15, 0.149]], [[0.0, 0.1], [0.5, 0.0]], [[0.3, 0.2], [0.0, 0.0]]])


def by_hand(**changes: list[float]) -> xr.Dataset:
    """Threshold .15 for all, k 10 but 1 for copying, null .02 to .05."""
    return relations_of(
        SCORE,
        tasks=["copying", "reversing", "capital"],
        belongs=["Algorithmic", "Algorithmic", "Knowledge"],
        k=[1, 10, 10],
        null=changes.get("null", [0.02, 0.05, 0.03]),
    )


@functools.cache
def drawn() -> go.Figure:
    """Never changed."""
    return ov_map(by_hand())


def test_a_head_is_in_a_category_through_any_relation_that_reaches_its_threshold() -> None:
    frame = data(drawn()).set_index(["panel", "name"])
    assert frame.set["All Categories"].to_dict() == {
        "L0H0": "Algorithmic+Knowledge",
        "L0H1": "Knowledge",
        "L1H0": "Algorithmic",
        "L1H1": "",
    }
    assert frame.tasks["Algorithmic"].to_dict() == {
        "L0H0": "copying",
        "L0H1": "",
        "L1H0": "copying,reversing",
        "L1H1": "",
    }
    assert frame.score["Algorithmic"].tolist() == [0.9, 0.1, 0.5, 0.149]
    assert frame.outcome["Knowledge"].tolist() == ["in", "in", "out", "out"]
    assert frame.label["All Categories", "L0H0"] == "2 categories"
    assert frame.colour["All Categories", "L0H1"] == ICL["Knowledge"]


def test_a_threshold_of_ones_own_is_named() -> None:
    frame = data(ov_map(by_hand(null=[0.02, 0.05, 0.25]))).set_index(["panel", "name"])
    assert frame.outcome["Knowledge"].tolist() == ["in", "out", "out", "out"]  # that of the null, where it is higher
    fig = ov_map(by_hand(null=[0.02, 0.05, 0.25]), threshold=0.1)
    frame = data(fig).set_index(["panel", "name"])
    assert frame.outcome["Algorithmic"].tolist() == ["in", "in", "in", "in"]
    assert frame.outcome["Knowledge"].tolist() == ["in", "in", "out", "out"]
    assert "threshold 0.1, " in fig.layout.title.text
    with pytest.raises(OptionError, match="calibrated"):
        ov_map(by_hand(), threshold="half")


def test_heads_that_suppress_a_relation_carry_a_triangle() -> None:
    relations = by_hand()
    relations["suppression"][2, 1, 0] = 0.4
    fig = ov_map(relations)
    marks = [trace for trace in fig.data if trace.name == "Suppressing" and trace.x[0] is not None]
    assert [(list(trace.x), list(trace.y)) for trace in marks] == [([1], [0])]
    assert data(fig).query("suppresses")[["panel", "name"]].to_numpy().tolist() == [["Knowledge", "L1H0"]]


def test_the_title_names_k_threshold_and_null() -> None:
    title = drawn().layout.title.text
    assert "k 10 (copying: 1), " in title
    assert title.endswith("0.15, null 0.02 to 0.05")
    assert ov_map(by_hand(), title="GPT-2").layout.title.text == title.replace("OV relations", "GPT-2")
    higher = ov_map(by_hand(null=[0.02, 0.02, 0.25])).layout.title.text
    assert "0.15 to 0.25, null 0.02 to 0.25" in higher
    one = by_hand().isel(task=[1])
    assert ov_map(one).layout.title.text.endswith("0.15, null 0.05")
    assert any("99.9th" in text for text in texts_of(drawn()))


@pytest.mark.filterwarnings("ignore:.*saturates:headcats.base.errors.StatisticsWarning")
def test_cells_and_axes_are_those_of_the_overlap_map() -> None:
    relations = scattered_relations(6, 8)
    fig, plain = ov_map(relations), overlap_map(overlap(categorize(relations)))
    assert [trace.name for trace in heatmaps(fig)] == ["All Categories", *ICL]
    for mine, theirs in zip(heatmaps(fig), heatmaps(plain), strict=True):
        np.testing.assert_array_equal(mine.z, theirs.z)
        assert mine.colorscale == theirs.colorscale
    assert (fig.layout.xaxis.title.text, fig.layout.yaxis.title.text) == ("layer", "head")
    assert fig.layout.yaxis.range == plain.layout.yaxis.range == (7.5, -0.5)
