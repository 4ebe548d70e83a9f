"""Rules: what is in, what is out, and what cannot be told."""

import re
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from covering import pairwise
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulated import with_null

import headcats as hc
from headcats import rules
from headcats.base import registry
from headcats.base.errors import DataError, ExtensionError, OptionError, StatisticsWarning
from headcats.rules.rule import Rule, effect_cutoffs, is_registered, negate, parse_rule, rule_text
from headcats.statistics.multiplicity import smallest_p

EFFECT_RULES = {
    "threshold": lambda: rules.threshold(value=0.2),
    "top_fraction": lambda: rules.top_fraction(p=0.3),
    "sd_above_mean": lambda: rules.sd_above_mean(k=1),
    "elbow": rules.elbow,
}


def scores_of(
    effect: object, *, p: object = 0.001, half: object = 0.1, row: str = "task", **row_vars: object
) -> xr.Dataset:
    """One layer per row unless `effect` has three axes; the interval is effect +- half."""
    effect = np.asarray(effect, dtype=float)
    effect = effect.reshape(1, 1, -1) if effect.ndim == 1 else effect
    dims = (row, "layer", "head")
    p = np.broadcast_to(np.asarray(p, dtype=float), effect.shape).copy()
    data = {"effect": effect, "low": effect - half, "high": effect + half, "p_value": p, "p_below": 1.0 - p}
    return xr.Dataset(
        {name: (dims, values) for name, values in data.items()} | {k: (row, v) for k, v in row_vars.items()}
    )


def outcomes(rule: Rule, scores: xr.Dataset) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        return rule(scores).values.ravel().tolist()


@pytest.mark.parametrize(("alpha", "factor", "heads"), pairwise([0.05, 0.01], [0.5, 1.0, 1.5, 3.0], [1, 300]))
def test_the_items_that_a_refusal_asks_for_suffice_and_one_less_does_not(
    alpha: float, factor: float, heads: int
) -> None:
    """`factor`: what a category makes of its tasks' smallest p, (n - r + 1) / 2."""

    def refusal(items: int) -> str:
        smallest = np.full(3, min(1.0, factor * smallest_p(items, draws=9999)))
        effect = np.full((3, 1, heads), 0.5)
        scores = scores_of(effect, p=smallest[:, None, None], smallest_p=smallest, n_items=np.full(3, items))
        try:
            assert (rules.fdr(alpha=alpha)(scores) == 1).all()
        except DataError as error:
            return str(error)
        return ""

    enough = next(items for items in range(1, 15) if not refusal(items))
    # From 2 items on: a p that is cut off at 1 no longer says how far it is from alpha.
    for items in range(1 if factor <= 1 else 3, enough):
        assert [int(number) for number in re.findall(r"(\d+) query items", refusal(items))] == [items, enough]


