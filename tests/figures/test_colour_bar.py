import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headcats.figures.colour_bar import fixed_colour_axis, rising_colour_axis, rising_limit, signed_colour_axis


@given(
    arrays.arrays(float, st.integers(1, 200), elements=st.floats(-5, 5, width=32) | st.just(np.nan)),
    st.none() | st.floats(1e-6, 10),
)
def test_a_rising_scale_tells_the_truth_about_its_ends(shown: np.ndarray, clip: float | None) -> None:
    limit, step, below, above = rising_limit(shown, clip=clip)
    assert limit > 0
    finite = shown[np.isfinite(shown)]
    assert below == bool((finite < 0).any())
    assert above == bool((finite > limit * (1 + 1e-9)).any())
    bar = rising_colour_axis((limit, step, below, above), colours="Viridis", at=(0.0, 0.0), length=9, name="")[
        "colorbar"
    ]
    shown_texts = [text.strip() for text in bar["ticktext"]]
    values, texts = bar["tickvals"], [text.strip("≤ +") for text in shown_texts]
    assert values[0] == 0
    assert values[-1] == limit
    assert 3 <= len(values) <= 9
    assert len(set(texts)) == len(texts)
    assert [float(text) for text in texts[:-1]] == pytest.approx(values[:-1], rel=1e-6)
    assert shown_texts[-1].endswith("+") == above


def test_a_name_beside_the_ticks_keeps_away_from_them() -> None:
    named = fixed_colour_axis((0.0, 1.0), clipped=(False, True), colours="Blues", at=(0.0, 0.0), length=9, name="AUC")
    assert all(text.endswith("\N{NO-BREAK SPACE}") for text in named["colorbar"]["ticktext"])
    bare = signed_colour_axis((1.0, False, True), at=(0.0, 0.0))["colorbar"]
    assert bare["ticktext"] == ["-1.00", "-0.50", "0.00", "0.50", "1.00+"]
