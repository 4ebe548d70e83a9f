"""Studentized effects against draws that are pooled over heads and tasks."""

import numpy as np
import pytest
from covering import each_value
from scipy import stats

from headcats.statistics.pooled_null import KEPT_DRAWS, ROUNDING, pooled_null, rank_p, scatters, standard_errors

TASKS, HEADS = 12, 24


def study(kind: str, n_items: int, seed: int) -> dict[str, np.ndarray]:
    """Items of unit variance around 0 `[item, head]`; "left" is log-normal with its long tail to the left."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(TASKS, n_items, HEADS))
    if kind == "left":
        noise = -(np.exp(noise) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    if kind == "spikes":
        noise = ((rng.random(noise.shape) >= 0.05) - 0.95) / np.sqrt(0.05 * 0.95) + 0.1 * noise
    return {f"task {task}": items for task, items in enumerate(noise)}


def scatter(data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {task: (items - items.mean(axis=0)) / len(items) for task, items in data.items()}


def p_values(data: dict[str, np.ndarray], seed: int) -> np.ndarray:
    around = scatter(data)
    null = pooled_null(around, seed=seed)
    return np.stack(
        [
            rank_p(
                items.mean(axis=0) / (standard_errors(around[task]) + null.floor),
                null.statistic[task],
                null.rank,
                null.draws,
            )
            for task, items in data.items()
        ]
    )


@pytest.mark.parametrize(("kind", "n_items"), each_value(["normal", "left", "spikes"], [16, 32]))
def test_size_at_a_thousandth_is_at_most_twice_nominal(kind: str, n_items: int) -> None:
    """Student's t has many times the nominal size on the skewed ones, which the last assertion shows."""
    p = np.concatenate([p_values(study(kind, n_items, seed), seed) for seed in range(15)]).ravel()
    assert (p <= 0.001).mean() <= 0.002
    if kind != "normal":
        by_t = [stats.ttest_1samp(items, 0, alternative="greater").pvalue for items in study(kind, n_items, 0).values()]
        assert (np.concatenate(by_t) <= 0.001).mean() > 0.01
    if kind == "normal":
        assert 0.035 <= (p <= 0.05).mean() <= 0.06


@pytest.mark.parametrize(("kind", "n_items"), each_value(["left", "normal"], [8, 16, 32]))
def test_intervals_cover_the_truth(kind: str, n_items: int) -> None:
    covered = []
    for seed in range(15):
        data = study(kind, n_items, seed)
        around = scatter(data)
        null = pooled_null(around, seed=seed)
        for task, items in data.items():
            low, high = null.interval(task, items.mean(axis=0), standard_errors(around[task]))
            covered.append((low <= 0) & (high >= 0))
    assert 0.93 <= np.mean(covered) <= 0.995


def test_p_is_a_rank_among_the_draws() -> None:
    rank, null = np.array([0, 1, 4, 8]), np.array([3.0, 2.0, 0.0, -2.0])
    p = rank_p(np.array([4.0, 3.0, 2.5, 0.5, 0.0, -5.0, np.nan]), null, rank, 9)
    # A tie counts as a draw that reaches the statistic; between kept ranks p is the larger one.
    np.testing.assert_allclose(p, [0.1, 0.2, 0.2, 0.5, 0.9, 1.0, np.nan])


def test_the_null_of_normal_items_is_nearly_that_of_t() -> None:
    data = scatter(study("normal", 32, 0))
    null = pooled_null(data, seed=0)
    errors = np.concatenate([standard_errors(items) for items in data.values()])
    assert null.floor == pytest.approx(np.percentile(errors, 10))
    # The floor, about .8 standard errors, shrinks the statistic.
    for tail in (0.2, 0.05, 0.01):
        place = np.searchsorted(null.rank, tail * null.draws)
        shrunk = stats.t.isf(tail, 31) / (1 + null.floor / errors.mean())
        assert null.statistic["task 0"][place] == pytest.approx(shrunk, rel=0.05)


