"""Copies of the papers' figures for a paper: the ticks and sides of the published ones."""

import numpy as np
from figures.examples import FUNCTIONS
from figures.reading import axes, ticks
from figures.registered import PUBLISHED, REGISTERED, published
from paper_tables import ROLES, probe_of

from headcats.figures.static.svg import svg


def test_importances_are_numbered_every_six() -> None:
    draws = np.random.default_rng(0).random((1, len(FUNCTIONS), 28, 24))
    fig = REGISTERED["importance_grid"](probe_of(draws), **PUBLISHED)
    assert ticks(fig, "x") == {(0, 6, 12, 18)}
    assert ticks(fig, "y") == {(0, 6, 12, 18, 24)}
    assert {axis.range for axis in axes(fig, "y")} == {(27.5, -0.5)}
    assert [axis.title.text for axis in axes(fig, "x")] == [""] * 4 + ["Head"] * 4
    assert [axis.title.text for axis in axes(fig, "y")] == ["Layer", "", "", ""] * 2
    assert fig.layout.width <= 1440
    few = published("importance_grid", (14, 16))
    assert ticks(few, "x") == {(0, 6, 12)}


def test_gates_are_numbered_in_round_steps_with_layer_0_at_the_bottom() -> None:
    fig = published("always_any", (28, 24))
    assert ticks(fig, "x") == {(0, 5, 10, 15, 20)}
    assert ticks(fig, "y") == {(0, 10, 20)}
    assert {axis.range for axis in axes(fig, "y")} == {(-0.5, 27.5)}
    assert [axis.title.text for axis in axes(fig, "x")] == ["", "", "Head", "Head"]
    assert {axis.side for axis in axes(fig, "x")} == {None}


def test_a_token_map_has_tokens_on_top_every_second_layer_and_the_rectangle() -> None:
    fig = published("layer_token", (32, 1))
    assert (fig.layout.xaxis.side, list(fig.layout.xaxis.ticktext)) == ("top", list(ROLES))
    assert ticks(fig, "y") == {tuple(range(0, 32, 2))}
    assert fig.layout.yaxis.range == (31.5, -0.5)
    assert [trace.name for trace in fig.data if trace.type == "scatter"] == ["exact answer"]
    assert ticks(published("layer_token", (12, 1)), "y") == {tuple(range(0, 12, 2))}
    assert fig.layout.title.text is None


def test_every_sixth_tick_is_not_the_last_one() -> None:
    fig = published("importance_grid", (80, 3))
    assert ">80<" not in svg(fig)
