import functools
import re

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.examples import ICL, mixed_overlap, overlap_of
from figures.reading import axes, heatmaps, texts_of

from headcats.base.errors import DataError
from headcats.figures import data, overlap_map
from headcats.results.descriptors import DESCRIPTORS

GREY = "#e9ebee"
COLOURS = {**ICL, "2 categories": "#9467bd", "3 categories": "#8c564b", "4 categories": "#e377c2", "Unclassified": GREY}

# L0H0 none, L0H1 Algorithmic, L1H0 Algorithmic + Translation, L1H1 three, L2H0 all four, L2H1 undecided in Knowledge.
BY_HAND = np.array(
    [
        [[-1, 1], [1, 1], [1, -1]],
        [[-1, -1], [-1, 1], [1, 0]],
        [[-1, -1], [-1, 1], [1, -1]],
        [[-1, -1], [1, -1], [1, -1]],
    ]
)


@functools.cache
def by_hand() -> go.Figure:
    """The map of `BY_HAND`; read-only."""
    return overlap_map(overlap_of(BY_HAND))


@functools.cache
def mixed() -> go.Figure:
    """Read-only."""
    return overlap_map(mixed_overlap(12, 8))


def colour_of(trace: go.Heatmap, layer: int, head: int) -> str:
    """The colour that plotly draws, from the value and the colour scale as its documentation defines them."""
    place = (trace.z[head][layer] - trace.zmin) / (trace.zmax - trace.zmin)
    return next(colour for start, colour in reversed(trace.colorscale) if start <= place)


def legend_of(fig: go.Figure) -> list[str]:
    """Entries of the legend without their bold letters."""
    names = [trace.name for trace in fig.data if trace.showlegend]
    return [name.replace("<b>", "").replace("</b>", "") for name in names]


def test_cells_take_the_colours_of_their_sets() -> None:
    fig = by_hand()
    everything, algorithmic, knowledge, _, translation = heatmaps(fig)
    assert [trace.name for trace in heatmaps(fig)] == ["All Categories", *ICL]
    seen = [colour_of(everything, layer, head) for layer in range(3) for head in range(2)]
    assert seen == [GREY, "#1f77b4", "#9467bd", "#8c564b", "#e377c2", GREY]
    # A category's panel shows its heads in its own colour, shared ones too.
    assert [colour_of(algorithmic, *cell) for cell in ((0, 1), (1, 0), (1, 1), (2, 0))] == ["#1f77b4"] * 4
    assert [colour_of(knowledge, 1, head) for head in (0, 1)] == [GREY, "#ff7f0e"]
    assert [colour_of(knowledge, 2, head) for head in (0, 1)] == ["#ff7f0e", GREY]
    assert colour_of(translation, 1, 0) == "#d62728"
    frame = data(fig)
    assert not frame.duplicated(["panel", "layer", "head"]).any()
    row = frame[(frame.panel == "Translation") & (frame.name == "L1H0")].iloc[0]
    assert (row.set, row.n_categories) == ("Algorithmic+Translation", 2)
    assert (row.label, row.colour, row.outcome, row.tasks) == ("Translation", "#d62728", "in", "copy,reverse")
    assert row.effect == pytest.approx(0.31)
    first = frame[frame.panel == "All Categories"].set_index("name")
    assert first.label["L1H1"] == "3 categories"
    assert first.outcome.tolist() == ["out", "in", "in", "in", "in", "undecided"]


def test_legend_reads_from_most_categories_down_to_undecided_beside_the_first_panel() -> None:
    fig = mixed()
    entries = [trace for trace in fig.data if trace.showlegend]
    expected = ["4 categories", "3 categories", "2 categories", *reversed(ICL), "Unclassified", "Undecided"]
    assert legend_of(fig) == expected
    colours = [trace.marker.color for trace in entries]
    assert dict(zip(expected[:-1], colours, strict=False)) == COLOURS
    assert entries[-1].marker.pattern.shape == "/"
    assert fig.layout.legend.traceorder == "normal"
    first, second = axes(fig, "x")[:2]
    assert first.domain[1] < fig.layout.legend.x < second.domain[0]


def test_heads_of_a_category_that_are_undecided_in_others_are_hatched_too() -> None:
    member = BY_HAND.copy()
    member[[1, 2], 0, 1] = 0
    fig = overlap_map(overlap_of(member))
    frame = data(fig)
    hatched = frame[frame.hatched]
    assert set(zip(hatched.panel, hatched.name, strict=True)) == {
        *(("All Categories", name) for name in ("L0H1", "L2H1")),
        *(("Knowledge", name) for name in ("L0H1", "L2H1")),
        ("Linguistic", "L0H1"),
    }
    row = frame.set_index(["panel", "name"]).loc[("All Categories", "L0H1")]
    assert (row.set, row.label, row.outcome) == ("Algorithmic (2 undecided)", "Algorithmic", "in")
    # Lines over the coloured cell of the first panel, other lines over grey ones.
    lines = [trace for trace in fig.data if trace.name == "Undecided" and trace.type == "scatter" and len(trace.x)]
    first = [trace for trace in lines if trace.xaxis == heatmaps(fig)[0].xaxis]
    assert [(round(np.nanmean(t.x)), round(np.nanmean(t.y))) for t in first] == [(2, 1), (0, 1)]
    assert len({trace.line.color for trace in first}) == 2
    for trace in heatmaps(fig)[:2]:
        assert trace.text[1][0] == "L0H1: Algorithmic (undecided: Knowledge, Linguistic)"
    assert any(text.startswith("hatched: ") for text in texts_of(fig))
    notes = [text for text in texts_of(fig) if re.match(r"\d undecided", text)]
    assert [note.removesuffix(" in some") for note in notes] == ["2 undecided", "2 undecided", "1 undecided"]