@pytest.mark.parametrize(
    "make",
    [
        lambda: rules.fdr(alpha="0.05"), lambda: rules.fdr(min_effect=None), lambda: rules.threshold(value=[1]),
        lambda: rules.top_fraction(p=True), lambda: rules.sd_above_mean(k=float("nan")),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused_where_it_is_given(make: Callable[[], Rule]) -> None:
    with pytest.raises(OptionError, match="number, got"):
        make()


def test_rows_of_different_reach_are_refused_by_their_q_value() -> None:
    """Four items, one category of one task and one of two: p reaches .0625, but q only .125."""
    smallest = np.array([0.125, 0.0625])
    scores = scores_of(np.full((2, 4, 4), 0.5), p=smallest[:, None, None], smallest_p=smallest, n_items=[4, 4])
    with pytest.raises(DataError, match=r" 4 query items .* 0\.0625\. .* 5 "):
        rules.fdr()(scores)


def test_threshold_by_hand() -> None:
    assert outcomes(rules.threshold(value=0.2), scores_of([0.2, 0.19, -0.5, np.nan])) == [1, -1, -1, 0]


def test_top_fraction_by_hand() -> None:
    scores = scores_of([0.1, 0.4, 0.3, 0.2, np.nan])
    assert outcomes(rules.top_fraction(p=0.5), scores) == [-1, 1, 1, -1, 0]  # missing heads are not counted
    assert outcomes(rules.top_fraction(p=0.74), scores) == [-1, 1, 1, -1, 0]  # never more than the share
    assert outcomes(rules.top_fraction(p=0.01), scores) == [-1, 1, -1, -1, 0]  # at least one
    assert outcomes(rules.top_fraction(p=0.25), scores_of([0.4, 0.4, 0.1, 0.1])) == [1, 1, -1, -1]  # ties
    assert outcomes(rules.top_fraction(p=1.0), scores_of([0.4, -0.4])) == [1, -1]  # never one that hurts


def test_top_fraction_is_per_row() -> None:
    effect = np.array([[[1.0, 2.0, 3.0, 4.0]], [[0.4, 0.3, 0.2, 0.1]]])
    assert outcomes(rules.top_fraction(p=0.25), scores_of(effect)) == [-1, -1, -1, 1, 1, -1, -1, -1]


def test_sd_above_mean_by_hand() -> None:
    # Nine zeros and a one: mean .1, sample standard deviation .316, so the one stands out by 2.846.
    scores = scores_of([1.0] + [0.0] * 9)
    assert outcomes(rules.sd_above_mean(k=2.84), scores)[0] == 1
    assert outcomes(rules.sd_above_mean(k=2.85), scores)[0] == -1


def test_sd_above_mean_warns_when_heads_are_few() -> None:
    with pytest.warns(StatisticsWarning, match="on 199 heads: below 200"):
        rules.sd_above_mean()(scores_of(np.linspace(0, 1, 199)))
    rules.sd_above_mean()(scores_of(np.linspace(0, 1, 200)))


def test_elbow_by_hand() -> None:
    # Chord from (0, 10) to (4, 1): below it by 0, 1.75, 4.5, 2.25, 0 at 10, 6, 1, 1, 1; the elbow itself is in.
    assert outcomes(rules.elbow(), scores_of([1.2, 10.0, 6.0, 1.1, 1.0, -3.0, 0.0])) == [1, 1, 1, -1, -1, -1, -1]
    assert outcomes(rules.elbow(), scores_of([-1.0, 0.0])) == [-1, -1]
    assert outcomes(rules.elbow(), scores_of([0.3, -1.0])) == [1, -1]


def test_fdr_by_hand() -> None:
    """In by p of "above", out by p of "below", each over all heads; undecided in between and where nothing is known."""
    scores = scores_of([0.5, 0.06, 0.5, 0.0, 0.04, np.nan], p=[0.001, 0.02, 0.3, 0.999, 0.9, np.nan])
    assert outcomes(rules.fdr(), scores) == [1, 1, 0, -1, 0, 0]
    assert outcomes(rules.fdr(alpha=0.01), scores) == [1, 0, 0, -1, 0, 0]


def test_fdr_tests_its_min_effect_on_scores_of_tasks() -> None:
    """Two heads with a standard error of .02: .05 above `min_effect`, and .01."""
    table = xr.Dataset(
        {name: (("task", "layer", "head"), [[[0.1, 0.06, -0.1, 0.0]]]) for name in ("effect", "low", "high", "p_value")}
        | {"smallest_p": ("task", [1e-6])},
        coords={"task": ["a"]},
    )
    scores = with_null(table, 2 * stats.norm.sf(np.abs(table["effect"].values) / 0.02)).fillna(1.0)
    scores["standard_error"][:] = 0.02
    for min_effect in (0.0, 0.05):
        above = np.minimum(1, 2 * stats.norm.sf((table["effect"].values - min_effect) / 0.02))
        below = np.minimum(1, 2 * stats.norm.cdf((table["effect"].values - min_effect) / 0.02))
        called, excluded = (stats.false_discovery_control(p.ravel()) <= 0.05 for p in (above, below))
        assert outcomes(rules.fdr(min_effect=min_effect), scores) == (called * 1 - excluded * 1).tolist()
    assert outcomes(rules.fdr(min_effect=0.05), negate(scores)) == [-1, -1, 1, -1]


def test_fdr_corrects_over_all_rows() -> None:
    # Alone, p = .04 is called; with a second row of nulls it is not.
    alone = scores_of([[[0.5]]], p=0.04)
    assert outcomes(rules.fdr(), alone) == [1]
    assert outcomes(rules.fdr(), scores_of([[[0.5]], [[0.5]]], p=[[[0.04]], [[0.9]]])) == [0, 0]


def test_fdr_leaves_missing_heads_undecided_and_out_of_the_count() -> None:
    scores = scores_of([0.5, np.nan, 0.5], p=[0.04, np.nan, 0.045])
    assert outcomes(rules.fdr(), scores) == [1, 0, 1]
    assert outcomes(rules.fdr(), scores_of([0.0, 0.5], p=[np.nan, np.nan])) == [0, 0]


def test_negated_scores_have_their_sign_turned_round() -> None:
    scores = scores_of([0.5, -0.5, 0.0], p=[0.001, 0.001, 0.9], half=0.04)
    negated = negate(scores)
    assert (negated["low"] <= negated["effect"]).all()
    assert (negated["effect"] <= negated["high"]).all()
    xr.testing.assert_identical(negate(negated), scores)
    with pytest.raises(DataError, match="one-sided"):
        negate(scores_of([0.5], row="category"))


def test_fdr_counts_the_items_of_tasks_with_numbers() -> None:
    # The refused task has 30 items; of the others, the one with most items is named.
    effect = np.full((3, 1, 2), 0.5)
    effect[1] = np.nan
    scores = scores_of(effect, p=np.where(np.isnan(effect), np.nan, 0.5), smallest_p=[0.5, 1e-4, 0.25])
    scores["n_items"] = ("task", [2, 30, 3])
    with pytest.raises(DataError, match=r" 3 query items.* all 4 .* 0\.25"):
        rules.fdr(alpha=0.05)(scores)


def test_fdr_says_when_the_items_cannot_be_enough() -> None:
    effect = np.full((2, 3, 4), 0.5)
    few = scores_of(effect, p=0.25, smallest_p=[0.25, 0.25], n_items=[3, 3])
    with pytest.raises(DataError, match=r" 3 query items.* all 24 .* 0\.25\. .* 4 "):
        rules.fdr(alpha=0.05)(few)
    # p = 1/32 is enough if all heads are called together, so nothing is refused.
    enough = scores_of(effect, p=2.0**-5, smallest_p=[2.0**-5] * 2, n_items=[6, 6])
    assert outcomes(rules.fdr(alpha=0.05), enough) == [1] * 24
    # One good row is enough to go on.
    mixed = scores_of(effect, p=0.25, smallest_p=[0.25, 0.001], n_items=[3, 11])
    assert outcomes(rules.fdr(alpha=0.05), mixed) == [0] * 24


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("alpha", lambda: rules.fdr(alpha=1.0)),
        ("min_effect", lambda: rules.fdr(min_effect=-0.1)),
        (r"\bp\b", lambda: rules.top_fraction(p=0)),
        ("value", lambda: rules.threshold(value=float("nan"))),
    ],
)
def test_options_out_of_range_are_refused(option: str, rule: Callable[[], Rule]) -> None:
    with pytest.raises(OptionError, match=option):
        rule()(scores_of([0.1, 0.2]))


