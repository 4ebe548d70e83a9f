"""Small versions of what is printed for a random shape; for the bundled model by hand."""

import re

import half_precision
import numpy as np
import pytest


@pytest.mark.ci
def test_sweeps_of_a_shape_have_their_numbers(capsys):
    half_precision.main(["--shape", "tiny-gqa", "--positions", "last", "all", "--tasks", "--repeat", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["tiny-gqa", "tiny-gqa"]
    assert "last_position and last_position" in lines[0]
    assert "suffix and suffix" in lines[1]


@pytest.mark.slow  # two runs of the bundled model
def test_maps_of_the_bundled_model_have_their_numbers(capsys):
    chosen = ["--shape", "--tasks", "country_capital", "--prompts", "16"]
    half_precision.main(chosen)
    lines = capsys.readouterr().out.splitlines()
    assert [re.match(r"\s*([\w-]+)", line)[1] for line in lines] == [
        "bundled", "denoising_patch", "mean_ablation", "other_item_patch", "second_corruption_patch",
    ]  # fmt: skip
    for line in lines[1:]:
        assert 0 < float(re.search(r"moves by ([\d.]+)", line)[1]) < 0.1


def test_how_far_effects_move():
    exact = np.array([0.0, 2.0])[:, None, None] * np.ones((2, 1, 3))
    short = exact + np.array([0.0, 0.5, 0.0])
    # The standard error of the mean of 0 and 2 is 1.
    assert half_precision.moved(exact, short) == (
        "an effect moves by 0.5000 at most (1.00 the largest), 0.50 standard errors"
    )
