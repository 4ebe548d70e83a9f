"""Cells as a PNG."""

import base64

import numpy as np
from figures.chromium import read_png

from headcats.figures.static.png import png_address


def test_every_cell_is_one_pixel_of_its_colour() -> None:
    rgba = np.random.default_rng(0).integers(0, 256, (3, 5, 4), dtype=np.uint8)
    kind, content = png_address(rgba).split(",")
    assert kind == "data:image/png;base64"
    np.testing.assert_array_equal(read_png(base64.b64decode(content)), rgba[..., :3])
