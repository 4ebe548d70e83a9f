"""Categories are told by letters where cells hold them, so that colour is not the only cue."""

import functools

import numpy as np
import plotly.graph_objects as go
import pytest
from figures.examples import FUNCTIONS, ICL, mixed_overlap, overlap_of

from headcats.figures import data, overlap_map
from headcats.figures.panels.legend import category_letters, with_letter


@functools.cache
def mixed() -> go.Figure:
    """Read-only."""
    return overlap_map(mixed_overlap(6, 8))


def letters_of(fig: go.Figure) -> list[go.Scatter]:
    return [trace for trace in fig.data if trace.name == "letters"]


def test_a_letter_for_every_head_of_the_first_panel_that_is_in_a_category() -> None:
    fig = mixed()
    (written,) = letters_of(fig)
    frame = data(fig)
    inside = frame[(frame.panel == "All Categories") & (frame.outcome == "in")]
    expected = {
        (row.layer, row.head): str(row.n_categories) if row.n_categories > 1 else row.set[0]
        for row in inside.itertuples()
    }
    shown = dict(zip(zip(written.x.tolist(), written.y.tolist(), strict=True), written.text, strict=True))
    assert shown == expected
    assert set(expected.values()) >= {"A", "K", "L", "T", "2"}
    assert (written.xaxis, written.yaxis) == ("x", "y")


@pytest.mark.parametrize(("layers", "written"), [(16, True), (19, False)])
def test_letters_are_left_out_of_cells_that_do_not_hold_them(layers: int, written: bool) -> None:
    fig = overlap_map(mixed_overlap(layers, 8))
    assert bool(letters_of(fig)) is written
    assert any("<b>" in trace.name for trace in fig.data if trace.showlegend) is written


def test_letters_tell_every_category() -> None:
    assert category_letters(list(ICL)) == {name: name[0] for name in ICL}
    functions = category_letters(FUNCTIONS)
    assert len(set(functions.values())) == len(FUNCTIONS)
    assert functions["Semantic Understanding"] == "Se"
    assert all(name.startswith(letter) for name, letter in functions.items())
    assert category_letters(["part one", "part two", "part"]) == {"part one": "a", "part two": "b", "part": "c"}
    assert category_letters(["Nouns", "nouns"]) == {"Nouns": "a", "nouns": "b"}
    assert category_letters([f"kind {n}" for n in range(30)])["kind 29"] == "ad"
    assert category_letters([" x", " y"]) == {" x": " x", " y": " y"}


def test_letters_are_shown_as_written() -> None:
    fig = overlap_map(overlap_of(np.ones((1, 1, 1)), categories={"<i>": "#123456"}))
    assert letters_of(fig)[0].text == ("&lt;",)
    assert with_letter("category 1", "a") == "<b>a</b> category 1"
