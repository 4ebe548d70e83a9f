"""Where numbers stand in pixels, and which of them are ticks."""

import numpy as np
import plotly.graph_objects as go

from headcats.figures.static.axes import Span, spans


def span(*, start: float = 100, stop: float = 300, **axis: object) -> Span:
    return Span(go.Figure(layout={"xaxis": axis}).layout.xaxis, start, stop)


def test_numbers_stand_between_the_pixels_of_their_range() -> None:
    axis = span(range=[-0.5, 3.5])
    np.testing.assert_allclose(axis.place([-0.5, 0, 1.5, 3.5]), [100, 125, 200, 300])
    assert axis.ends == (100, 300)


def test_an_axis_may_run_backwards() -> None:
    axis = span(range=[3.5, -0.5])
    np.testing.assert_allclose(axis.place([3.5, -0.5]), [100, 300])
    assert [text for _, text in axis.ticks()] == ["0", "1", "2", "3"]


def test_a_logarithmic_axis_counts_powers_of_ten() -> None:
    axis = span(type="log", range=[-2, 2])
    np.testing.assert_allclose(axis.place([0.01, 1, 100, 0, -1]), [100, 200, 300, np.nan, np.nan])
    assert axis.ticks() == [(100, "0.01"), (150, "0.1"), (200, "1"), (250, "10"), (300, "100")]


def test_ticks_are_round_and_at_most_as_many_steps_as_asked() -> None:
    for low, high, texts in (
        (0, 1, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-0.12, 0.31, ["−0.1", "0", "0.1", "0.2", "0.3"]),
        (0, 240, ["0", "50", "100", "150", "200"]),
        (0, 5, ["0", "2", "4"]),
    ):
        assert [text for _, text in span(range=[low, high], nticks=5).ticks()] == texts


def test_given_ticks_keep_their_texts_and_those_outside_are_left_out() -> None:
    axis = span(range=[0, 2], tickvals=[0, 1, 3], ticktext=["none", "one", "three"])
    assert axis.ticks() == [(100, "none"), (200, "one")]


def test_the_domain_of_a_panel_counts_from_the_bottom() -> None:
    axes = {"xaxis2": {"domain": [0.1, 0.6], "range": [0, 1]}, "yaxis2": {"domain": [0.25, 0.75], "range": [0, 1]}}
    x, y = spans(go.Figure(layout={"width": 200, "height": 80} | axes), "2")
    assert (x.start, x.stop) == (20, 120)
    assert (y.start, y.stop) == (60, 20)
