import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headcats.figures.panels.cells import hatch_lines


@given(
    arrays.arrays(bool, st.tuples(st.integers(1, 7), st.integers(1, 7))), st.sampled_from([(3, 3), (16, 16), (30, 7)])
)
def test_hatch_crosses_every_cell_of_the_mask_and_no_other(mask: np.ndarray, cell: tuple[int, int]) -> None:
    x, y = hatch_lines(mask, cell=cell)
    touched = np.zeros_like(mask)
    for left, right, low, high in zip(x[0::3], x[1::3], y[0::3], y[1::3], strict=True):
        assert left < right  # "/": up to the right, and heads count downwards
        assert low > high
        # Points well inside every piece of the line; 1000 is no multiple of the pieces.
        along = (np.arange(1000) + 0.5) / 1000
        touched[np.rint(low + along * (high - low)).astype(int), np.rint(left + along * (right - left)).astype(int)] = (
            True
        )
    np.testing.assert_array_equal(touched, mask)
