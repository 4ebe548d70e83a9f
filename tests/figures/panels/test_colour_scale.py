import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headcats.figures.panels.colour_scale import ColourScale, rising_scale, signed_scale

VALUES = arrays.arrays(float, st.integers(1, 200), elements=st.floats(-5, 5, width=32) | st.just(np.nan))


@given(VALUES, st.none() | st.floats(1e-6, 10))
def test_a_rising_scale_tells_the_truth_about_its_ends(values: np.ndarray, clip: float | None) -> None:
    scale = rising_scale(values, colours="Viridis", name="", clip=clip)
    assert scale.limit > 0
    finite = values[np.isfinite(values)]
    assert scale.clipped == (bool((finite < 0).any()), bool((finite > scale.limit * (1 + 1e-9)).any()))
    texts = [text.strip("≤ +") for text in scale.texts]
    assert scale.ticks[0] == 0
    assert 3 <= len(scale.ticks) <= 9
    assert len(set(texts)) == len(texts)
    assert [float(text) for text in texts[:-1]] == pytest.approx(scale.ticks[:-1], rel=1e-6)
    assert scale.texts[-1].endswith("+") == scale.clipped[1]


@given(VALUES)
def test_a_signed_scale_tells_the_truth_about_its_ends(effects: np.ndarray) -> None:
    scale = signed_scale(effects, name="effect")
    assert scale.limit > 0
    assert scale.ticks[0] == -scale.limit
    low, high = np.nanmin([*effects, 0.0]), np.nanmax([*effects, 0.0])
    assert scale.clipped == (bool(low < -scale.limit), bool(high > scale.limit))
    assert signed_scale(effects, name="effect", quantile=1.0).clipped == (False, False)


def test_a_signed_scale_is_clipped_at_its_quantile_and_few_acting_heads_do_not_lose_it() -> None:
    effects = np.full(400, 0.1)
    effects[:3] = 2.0
    assert signed_scale(effects, name="").texts == ["-0.10", "-0.05", "0.00", "0.05", "0.10+"]
    assert signed_scale(-effects, name="").texts == ["≤ -0.10", "-0.05", "0.00", "0.05", "0.10"]
    assert signed_scale(np.eye(400)[0], name="").texts[-1] == "1.00"


def test_marks_stand_out_from_their_cells() -> None:
    signed = signed_scale(np.array([1.0]), name="")
    blues, viridis = (ColourScale(colours, (-1.0, 1.0), "", digits=1) for colours in ("Blues", "Viridis"))
    assert signed.ink([-1.0, 0.0, 1.0]).tolist() == ["white", "black", "white"]
    assert blues.ink([-1.0, 0.0, 1.0]).tolist() == ["black", "black", "white"]
    assert viridis.ink([-1.0, 0.0, 1.0]).tolist() == ["white", "white", "black"]


def test_the_name_of_a_bar_keeps_away_from_its_ticks() -> None:
    labels = ColourScale("Blues", (0.0, 1.0), "AUC", digits=1, clipped=(False, True)).labels
    assert all(label.endswith("\N{NO-BREAK SPACE}") for label in labels)
    assert labels[-1].startswith("1.0+")