def test_repr_is_the_call_with_all_options() -> None:
    for rule in (rules.fdr(), rules.fdr(min_effect=0)):
        assert repr(rule) == f"fdr(alpha={rule.options['alpha']}, min_effect={rule.options['min_effect']})"
    assert rules.fdr() == rules.fdr(alpha=0.05) != rules.fdr(alpha=0.1)
    assert repr(rules.elbow()) == "elbow()"


def test_unknown_and_missing_options_are_named() -> None:
    with pytest.raises(TypeError, match=r"'alhpa'; .* alpha"):
        rules.fdr(alhpa=0.1)
    with pytest.raises(TypeError, match="by position"):
        rules.fdr(0.1)
    with pytest.raises(TypeError, match="value"):
        rules.threshold()


def test_a_rule_of_your_own_is_registered_and_checked() -> None:
    @rules.rule
    def tiny(*, limit: float = 0.5) -> Rule:
        """Heads with any effect."""
        return Rule(lambda scores: (abs(scores["effect"]) > limit).astype(int).transpose("head", ...))

    assert registry.lookup("rule", "tiny") is tiny
    outcome = tiny()(scores_of([0.6, 0.1, np.nan]))
    assert (outcome.dtype, outcome.dims, outcome.values.ravel().tolist()) == (
        np.int8,
        ("task", "layer", "head"),
        [1, 0, 0],
    )

    @rules.rule
    def wrong() -> Rule:
        """Returns effects instead of outcomes."""
        return Rule(lambda scores: scores["effect"])

    with pytest.raises(ExtensionError, match=r"Rule 'wrong' .* must give 1, 0 or -1"):
        wrong()(scores_of([0.6, 0.1]))


