"""What the data can show at all."""

import re

import numpy as np
import pytest
from scipy import stats
from simulated import block, tree

from headcats.errors import StatisticsWarning
from headcats.scores.reach import detectable_above
from headcats.scores.scoring import score


def results(n_items: int, *, sd: float, effect: float = 0.0, seed: int = 0, heads: int = 40):
    rng = np.random.default_rng(seed)
    differences = sd * rng.normal(size=(n_items, 1, heads))
    differences[:, 0, 0] += effect
    return tree({"capitals": block(differences)}, categories={"capitals": "Knowledge"})


def test_the_detectable_effect_is_found_four_times_in_five() -> None:
    planned = score(results(30, sd=0.2), method="denoising_patch")["detectable"].item()
    assert 0.1 < planned < 0.25
    hits = []
    for seed in range(60):
        scores = score(results(30, sd=0.2, effect=planned, seed=seed), method="denoising_patch")
        hits.append(scores["p_value"].values[0, 0, 0] <= 0.05 / 40)
    # 80 % by the normal theory; heavier or lighter by the standard error that is itself estimated.
    assert 0.65 < np.mean(hits) < 0.95


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
    assert "need 11 query items" in scores.attrs["reach"]
    assert "would need" not in score(results(40, sd=0.2), method="denoising_patch").attrs["reach"]


@pytest.mark.filterwarnings("error")
def test_a_level_that_would_take_too_many_draws_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headcats.statistics.multiplicity.MOST_DRAWS", 20_000)
    with pytest.warns(StatisticsWarning, match=r"40 .* 8e\+05 .* 20000 .* 5e-05, .*20 tests"):
        scores = score(results(40, sd=0.2, effect=1.0), method="denoising_patch", alpha=1e-4)
    assert scores["smallest_p"].item() == 1 / 20_001
    assert re.search(r"p 5e-05 \(.*sign draws\); 20 simultaneous", scores.attrs["reach"])
    assert "query items" not in scores.attrs["reach"]  # more of them would not help
    with pytest.warns(StatisticsWarning, match="5e-05, and nothing"):
        score(results(40, sd=0.2), method="denoising_patch", alpha=1e-9)
    # 14 items are enumerated: more draws would not help them.
    score(results(14, sd=0.2), method="denoising_patch", alpha=1e-4)
    score(results(40, sd=0.2), method="denoising_patch", alpha=0.01)


def test_no_scatter_at_all_is_no_division_by_zero() -> None:
    scores = score(results(20, sd=0.0, effect=0.3), method="denoising_patch")
    assert scores["detectable"].item() == 0.0
    assert "of the gap" not in scores.attrs["reach"]
    assert np.isnan(detectable_above(scores, 0.05)).all()


def test_a_smallest_effect_of_interest_comes_on_top() -> None:
    """Of 200 studies with the planned effect four in five have an interval above `min_effect`, and are told from 0."""
    scores = score(results(40, sd=0.1), method="denoising_patch")
    least = 0.05
    planned = detectable_above(scores, least)[0]
    assert planned >= max(scores["detectable"].item(), least)
    assert detectable_above(scores, 0.0)[0] == scores["detectable"].item()
    assert detectable_above(scores, 1.0)[0] == pytest.approx(planned - least + 1.0)
    error = np.median(scores["standard_error"].values)
    assert planned - least == pytest.approx((stats.t.ppf(0.975, 39) + stats.t.ppf(0.8, 39)) * error)
    found = [
        score(results(40, sd=0.1, effect=planned, seed=seed, heads=4), method="denoising_patch")["low"].values[0, 0, 0]
        >= least
        for seed in range(60)
    ]
    assert 0.65 < np.mean(found) < 0.95


def test_tasks_without_scatter_are_left_out_of_the_range() -> None:
    rng = np.random.default_rng(0)
    blocks = {"noisy": block(0.1 * rng.normal(size=(30, 1, 8))), "constant": block(np.full((30, 1, 8), 0.2))}
    scores = score(tree(blocks, categories=dict.fromkeys(blocks, "Knowledge")), method="denoising_patch")
    effect = scores["detectable"].values[0]
    assert f"{effect:.2g} to {effect:.2g} over tasks" in scores.attrs["reach"]
    assert np.isnan(detectable_above(scores, 0.05)).tolist() == [False, True]
