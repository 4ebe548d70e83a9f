"""Pictures written by kaleido and a real browser."""

from pathlib import Path

import numpy as np
import pytest
from figures.chromium import read_png
from figures.examples import mixed_overlap

from headcats.figures import overlap_map, write


@pytest.mark.slow
def test_png_shows_the_figure_at_twice_its_size(tmp_path: Path) -> None:
    fig = overlap_map(mixed_overlap(2, 2), title="A title")
    pixels = read_png(write(fig, tmp_path / "map.png").read_bytes())
    assert pixels.shape == (2 * fig.layout.height, 2 * fig.layout.width, 3)
    assert (pixels[0, 0] == 255).all()
    # The swatch of Knowledge in the legend at least.
    assert (np.abs(pixels.astype(int) - [0xFF, 0x7F, 0x0E]).max(axis=-1) <= 2).sum() > 100