def test_frame_and_picture_agree_whatever_the_order_of_dimensions_and_categories() -> None:
    overlap = mixed_overlap(5, 7)
    shuffled = overlap.transpose("head", "layer", "category").isel(category=[2, 0, 3, 1])
    fig = overlap_map(shuffled)
    assert fig.to_json() == overlap_map(overlap).to_json()
    frame = data(fig)
    for trace in heatmaps(fig):
        for row in frame[frame.panel == trace.name].itertuples():
            assert colour_of(trace, row.layer, row.head) == row.colour


def test_layers_without_heads_stay_blank_at_their_own_place() -> None:
    overlap = overlap_of(BY_HAND, layers=[3, 7, 11])
    fig = overlap_map(overlap)
    everything = heatmaps(fig)[0]
    assert np.isfinite(everything.z).any(axis=0).nonzero()[0].tolist() == [3, 7, 11]
    assert everything.hoverongaps is False
    assert everything.text[0][7] == "L7H0: Algorithmic + Translation"
    assert colour_of(everything, 11, 0) == "#e377c2"
    assert list(axes(fig, "x")[0].tickvals) == [0, 2, 4, 6, 8, 10, 12]
    assert set(data(fig).layer) == {3, 7, 11}


def ragged(member: np.ndarray = BY_HAND) -> xr.Dataset:
    """L0H1, L1H0 and L2H0 exist, and L2H1 except in Algorithmic; for the rest rules say undecided, hc.overlap no."""
    exists = np.array([[False, True], [True, False], [True, True]])
    known = np.broadcast_to(exists, member.shape).copy()
    known[0, 2, 1] = False
    overlap = overlap_of(np.where(known, member, 0))
    overlap["undecided"] = overlap.undecided & known
    return overlap.assign(effect=overlap.effect.where(known))


def test_heads_that_a_ragged_layer_lacks_are_blank_and_not_counted() -> None:
    fig = overlap_map(ragged())
    frame = data(fig)
    hatched = frame[frame.hatched]
    assert set(zip(hatched.panel, hatched.name, strict=True)) == {("All Categories", "L2H1"), ("Knowledge", "L2H1")}
    counted = [re.fullmatch(r"(\d) heads? of (\d)", text) for text in texts_of(fig) if "of " in text]
    assert [found.groups() for found in counted] == [("3", "4"), ("3", "3"), ("1", "4"), ("1", "4"), ("2", "4")]
    for trace in heatmaps(fig):
        missing = {"L0H0", "L1H1"} | ({"L2H1"} if trace.name == "Algorithmic" else set())
        rows = frame[(frame.panel == trace.name) & (frame.outcome == "no value")]
        assert set(rows.name) == missing
        assert set(rows.label) | set(rows.colour) == {""}
        blank = {f"L{layer}H{head}" for head, layer in zip(*np.isnan(trace.z).nonzero(), strict=True)}
        assert blank == missing
    assert heatmaps(fig)[0].text[1][2].endswith("(undecided: Knowledge)")


def test_a_map_without_members_says_so_and_counts_the_heads_that_exist() -> None:
    empty = np.where(BY_HAND == 1, -1, BY_HAND)
    texts = texts_of(overlap_map(overlap_of(empty)))
    (sentence,) = (text for text in texts if text.startswith("No head"))
    assert "fdr(alpha=0.05, min_effect=0.05)" in sentence
    assert re.findall(r"; (\d) undecided .* (\d) heads", sentence) == [("1", "6")]
    assert texts.count("no head of 6") == 5
    (sentence,) = (text for text in texts_of(overlap_map(ragged(empty))) if text.startswith("No head"))
    assert re.findall(r"; (\d) undecided .* (\d) heads", sentence) == [("1", "4")]
    assert not any(text.startswith("No head") for text in texts_of(by_hand()))
    of_suppressing = overlap_map(overlap_of(empty).assign_attrs(sign="suppressing"))
    assert any(text.startswith("No suppressing head") for text in texts_of(of_suppressing))


def test_eight_categories_have_as_many_colours_for_as_many_counts() -> None:
    categories = {f"Kind {i}": f"#{i}{i}4080" for i in range(8)}
    # The head of layer i is in categories i .. 7: eight down to one of them.
    fig = overlap_map(overlap_of(np.tril(np.ones((8, 8)))[:, :, None], categories=categories))
    counts = [f"{k} categories" for k in range(8, 1, -1)]
    assert data(fig).query("panel == 'All Categories'").sort_values("layer").label.tolist() == [*counts, "Kind 7"]
    colours = [trace.marker.color for trace in fig.data if trace.showlegend][:-1]
    assert len(set(colours)) == len(colours) == 7 + 8 + 1


