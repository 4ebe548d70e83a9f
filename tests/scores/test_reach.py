"""The smallest p-values and effects that the data can show."""

import numpy as np
import pytest
from covering import ALL
from simulated import block, tree

from headcats.scores.reach import above, items_wanted
from headcats.scores.scoring import score
from headcats.scores.testing import p_above
from headcats.statistics.pooled_null import critical_value


def results(n_items: int, *, sd: float | np.ndarray, effect: float = 0.0, seed: int = 0, heads: int = 40):
    rng = np.random.default_rng(seed)
    differences = sd * rng.normal(size=(n_items, 1, heads))
    differences[:, 0, 0] += effect
    return tree({"capitals": block(differences)}, categories={"capitals": "Knowledge"})


def test_the_detectable_effect_is_found_four_times_in_five() -> None:
    planned = score(results(30, sd=0.2), method="denoising_patch")["detectable"].item()
    assert 0.1 < planned < 0.25
    hits = []
    for seed in range(60 if ALL else 12):
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
    few = score(results(4, sd=0.2, heads=48), method="denoising_patch")
    # n^(1 - n) <= .05 / 48 from n = 6 on.
    assert "need 6 query items" in few.attrs["reach"]
    assert "would need" not in score(results(40, sd=0.2), method="denoising_patch").attrs["reach"]


@pytest.mark.parametrize("sd", [0.0, 1e-7])
def test_no_scatter_but_rounding_is_no_division_by_zero_and_no_smallest_effect(sd: float) -> None:
    scores = score(results(20, sd=sd, effect=0.3), method="denoising_patch")
    assert scores["q_value"].values[0, 0, 0] < 0.05 < scores["q_value"].values[0, 0, 1:].min()
    assert items_wanted(scores, alpha=0.05, margin=0.01) < 20
    assert scores["detectable"].item() == pytest.approx(0.0, abs=1e-12)
    assert "of the gap" not in scores.attrs["reach"]
    assert np.isnan(above(scores["detectable"].values, 0.05)).all()


def test_heads_that_only_round_are_no_reason_for_fewer_items() -> None:
    still, rounding = (
        score(results(20, sd=np.repeat([0.2, other], [40, 60]), heads=100), method="denoising_patch")
        for other in (0.0, 1e-7)
    )
    wanted = items_wanted(still, alpha=0.05, margin=0.05)
    assert wanted == items_wanted(rounding, alpha=0.05, margin=0.05) > 100


def test_a_smallest_effect_of_interest_comes_on_top() -> None:
    """Four in five studies with the planned effect find the head above `min_effect`."""
    scores = score(results(40, sd=0.1, heads=4), method="denoising_patch")
    (planned,) = above(scores["detectable"].values, 0.05)
    assert planned == scores["detectable"].item() + 0.05
    found = [
        2 * p_above(score(results(40, sd=0.1, effect=planned, seed=seed, heads=4), method="denoising_patch"), 0.05)
        for seed in range(60 if ALL else 25)
    ]
    assert 0.65 < np.mean([p[0, 0, 0] <= 0.05 / 4 for p in found]) < 0.95


def test_a_task_without_scatter_has_the_floor_of_the_others_or_no_number() -> None:
    rng = np.random.default_rng(0)
    blocks = {"noisy": block(0.1 * rng.normal(size=(30, 1, 8))), "constant": block(np.full((30, 1, 8), 0.2))}
    scores = score(tree(blocks, categories=dict.fromkeys(blocks, "Knowledge")), method="denoising_patch")
    noisy, constant = scores["detectable"].values
    level = max(0.05 / 16, float(scores["smallest_p"][1])) / 2
    critical = critical_value(level, scores["null_t"].values[1], scores["rank"].values, scores.attrs["null_draws"])
    assert constant == pytest.approx(scores.attrs["error_floor"] * critical)
    assert f"{constant:.2g} to {noisy:.2g} over tasks" in scores.attrs["reach"]
    alone = score(tree({"constant": blocks["constant"]}, categories={"constant": "Knowledge"}))
    assert np.isnan(above(alone["detectable"].values, 0.05)).all()
    assert "over tasks" not in alone.attrs["reach"]
