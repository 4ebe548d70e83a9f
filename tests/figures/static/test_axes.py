"""Where numbers stand in pixels."""

import numpy as np

from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.layout import Plot
from headcats.figures.static.axes import Box


def test_numbers_stand_between_the_edges_of_their_plot() -> None:
    forth, back = (
        Box(Plot(Axis("layer", 4, reverse=r), Scale(0, 5), (200, 50), []), 100, 20, 300, 70) for r in (False, True)
    )
    np.testing.assert_allclose(forth.x([-0.5, 0, 1.5, 3.5]), [100, 125, 200, 300])
    np.testing.assert_allclose(back.x([-0.5, 0, 1.5, 3.5]), [300, 275, 200, 100])
    np.testing.assert_allclose(forth.y([0, 1, None, 5]), [70, 60, np.nan, 20])
