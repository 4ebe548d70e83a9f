"""The numbers behind a score: sign flips, bootstrap, reliability, Benjamini-Hochberg."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulated import clustered_noise

from headcats.errors import DataError
from headcats.statistics.bootstrap import item_groups, item_weights
from headcats.statistics.multiplicity import MOST_DRAWS, benjamini_hochberg, discoveries_needed, draws_for, smallest_p
from headcats.statistics.random_streams import stream
from headcats.statistics.task import (
    FLIPS,
    KEPT_RESAMPLES,
    PromptEffects,
    estimate,
    mean_interval,
    reliability,
    sign_flip_p,
)


def prompts_of(
    effect: np.ndarray, gap: np.ndarray | None = None, *, item: object = None, distractor: object = ""
) -> PromptEffects:
    n = len(effect)
    return PromptEffects(
        effect=np.asarray(effect, dtype=float),
        gap=np.ones(n) if gap is None else np.asarray(gap, dtype=float),
        item=np.arange(n).astype(str) if item is None else np.asarray(item).astype(str),
        distractor=np.full(n, distractor) if isinstance(distractor, str) else np.asarray(distractor).astype(str),
    )


def brute_force_p(sums: np.ndarray) -> np.ndarray:
    observed = np.abs(sums.sum(axis=0))
    vectors = [np.abs(np.array(signs) @ sums) for signs in itertools.product((1, -1), repeat=len(sums))]
    return np.mean([vector >= observed - 1e-9 for vector in vectors], axis=0)


@pytest.mark.parametrize("n_items", [1, 2, 5, 9])
def test_few_items_are_enumerated_exactly(n_items: int) -> None:
    # Whole numbers make ties: they must count as hits.
    sums = np.random.default_rng(n_items).integers(-3, 4, size=(n_items, 20)).astype(float)
    np.testing.assert_allclose(sign_flip_p(sums, draws=1, rng=stream(0)), brute_force_p(sums), rtol=1e-12)


def test_equal_signs_reach_the_smallest_p_and_zeros_never_do() -> None:
    sums = np.stack([np.full(10, 0.3), np.zeros(10), np.r_[1.0, np.zeros(9)]], axis=1)
    np.testing.assert_allclose(sign_flip_p(sums, draws=1, rng=stream(0)), [2.0**-9, 1.0, 1.0])
    assert smallest_p(10, draws=9_999) == 2.0**-9


def test_random_signs_that_never_reach_the_sum_give_the_smallest_p() -> None:
    # The observed signs count as one of the draws, so p is never 0 (Phipson & Smyth 2010).
    sums = np.stack([np.full(40, 0.3), np.zeros(40)], axis=1)
    np.testing.assert_allclose(sign_flip_p(sums, draws=999, rng=stream(0)), [1 / 1000, 1.0], rtol=1e-12)


def test_random_signs_agree_with_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = np.random.default_rng(0).normal(0.3, 1, size=(12, 30))
    exact = sign_flip_p(sums, draws=1, rng=stream(0))
    monkeypatch.setattr("headcats.statistics.task.EXACT_ITEMS", 0)
    drawn = sign_flip_p(sums, draws=50_000, rng=stream(0, "signs"))
    np.testing.assert_allclose(drawn, exact, atol=5 * np.sqrt(0.25 / 50_000))
    hits = 50_001 * drawn - 1
    np.testing.assert_allclose(hits, np.round(hits), atol=1e-6)
    assert (hits > -0.5).all()


@pytest.mark.parametrize("n_items", [20, 64, 70])
def test_memory_blocks_do_not_change_p(n_items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = np.random.default_rng(0).normal(size=(n_items, 3))
    whole = sign_flip_p(sums, draws=3_000, rng=stream(0, "signs"))
    monkeypatch.setattr("headcats.statistics.task._BLOCK", 1)
    np.testing.assert_array_equal(sign_flip_p(sums, draws=3_000, rng=stream(0, "signs")), whole)


def test_all_heads_get_the_same_signs() -> None:
    column = np.random.default_rng(0).normal(size=(20, 1))
    p_values = sign_flip_p(np.tile(column, (1, 5)), draws=999, rng=stream(0, "signs"))
    assert len(set(p_values)) == 1


def test_flips_act_on_items_not_on_prompts() -> None:
    # Eight prompts, two items: two items can never reach below 2^(1 - 2).
    result = estimate(prompts_of(np.ones((8, 1)), item=list("aaaabbbb")), task="t", seed=0)
    assert (result.n, result.n_items, result.smallest_p, result.p_value[0]) == (8, 2, 0.5, 0.5)


def test_effect_is_a_ratio_of_means_and_constant_ratios_have_no_width() -> None:
    gap = np.array([1.0, 2.0, 3.0, 6.0])
    result = estimate(prompts_of(np.stack([gap / 4, [0.0, 0, 3, 0]], axis=1), gap), task="t", seed=0)
    np.testing.assert_allclose(result.effect, [0.25, 0.25])
    np.testing.assert_allclose(result.raw, [0.75, 0.75])
    assert result.gap == 3.0
    # Numerator and denominator of the first head move together: resampled apart, its interval would be wide.
    np.testing.assert_allclose([result.low[0], result.high[0]], 0.25)
    assert result.low[1] < 0.2 < 0.3 < result.high[1]


def test_interval_keeps_the_balance_over_distractor_tasks() -> None:
    # All variation lies between the two distractor tasks, which are fixed: the interval has no width.
    distractor = np.array(["a", "b"] * 6)
    effect = np.where(distractor == "a", 1.0, 3.0)[:, None]
    nested = estimate(prompts_of(effect, distractor=distractor), task="t", seed=0)
    crossed = estimate(prompts_of(effect, item=np.arange(12) // 2, distractor=distractor), task="t", seed=0)
    unknown = estimate(prompts_of(effect), task="t", seed=0)
    np.testing.assert_allclose([nested.low, nested.high, crossed.low, crossed.high], 2.0)
    assert unknown.high[0] - unknown.low[0] > 0.8


def test_groups_of_items() -> None:
    def groups(item: str, distractor: str) -> list[list[int]]:
        cluster = np.unique(list(item), return_inverse=True)[1]
        return [group.tolist() for group in item_groups(cluster, np.array(list(distractor)))]

    assert groups("abcd", "xyxy") == [[0, 2], [1, 3]]
    assert groups("aabb", "xyxy") == [[0, 1]]
    assert groups("aabbcd", "xyxyzw") == [[0, 1], [2, 3]]  # items alone in their group are pooled
    assert groups("aabbc", "xyxyz") == [[0, 1, 2]]  # a last single one joins the largest group
    assert groups("a", "x") == [[0]]


@pytest.mark.parametrize("m", [2, 4, 9])
def test_weights_keep_totals_and_the_variance_of_a_mean(m: int) -> None:
    weights = item_weights([np.arange(m)], draws=100_000, rng=stream(0, "weights"))
    np.testing.assert_allclose(weights.sum(axis=1), m)
    values = np.random.default_rng(m).normal(size=m)
    np.testing.assert_allclose((weights @ values / m).var(), values.var(ddof=1) / m, rtol=0.03)


def test_interval_covers_the_truth_with_clustered_prompts() -> None:
    items = np.arange(64) % 32
    covered = 0
    for seed in range(40):
        noise = 0.4 * clustered_noise(np.random.default_rng(seed), items=items, heads=25)
        result = estimate(prompts_of(0.5 + noise, item=items), task="t", seed=seed, draws=9)
        covered += ((result.low <= 0.5) & (result.high >= 0.5)).sum()
    assert 0.92 <= covered / 1000 <= 0.97


@pytest.mark.parametrize(
    "gap", [[1, -1, 1, -1], [-1, -1, -1, -1], [np.nan, 1, 1, 1], [np.inf, 1, 1, 1], [3, -1, -1, 2]]
)
def test_gap_not_clearly_above_zero_gives_no_numbers(gap: list[float]) -> None:
    result = estimate(prompts_of(np.ones((4, 2)), np.array(gap)), task="t", seed=0)
    assert np.isnan([result.effect, result.low, result.high, result.p_value]).all()
    np.testing.assert_array_equal(result.raw, 1.0)


def test_draws_without_a_positive_gap_are_unbounded_on_both_sides() -> None:
    gap = np.array([3.0, -1, 2, 3, -1, -1, 3, 2, -1, 3, 2, 1])
    effect = np.random.default_rng(0).normal(0.5, 1, size=12)
    result = estimate(prompts_of(effect[:, None], gap), task="t", seed=0)
    order = np.argsort(np.arange(12).astype(str))
    weights = item_weights([np.arange(12)], draws=9_999, rng=stream(0, "t", "bootstrap"))
    gaps = weights @ gap[order]
    assert 0 < (gaps <= 0).sum() < 250
    ratios = (weights @ effect[order]) / np.where(gaps > 0, gaps, 1.0)
    assert result.low[0] == pytest.approx(np.sort(np.where(gaps > 0, ratios, -np.inf))[249])
    assert result.high[0] == pytest.approx(np.sort(np.where(gaps > 0, ratios, np.inf))[-250])
    np.testing.assert_allclose([result.gap_low, result.gap_high], np.sort(gaps / 12)[[249, -250]])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_gap_without_variance_is_settled_by_its_sign(n: int) -> None:
    # Rounding of float32 is no variance.
    gap = np.float32(0.1) + np.float32(1e-8) * np.arange(n)
    for item in (np.arange(n), np.zeros(n, dtype=int)):
        result = estimate(prompts_of(np.ones((n, 1)), gap, item=item), task="t", seed=0)
        np.testing.assert_allclose([result.gap_low, result.gap_high, result.effect[0]], [0.1, 0.1, 10], rtol=1e-6)
        assert np.isnan(estimate(prompts_of(np.ones((n, 1)), -gap, item=item), task="t", seed=0).effect).all()


def test_gap_of_one_item_whose_prompts_disagree_is_not_clear() -> None:
    result = estimate(prompts_of(np.ones((3, 1)), [1.0, 2.0, 3.0], item=["a", "a", "a"]), task="t", seed=0)
    assert np.isnan([result.gap_low, result.gap_high, result.effect[0], result.p_value[0]]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_heads_without_a_number_are_nan_and_leave_the_others_alone(bad: float) -> None:
    effect = np.random.default_rng(0).normal(0.3, 1, size=(20, 4))
    whole = estimate(prompts_of(effect), task="t", seed=0)
    effect[3, 1] = bad
    holed = estimate(prompts_of(effect), task="t", seed=0)
    for name in ("effect", "low", "high", "p_value", "raw"):
        values = getattr(holed, name)
        assert np.isnan(values[1])
        np.testing.assert_allclose(np.delete(values, 1), np.delete(getattr(whole, name), 1))


def test_one_item_gives_an_effect_and_nothing_more() -> None:
    result = estimate(prompts_of(np.ones((3, 1)), item=["a", "a", "a"]), task="t", seed=0)
    assert (result.effect[0], result.p_value[0]) == (1.0, 1.0)
    assert np.isnan([result.low[0], result.high[0], result.reliability]).all()


def test_no_prompts_are_refused() -> None:
    with pytest.raises(DataError, match="'capitals'"):
        estimate(prompts_of(np.ones((0, 2))), task="capitals", seed=0)


def test_mean_interval_is_that_of_a_mean() -> None:
    values = np.random.default_rng(0).normal(2.0, 1.0, size=400)
    mean, low, high = mean_interval(values, np.arange(400).astype(str), np.full(400, ""), task="t", seed=0)
    half = 1.96 * values.std(ddof=1) / 20
    assert mean == pytest.approx(values.mean())
    np.testing.assert_allclose([low, high], [mean - half, mean + half], atol=0.1 * half)


@given(st.integers(0, 10_000), st.floats(0.01, 100))
def test_order_of_prompts_and_heads_and_the_unit_do_not_matter(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    n, heads = 18, 5
    effect, gap = rng.normal(0.2, 1, size=(n, heads)), rng.uniform(0.5, 2, size=n)
    item, distractor = rng.integers(0, 12, size=n).astype(str), rng.integers(0, 3, size=n).astype(str)
    shuffle, reorder = rng.permutation(n), rng.permutation(heads)
    plain = estimate(PromptEffects(effect, gap, item, distractor), task="t", seed=seed)
    moved = estimate(
        PromptEffects(unit * effect[shuffle][:, reorder], unit * gap[shuffle], item[shuffle], distractor[shuffle]),
        task="t",
        seed=seed,
    )
    for name in ("effect", "low", "high", "p_value"):
        np.testing.assert_allclose(getattr(moved, name), getattr(plain, name)[reorder], rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(moved.reliability, plain.reliability, rtol=1e-9)
    assert (plain.low <= plain.high).all()


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


def test_benjamini_hochberg_by_hand_with_missing_values() -> None:
    p_values = np.array([[0.01, np.nan, 0.04], [0.03, 0.5, np.nan]])
    expected = np.array([[0.04, np.nan, 0.16 / 3], [0.16 / 3, 0.5, np.nan]])
    np.testing.assert_allclose(benjamini_hochberg(p_values), expected)
    assert np.isnan(benjamini_hochberg(np.full(3, np.nan))).all()
    drawn = np.random.default_rng(0).random(50)
    np.testing.assert_array_equal(benjamini_hochberg(drawn), stats.false_discovery_control(drawn))


def test_draws_and_discoveries() -> None:
    assert draws_for(10, alpha=0.05) == 9_999
    assert draws_for(28 * 48, alpha=0.05) == 53_760
    assert draws_for(28 * 48, alpha=1e-12) == MOST_DRAWS
    # With this many draws a single head among all can be called.
    assert discoveries_needed(smallest_p(40, draws=53_760), tests=1344, alpha=0.05) == 1
    assert discoveries_needed(2.0**-7, tests=48, alpha=0.05) == 8
    assert discoveries_needed(0.1, tests=48, alpha=0.05) == 96


class TestDraws:
    def test_resamples_are_those_of_the_interval(self) -> None:
        rng = np.random.default_rng(0)
        result = estimate(prompts_of(0.3 + rng.normal(size=(60, 4)), item=list(np.arange(60) // 2)), task="t", seed=0)
        assert result.resampled.shape == (KEPT_RESAMPLES, 4)
        np.testing.assert_allclose(np.quantile(result.resampled, 0.025, axis=0), result.low, atol=0.06)
        np.testing.assert_allclose(np.quantile(result.resampled, 0.975, axis=0), result.high, atol=0.06)
        np.testing.assert_allclose(result.resampled.mean(axis=0), result.effect, atol=0.03)

    def test_flipped_effects_have_the_scatter_and_no_effect(self) -> None:
        rng = np.random.default_rng(1)
        effect = 2.0 + rng.normal(size=(80, 3))  # a large effect must not widen the null
        result = estimate(prompts_of(effect, item=list(range(80))), task="t", seed=0)
        np.testing.assert_allclose(result.standard_error, effect.std(axis=0, ddof=1) / np.sqrt(80), rtol=1e-6)
        assert abs(result.flipped.mean(axis=0)).max() < 4 * result.standard_error.max() / np.sqrt(FLIPS)
        np.testing.assert_allclose(result.flipped.std(axis=0), result.standard_error, rtol=0.25)

    def test_an_item_has_the_same_sign_in_every_task(self) -> None:
        # Each task's only scatter is that of one item pair, so its flipped effects are this item's signs.
        def signs(task: str, items: list[str]) -> np.ndarray:
            effect = np.zeros((len(items), 1))
            effect[items.index("France")] = 1.0
            return np.sign(estimate(prompts_of(effect, item=items), task=task, seed=0).flipped[:, 0])

        one, other = signs("a", ["France", *map(str, range(20))]), signs("b", [*map(str, range(30, 70)), "France"])
        assert (one == other).mean() > 0.95

    def test_without_sign_draws_everything_but_p_is_there(self) -> None:
        prompts = prompts_of(np.random.default_rng(0).normal(size=(30, 2)), item=list(range(30)))
        whole, fast = (estimate(prompts, task="t", seed=0, draws=draws) for draws in (999, None))
        assert np.isnan(fast.p_value).all()
        assert not np.isnan(whole.p_value).any()
        np.testing.assert_array_equal(fast.low, whole.low)

    def test_a_single_item_and_a_missing_head_are_nan(self) -> None:
        effect = np.ones((6, 2))
        effect[0, 1] = np.nan
        one_item = estimate(prompts_of(effect, item=list("aaaaaa")), task="t", seed=0)
        assert np.isnan(one_item.resampled).all()
        assert np.isnan(one_item.standard_error).all()
        several = estimate(prompts_of(effect, item=list("aabbcc")), task="t", seed=0)
        assert np.isnan(several.flipped[:, 1]).all()
        np.testing.assert_allclose(several.resampled[:, 0], 1.0)
        np.testing.assert_allclose(several.flipped[:, 0], 0.0, atol=1e-12)
