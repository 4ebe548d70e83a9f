"""The numbers behind a score of one task: effect, scatter, bootstrap, reliability, Benjamini-Hochberg."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headcats.base.errors import DataError
from headcats.statistics.multiplicity import items_for, smallest_p
from headcats.statistics.random_streams import stream
from headcats.statistics.task import (
    RESAMPLES,
    PromptEffects,
    estimate,
    intervals,
    item_weights,
    mean_interval,
    reliability,
)


def prompts_of(effect: np.ndarray, gap: np.ndarray | None = None, *, item: object = None) -> PromptEffects:
    n = len(effect)
    return PromptEffects(
        effect=np.asarray(effect, dtype=float),
        gap=np.ones(n) if gap is None else np.asarray(gap, dtype=float),
        item=np.arange(n).astype(str) if item is None else np.asarray(item).astype(str),
    )


def test_effect_is_a_ratio_of_means_and_constant_ratios_have_no_scatter() -> None:
    gap = np.array([2.0, 3.0, 3.0, 4.0])
    result = estimate(prompts_of(np.stack([gap / 4, [0.0, 0, 3, 0]], axis=1), gap), task="t", seed=0)
    np.testing.assert_allclose(result.effect, [0.25, 0.25])
    np.testing.assert_allclose(result.raw, [0.75, 0.75])
    assert result.gap == 3.0
    # Numerator and denominator of the first head move together.
    np.testing.assert_allclose(result.scatter[:, 0], 0.0, atol=1e-15)
    np.testing.assert_allclose(result.scatter[:, 1], np.array([-0.5, -0.75, 2.25, -1.0]) / 12)
    np.testing.assert_allclose(result.scatter.sum(axis=0), 0.0, atol=1e-15)
    assert result.standard_error[1] == pytest.approx(np.sqrt(4 / 3 * (result.scatter[:, 1] ** 2).sum()))


def test_items_scatter_and_not_their_prompts() -> None:
    # Prompts of an item disagree, items do not.
    effect = np.array([[0.0], [2.0], [0.5], [1.5]])
    result = estimate(prompts_of(effect, item=list("aabb")), task="t", seed=0)
    assert (result.n, result.n_items, result.standard_error[0]) == (4, 2, 0.0)


def test_skewness_is_that_of_items() -> None:
    rng = np.random.default_rng(0)
    effect = np.stack(
        [np.exp(1.5 * rng.normal(size=200)), -np.exp(1.5 * rng.normal(size=200)), rng.normal(size=200)], axis=1
    )
    skewness = estimate(prompts_of(effect, item=list(range(200))), task="t", seed=0).skewness
    np.testing.assert_allclose(skewness, stats.skew(effect), rtol=1e-6)
    assert skewness[0] > 2 > abs(skewness[2])
    assert skewness[1] < -2


@pytest.mark.parametrize("m", [2, 9])
def test_weights_keep_totals_and_the_variance_of_a_mean(m: int) -> None:
    weights = item_weights(m, draws=100_000, rng=stream(0, "weights"))
    np.testing.assert_allclose(weights.sum(axis=1), m)
    values = np.random.default_rng(m).normal(size=m)
    np.testing.assert_allclose((weights @ values / m).var(), values.var(ddof=1) / m, rtol=0.03)


@pytest.mark.parametrize(
    "gap", [[1, -1, 1, -1], [-1, -1, -1, -1], [np.nan, 1, 1, 1], [np.inf, 1, 1, 1], [3, -1, -1, 2]]
)
def test_gap_not_clearly_above_zero_gives_no_numbers(gap: list[float]) -> None:
    result = estimate(prompts_of(np.ones((4, 2)), np.array(gap)), task="t", seed=0)
    assert np.isnan([result.effect, result.standard_error, result.skewness]).all()
    np.testing.assert_array_equal(result.raw, 1.0)


@pytest.mark.parametrize("n", [1, 5])
def test_gap_without_variance_is_settled_by_its_sign(n: int) -> None:
    # Rounding of float32 is no variance.
    gap = np.float32(0.1) + np.float32(1e-8) * np.arange(n)
    for item in (np.arange(n), np.zeros(n, dtype=int)):
        result = estimate(prompts_of(np.ones((n, 1)), gap, item=item), task="t", seed=0)
        np.testing.assert_allclose([result.gap_low, result.gap_high, result.effect[0]], [0.1, 0.1, 10], rtol=1e-6)
        assert np.isnan(estimate(prompts_of(np.ones((n, 1)), -gap, item=item), task="t", seed=0).effect).all()


def test_gap_of_one_item_whose_prompts_disagree_is_not_clear() -> None:
    result = estimate(prompts_of(np.ones((3, 1)), [1.0, 2.0, 3.0], item=["a", "a", "a"]), task="t", seed=0)
    assert np.isnan([result.gap_low, result.gap_high, result.effect[0]]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_heads_without_a_number_are_nan_and_leave_the_others_alone(bad: float) -> None:
    effect = np.random.default_rng(0).normal(0.3, 1, size=(20, 4))
    whole = estimate(prompts_of(effect), task="t", seed=0)
    effect[3, 1] = bad
    holed = estimate(prompts_of(effect), task="t", seed=0)
    for name in ("effect", "standard_error", "skewness", "raw"):
        values = getattr(holed, name)
        assert np.isnan(values[1])
        np.testing.assert_allclose(np.delete(values, 1), np.delete(getattr(whole, name), 1))


def test_one_item_gives_an_effect_and_nothing_more() -> None:
    result = estimate(prompts_of(np.ones((3, 1)), item=["a", "a", "a"]), task="t", seed=0)
    assert result.effect[0] == 1.0
    assert np.isnan([result.standard_error[0], result.skewness[0], result.reliability]).all()
    assert np.isnan(intervals({"t": result}, seed=0)["t"]).all()


def test_no_prompts_are_refused() -> None:
    with pytest.raises(DataError, match="'capitals'"):
        estimate(prompts_of(np.ones((0, 2))), task="capitals", seed=0)


def test_mean_interval_is_the_t_interval_over_items() -> None:
    values = np.random.default_rng(0).normal(2.0, 1.0, size=20)
    t_interval = stats.t.interval(
        0.95, 9, values.reshape(10, 2).mean(1).mean(), stats.sem(values.reshape(10, 2).mean(1))
    )
    result = mean_interval(values, (np.arange(20) // 2).astype(str))
    np.testing.assert_allclose(result, [values.mean(), *t_interval])
    assert np.isnan(mean_interval(values, np.full(20, "one item"))[1:]).all()


@given(st.integers(0, 10_000), st.floats(0.01, 100))
def test_order_of_prompts_and_heads_and_the_unit_do_not_matter(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    n, heads = 18, 5
    effect, gap = rng.normal(0.2, 1, size=(n, heads)), rng.uniform(0.5, 2, size=n)
    item = rng.integers(0, 12, size=n).astype(str)
    shuffle, reorder = rng.permutation(n), rng.permutation(heads)
    plain = estimate(PromptEffects(effect, gap, item), task="t", seed=seed)
    shuffled = PromptEffects(unit * effect[shuffle][:, reorder], unit * gap[shuffle], item[shuffle])
    moved = estimate(shuffled, task="t", seed=seed)
    for name in ("effect", "standard_error", "skewness"):
        np.testing.assert_allclose(getattr(moved, name), getattr(plain, name)[reorder], rtol=1e-6, err_msg=name)
    np.testing.assert_allclose(moved.reliability, plain.reliability, rtol=1e-9)


def test_reliability_is_one_without_noise_and_none_with_noise_alone() -> None:
    truth = np.linspace(0, 1, 40)
    rng = np.random.default_rng(0)
    assert reliability(np.tile(truth, (20, 1)), rng=stream(0)) == pytest.approx(1.0)
    assert abs(reliability(rng.normal(size=(20, 400)), rng=stream(0))) < 0.25


def test_reliability_matches_its_definition() -> None:
    """Variance of true scores over variance of observed means: what Spearman-Brown estimates."""
    rng = np.random.default_rng(1)
    truth = rng.normal(size=3_000)
    sums = truth + 3 * rng.normal(size=(20, 3_000))
    assert reliability(sums, rng=stream(0)) == pytest.approx(1 / (1 + 9 / 20), abs=0.03)


@pytest.mark.parametrize("sums", [np.ones((1, 5)), np.ones((6, 2)), np.ones((6, 5)), np.zeros((6, 5))])
def test_reliability_of_nothing_is_nan(sums: np.ndarray) -> None:
    assert np.isnan(reliability(sums, rng=stream(0)))


def test_items_and_draws_limit_p() -> None:
    assert smallest_p(5, draws=200_000) == 5.0**-4
    assert smallest_p(20, draws=200_000) == 2 / 200_001
    assert smallest_p(1, draws=200_000) == 1.0
    assert [items_for(p) for p in (1.0, 5.0**-4, 5.0**-4 * 0.99)] == [1, 5, 6]


def test_resamples_scatter_like_the_effect() -> None:
    rng = np.random.default_rng(0)
    result = estimate(prompts_of(0.3 + rng.normal(size=(60, 4)), item=list(np.arange(60) // 2)), task="t", seed=0)
    assert result.resampled.shape == (RESAMPLES, 4)
    np.testing.assert_allclose(result.resampled.mean(axis=0), result.effect, atol=0.03)
    np.testing.assert_allclose(result.resampled.std(axis=0), result.standard_error, rtol=0.15)


def test_a_single_item_and_a_missing_head_are_nan() -> None:
    effect = np.ones((6, 2))
    effect[0, 1] = np.nan
    assert np.isnan(estimate(prompts_of(effect, item=list("aaaaaa")), task="t", seed=0).resampled).all()
    several = estimate(prompts_of(effect, item=list("aabbcc")), task="t", seed=0)
    assert np.isnan(several.scatter[:, 1]).all()
    np.testing.assert_allclose(several.resampled[:, 0], 1.0)
