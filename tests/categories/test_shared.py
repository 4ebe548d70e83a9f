"""Heads that categories share, beside other labels of the same tasks."""

import functools
import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import CATEGORIES, NAMES, block, tree

from headcats import rules
from headcats.base.errors import OptionError
from headcats.categories.membership import categorize
from headcats.categories.shared import overlap, sharing
from headcats.rules.rule import negate
from headcats.scores.scoring import score
from headcats.statistics.labellings import draw_labellings

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


@functools.cache
def scored(per_category: int, n_categories: int = 4, *, kind: str = "all but one") -> xr.Dataset:
    """Scores of tasks that take turns between categories.

    Of each category four heads matter in its tasks alone, or in those of all others; or in random tasks.
    """
    rng, blocks, categories = np.random.default_rng(0), {}, {}
    n = per_category * n_categories
    of_category = np.repeat(np.arange(n) % n_categories, 4).reshape(n, 4)
    heads = [of_category == category for category in range(n_categories)]
    matters = np.concatenate(heads, axis=1)
    if kind == "all but one":
        matters = ~matters
    elif kind == "random":
        matters = rng.random(matters.shape) < 0.5
    for place in range(n):
        noise = 0.05 * rng.normal(size=(24, 2, matters.shape[1] // 2))
        blocks[f"t{place:02}"] = block(noise + 0.3 * matters[place].reshape(noise.shape[1:]))
        categories[f"t{place:02}"] = NAMES[place % n_categories]
    results = tree(blocks, categories=categories)
    results.attrs["categories"] = json.dumps(CATEGORIES[:n_categories])
    return score(results, method="denoising_patch").drop_vars(["resampled", "null_effect_t"])


def pairs_of(scores: xr.Dataset, **options: object) -> int:
    """Heads in both of two categories, summed over pairs, as the map counts them."""
    found = overlap(categorize(scores, **options))
    return int((found["observed"] * found["k"] * (found["k"] - 1) // 2).sum())


@pytest.mark.parametrize(("rule", "min_tasks"), [(rules.fdr(), "half"), (rules.top_fraction(p=0.3), 3)])
def test_it_counts_what_the_map_of_relabelled_tasks_counts(rule: rules.Rule, min_tasks: int | str) -> None:
    # Sources of two tasks and of one: other labels give categories other sizes, with 3 of one or two tasks, too.
    scores = scored(3, kind="random")
    sources = np.array([0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7])
    found = sharing(
        scores.assign_coords(independent_source=("task", sources)), rule=rule, min_tasks=min_tasks, relabellings=19
    )
    labels = draw_labellings(np.arange(12) % 4, sources, n_categories=4, n=19, seed=0).labels
    names = np.array(NAMES)[labels]
    counts = []
    for row in names:
        relabelled = scores.assign_coords(category=("task", row))
        largest = max(np.unique(row, return_counts=True)[1])
        judged = min_tasks == "half" or largest >= min_tasks
        counts.append(pairs_of(relabelled, rule=rule, min_tasks=min_tasks) if judged else 0)
    assert found["shared_pairs"] == counts[0]
    assert found["n_labellings"] == 20
    assert found["relabelled"] == pytest.approx(np.mean(counts[1:]))
    tails = np.mean(np.array(counts) <= counts[0]), np.mean(np.array(counts) >= counts[0])
    assert found["p_value"] == pytest.approx(min(1, 2 * min(tails)))
    assert found["relabelled_low"] <= found["relabelled"] <= found["relabelled_high"]


def test_heads_of_some_categories_are_shared_less_than_under_other_labels() -> None:
    found = sharing(scored(5))
    assert found["shared_pairs"] == 16 * 3
    assert found["relabelled_low"] > 16 * 3
    assert found["p_value"] <= 0.05


def test_suppressing_heads_are_those_of_the_opposite_effects() -> None:
    scores = scored(5)
    turned = negate(scores)
    assert sharing(turned, sign="suppressing", relabellings=30).equals(sharing(scores, relabellings=30))
    assert sharing(turned, relabellings=30)["shared_pairs"] == 0


def test_a_source_moves_as_a_whole_and_few_of_them_give_no_p() -> None:
    # Two categories of three sources each can be divided in 10 ways; of six tasks each in 462.
    scores = scored(6, 2)
    sources = ("task", np.arange(12) % 2 + 2 * (np.arange(12) // 4))
    told = sharing(scores.assign_coords(independent_source=sources))
    assert told["n_labellings"] == 10
    assert all(np.isnan(told[name]) for name in ("relabelled", "relabelled_low", "relabelled_high", "p_value"))
    alone = sharing(scores)
    assert alone["n_labellings"] == 201
    assert alone["p_value"] > 0
    assert alone["shared_pairs"] == told["shared_pairs"]


@given(st.permutations(range(12)), st.permutations(range(4)))
@settings(max_examples=8, deadline=None)
def test_neither_the_order_of_tasks_nor_the_names_of_categories_count(order: list[int], names: list[int]) -> None:
    scores = scored(3, kind="random")
    renamed = dict(zip(NAMES, np.array(NAMES)[names], strict=True))
    other = scores.assign_coords(category=("task", [renamed[name] for name in scores["category"].values]))
    plain = sharing(scores, relabellings=30, seed=3)
    assert sharing(other.isel(task=order), relabellings=30, seed=3).equals(plain)


def test_one_category_shares_nothing() -> None:
    found = sharing(scored(4, 1))
    assert (found["shared_pairs"], found["n_labellings"]) == (0, 1)
    assert np.isnan(found["p_value"])


@pytest.mark.parametrize("option", [{"sign": "both"}, {"relabellings": 0}, {"min_tasks": 0}, {"rule": "fdr"}])
def test_options_that_are_none_are_refused(option: dict) -> None:
    with pytest.raises(OptionError, match=next(iter(option))):
        sharing(scored(3), **option)