def test_counts_that_contradict_the_memberships_are_refused() -> None:
    overlap = overlap_of(BY_HAND)
    with pytest.raises(DataError, match="`n_categories` to count"):
        overlap_map(overlap.assign(n_categories=overlap.n_categories + 1))


def with_suppression() -> xr.Dataset:
    overlap = overlap_of(BY_HAND)
    marks = np.full(BY_HAND.shape, -1, dtype=np.int8)
    marks[1, 1, 0] = marks[1, 2, 1] = 1
    return overlap.assign(suppressing=(("category", "layer", "head"), marks))


def test_triangles_mark_suppressing_heads_in_their_category_alone() -> None:
    fig = overlap_map(with_suppression())
    marks = [trace for trace in fig.data if trace.name == "Suppressing" and trace.x[0] is not None]
    assert [(list(trace.x), list(trace.y)) for trace in marks] == [([1, 2], [0, 1])]
    knowledge = heatmaps(fig)[2]
    assert (marks[0].xaxis, marks[0].yaxis) == (knowledge.xaxis, knowledge.yaxis)
    assert "suppresses: Knowledge" in knowledge.text[0][1]
    frame = data(fig)
    marked = frame[frame.suppresses]
    assert (set(marked.panel), marked.name.tolist()) == ({"Knowledge"}, ["L1H0", "L2H1"])
    assert [trace.name for trace in fig.data if trace.showlegend is not False][-1] == "Suppressing"
    # Colours are those of the helping heads, with or without the marks.
    plain = by_hand()
    assert not [trace for trace in plain.data if trace.name == "Suppressing"]
    np.testing.assert_array_equal(plain.data[0].z, fig.data[0].z)


def test_what_heads_do_is_at_the_pointer_of_the_first_panel_and_in_the_numbers() -> None:
    plain = overlap_of(BY_HAND)
    sizes = {dim: plain.sizes[dim] for dim in ("layer", "head")}
    draws = np.random.default_rng(0)
    values = {name: draws.random(tuple(sizes.values())) for name in DESCRIPTORS}
    described = plain.assign({name: (tuple(sizes), value) for name, value in values.items() if name != "entropy"})
    fig = overlap_map(described)
    frame = data(fig)
    assert set(DESCRIPTORS) & set(frame.columns) == set(DESCRIPTORS) - {"entropy"}
    for _, of_panel in frame.groupby("panel"):
        np.testing.assert_array_equal(of_panel.sort_values(["layer", "head"])["copying"], values["copying"].ravel())
    first, *others = heatmaps(fig)
    assert "induction" in first.hovertemplate
    assert not any("induction" in trace.hovertemplate for trace in others)
    assert not set(DESCRIPTORS) & set(data(overlap_map(plain)).columns)


# L1H0 Algorithmic + Translation, L2H1 undecided in Knowledge.
HOVERED = -np.ones((4, 3, 2))
HOVERED[[0, 3], 1, 0] = 1
HOVERED[1, 2, 1] = 0


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text) if word not in ("br", "tasks", "of")]


def test_hover_names_the_head_its_set_and_its_tasks() -> None:
    everything, algorithmic, knowledge, *_ = heatmaps(overlap_map(overlap_of(HOVERED)))
    assert everything.text[0][1] == "L1H0: Algorithmic + Translation"
    assert re.findall(r"[A-Z]\w+", everything.text[1][2]) == ["L2H1", "Knowledge"]
    assert "undecided" in everything.text[1][2]
    # The panel of a category says what its heads are in the others.
    assert algorithmic.text[1][2].startswith("L2H1: no category ")
    assert "undecided: Knowledge" in algorithmic.text[1][2]
    tasks = ["Algorithmic", "copy", "reverse"]
    assert words(algorithmic.hovertext[0][1]) == tasks
    assert words(everything.hovertext[0][1]) == [*tasks, "Translation", "copy", "reverse"]
    np.testing.assert_allclose(everything.customdata[1][2][4:8], [0.121, 0.101, 0.141, 0.5], rtol=1e-6)
    np.testing.assert_allclose(knowledge.customdata[1][2], [0.121, 0.101, 0.141, 0.5], rtol=1e-6)
    for name in ICL:
        assert f"{name}: effect" in everything.hovertemplate
    unscored = overlap_of(HOVERED)
    fig = overlap_map(unscored.assign(effect=unscored.effect.where(unscored.category != "Knowledge")))
    assert texts_of(fig).count("not judged") == 1
    everything, algorithmic, knowledge, *_ = heatmaps(fig)
    for trace in (everything, knowledge):
        assert "Knowledge: not judged" in trace.hovertemplate
        assert "Knowledge: effect" not in trace.hovertemplate
    assert "not judged" not in algorithmic.hovertemplate
