"""The items that it takes to find a head."""

import numpy as np
import pytest
from covering import ALL
from simulated import block, tree

from headcats.scores.reach import items_wanted
from headcats.scores.scoring import score


def results(n_items: int, *, sd: float | np.ndarray, effect: float = 0.0, seed: int = 0, heads: int = 40):
    rng = np.random.default_rng(seed)
    differences = sd * rng.normal(size=(n_items, 1, heads))
    differences[:, 0, 0] += effect
    return tree({"capitals": block(differences)}, categories={"capitals": "Knowledge"})


@pytest.mark.parametrize("sd", [0.0, 1e-7])
def test_no_scatter_but_rounding_is_no_division_by_zero(sd: float) -> None:
    scores = score(results(20, sd=sd, effect=0.3), method="denoising_patch")
    assert scores["q_value"].values[0, 0, 0] < 0.05 < scores["q_value"].values[0, 0, 1:].min()
    assert items_wanted(scores, alpha=0.05, margin=0.01) < 20


def test_heads_that_only_round_are_no_reason_for_fewer_items() -> None:
    still, rounding = (
        score(results(20, sd=np.repeat([0.2, other], [40, 60]), heads=100), method="denoising_patch")
        for other in (0.0, 1e-7)
    )
    wanted = items_wanted(still, alpha=0.05, margin=0.05)
    assert wanted == items_wanted(rounding, alpha=0.05, margin=0.05) > 100


def test_with_the_items_wanted_a_head_is_found_four_times_in_five_at_least() -> None:
    wanted = items_wanted(score(results(30, sd=0.2), method="denoising_patch"), alpha=0.05, margin=0.1)
    found = {n: [_is_found(n, seed) for seed in range(60 if ALL else 15)] for n in (wanted // 6, wanted)}
    assert np.mean(found[wanted // 6]) < 0.7
    assert np.mean(found[wanted]) > 0.8


def _is_found(n_items: int, seed: int) -> bool:
    scores = score(results(n_items, sd=0.2, effect=0.1, seed=seed), method="denoising_patch")
    return bool(scores["p_value"].values[0, 0, 0] <= 0.05 / 40)