@pytest.mark.parametrize("name", EFFECT_RULES)
@given(st.lists(st.floats(-2, 2) | st.just(float("nan")), min_size=1, max_size=30), st.randoms())
def test_effect_rules_are_monotone_and_ignore_order(name: str, effects: list[float], random: object) -> None:
    rule = EFFECT_RULES[name]()
    found = np.array(outcomes(rule, scores_of(effects)))
    values = np.array(effects)
    known = ~np.isnan(values)
    assert (found[~known] == 0).all()
    by_effect = found[known][np.argsort(values[known], kind="stable")]
    assert (np.diff(by_effect) >= 0).all()
    assert len(set(zip(values[known], found[known], strict=True))) == len(
        set(values[known])
    )  # equal effects, equal outcome
    order = np.random.default_rng(random.randrange(99)).permutation(len(values))
    np.testing.assert_array_equal(outcomes(rule, scores_of(values[order])), found[order])


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.integers(0, 19))
def test_fdr_is_monotone(p: list[float], at: int) -> None:
    before = outcomes(rules.fdr(), scores_of(np.full(len(p), 0.5), p=p))
    smaller = [value / 2 if place == at % len(p) else value for place, value in enumerate(p)]
    after = outcomes(rules.fdr(), scores_of(np.full(len(p), 0.5), p=smaller))
    # A smaller p can only raise this head's outcome, and only help the others to be in.
    assert after[at % len(p)] >= before[at % len(p)]
    assert all(now == 1 for now, then in zip(after, before, strict=True) if then == 1)


@pytest.mark.parametrize(
    "rule", [rules.fdr(), rules.fdr(alpha=0.01, min_effect=0.1), rules.threshold(value=0.2), rules.elbow()], ids=repr
)
def test_a_rule_and_its_text(rule):
    assert repr(parse_rule(rule_text(rule))) == repr(rule)
    assert parse_rule(rule) is rule


OURS = [
    hc.rules.fdr(),
    hc.rules.fdr(alpha=0.01, min_effect=0.1),
    hc.rules.threshold(value=0.1),
    hc.rules.top_fraction(p=0.1),
    hc.rules.sd_above_mean(),
    hc.rules.elbow(),
]


def test_ours() -> None:
    assert [rule for rule in OURS if not is_registered(rule)] == []


def test_one_of_ones_own_is_not() -> None:
    @hc.rules.rule
    def mine() -> Rule:
        return hc.rules.threshold(value=0.1)

    assert not is_registered(mine())
    assert not is_registered(Rule(lambda scores: scores["effect"], name="not registered"))


def test_a_changed_one_is_not() -> None:
    fdr = hc.rules.fdr()
    changed = {
        "least effect": replace(fdr, least_effect=0.2),
        "judge": replace(fdr, judge=lambda scores: scores["effect"]),
        "cut-offs": replace(fdr, cutoffs_of=lambda scores: effect_cutoffs(np.zeros(1))),
    }
    assert [name for name, rule in changed.items() if is_registered(rule)] == []