def test_fewer_items_have_a_wider_null_and_none_borrows_from_more() -> None:
    rng = np.random.default_rng(0)
    data = {f"task {n}": rng.normal(size=(n, 30)) for n in range(6, 40)}
    null = pooled_null(scatter(data), seed=0)
    place = np.searchsorted(null.rank, 0.01 * null.draws)
    critical = [null.statistic[task][place] for task in data]
    assert len(set(critical)) == 8
    assert (np.diff(critical) <= 0.02).all()


def test_kept_draws_are_studies_without_effect() -> None:
    data = scatter(study("normal", 20, 0))
    data["task 0"][:, 3] = 0.0
    null = pooled_null(data, seed=0)
    kept = null.kept["task 0"]
    assert kept.shape == (KEPT_DRAWS, HEADS)
    assert np.isnan(kept[:, 3]).all()
    assert abs(np.nanmean(kept)) < 0.1
    # Items are drawn for all heads at once: two equal heads have equal draws.
    data["task 0"][:, 5] = data["task 0"][:, 4]
    kept = pooled_null(data, seed=0).kept["task 0"]
    np.testing.assert_array_equal(kept[:, 4], kept[:, 5])


def test_rounding_is_no_scatter() -> None:
    """Heads that differ by rounding alone count as constant; else p-values would depend on the processor."""
    data = scatter(study("normal", 20, 0))
    data["task 0"][:, :4] = data["task 1"][:, :] = 0.0
    expected = pooled_null(data, seed=0)
    rounded = {task: values.copy() for task, values in data.items()}
    rounded["task 0"][3, :4] = 1e-8  # one prompt of a head that does nothing
    rounded["task 1"][:] = np.random.default_rng(1).normal(scale=2e-7, size=data["task 1"].shape) / 20
    found = pooled_null(rounded, seed=0)
    assert (found.floor, found.draws) == (expected.floor, expected.draws)
    for task in data:
        np.testing.assert_array_equal(found.statistic[task], expected.statistic[task])
        np.testing.assert_array_equal(found.kept[task], expected.kept[task])
    least = np.zeros((20, 2))
    least[:2] = np.array([[0.9, 1.1], [-0.9, -1.1]]) * 1e-5 / 20
    assert scatters(least).tolist() == [False, True]


def test_nothing_scatters() -> None:
    null = pooled_null({"constant": np.zeros((20, 3)), "single": np.full((1, 3), np.nan)}, seed=0)
    assert null.floor == ROUNDING
    p = rank_p(np.array([np.inf, 0.0, -np.inf]), null.statistic["constant"], null.rank, null.draws)
    assert p[0] == 1 / (1 + null.draws)
    assert p[1] == pytest.approx(0.5, abs=0.02)
    assert p[2] == 1.0
    low, high = null.interval("constant", np.array([0.3]), np.zeros(1))
    half = ROUNDING * stats.t.isf(0.025, 19)
    np.testing.assert_allclose([low, high], [[0.3 - half], [0.3 + half]], rtol=1e-6)


@pytest.mark.parametrize("deviation", [1e-8, 1e-7, 0.9 * ROUNDING, 3 * ROUNDING])
def test_where_only_rounding_scatters_large_effects_are_called_and_its_own_are_not(deviation: float) -> None:
    data = {task: deviation * np.tanh(items) for task, items in study("normal", 20, 0).items()}
    around = scatter(data)
    null = pooled_null(around, seed=0)
    assert ROUNDING <= null.floor <= 2 * ROUNDING

    def p_of(effect: np.ndarray) -> np.ndarray:
        errors = standard_errors(around["task 0"])
        return rank_p(effect / (errors + null.floor), null.statistic["task 0"], null.rank, null.draws)

    np.testing.assert_array_equal(p_of(np.full(HEADS, 0.3)), 1 / (1 + null.draws))
    assert p_of(data["task 0"].mean(axis=0)).min() > 0.01
