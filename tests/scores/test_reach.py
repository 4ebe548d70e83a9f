"""What the data can show at all."""

import numpy as np
import pytest
from simulated import block, tree

from headcats.scores import score


def results(n_items: int, *, sd: float, effect: float = 0.0, seed: int = 0, heads: int = 40):
    rng = np.random.default_rng(seed)
    differences = sd * rng.normal(size=(n_items, 1, heads))
    differences[:, 0, 0] += effect
    return tree({"capitals": block(differences)}, categories={"capitals": "Knowledge"})


def test_the_detectable_effect_is_found_four_times_in_five() -> None:
    planned = score(results(30, sd=0.2), method="denoising_patch")["detectable"].item()
    assert 0.1 < planned < 0.25
    found = []
    for seed in range(60):
        scores = score(results(30, sd=0.2, effect=planned, seed=seed), method="denoising_patch")
        found.append(scores["p_value"].values[0, 0, 0] <= 0.05 / 40)
    # 80 % by the normal theory; heavier or lighter by the standard error that is itself estimated.
    assert 0.65 < np.mean(found) < 0.95


def test_it_falls_with_the_number_of_items_and_rises_with_scatter() -> None:
    few, many, noisy = (
        score(results(n, sd=sd), method="denoising_patch")["detectable"].item()
        for n, sd in ((20, 0.1), (80, 0.1), (20, 0.3))
    )
    assert many < few / 1.8
    assert noisy == pytest.approx(3 * few, rel=1e-6)


def test_few_items_are_told_how_many_a_single_discovery_needs() -> None:
    scores = score(results(9, sd=0.2, heads=48), method="denoising_patch")
    # 2^(1 - n) <= .05 / 48 from n = 11 on.
    assert "A single one would need 11 query items." in scores.attrs["reach"]
    assert "would need" not in score(results(40, sd=0.2), method="denoising_patch").attrs["reach"]


def test_no_scatter_at_all_is_no_division_by_zero() -> None:
    scores = score(results(20, sd=0.0, effect=0.3), method="denoising_patch")
    assert scores["detectable"].item() == 0.0
    assert "0 of the gap" in scores.attrs["reach"]
