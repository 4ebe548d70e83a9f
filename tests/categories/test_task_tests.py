"""What is expected of a new task of a category: tasks vary, so its interval is wider than that over these tasks."""

import numpy as np
import pytest
import xarray as xr
from categories.test_differences import scores_of
from scipy import stats

from headcats.categories.task_tests import NEW_TASK, new_task_effects


def with_errors(scores: xr.Dataset, error: np.ndarray, n_items: np.ndarray) -> xr.Dataset:
    return scores.assign(standard_error=(("task", "layer", "head"), error[:, None]), n_items=("task", n_items))


def shares_that_hold(effects: np.ndarray, *, error: float, n_items: int, per_source: int = 1) -> tuple[float, float]:
    """Of intervals for a new task, its effect, and of intervals over these tasks, a mean of 0.

    `effects (task, study)`; the last task is the new one.
    """
    effects, new = effects[:-1], effects[-1]
    scores = scores_of(effects, (len(effects),), per_source=per_source)
    scores = with_errors(scores, np.full(effects.shape, error), np.full(len(effects), n_items))
    over = new_task_effects(scores)
    return tuple(
        float(((over[f"{name}_low"] <= held) & (over[f"{name}_high"] >= held)).mean())
        for name, held in (("new_task", new), ("these_tasks", 0.0))
    )


def test_intervals_hold_the_new_effect_and_the_mean_as_often_as_they_say() -> None:
    rng, shape = np.random.default_rng(0), (6, 4000)
    noise = 0.05 * rng.normal(size=shape)
    normal, fixed = shares_that_hold(0.2 * rng.normal(size=shape) + noise, error=0.05, n_items=32)
    assert 0.93 <= normal <= 0.97
    assert fixed < 0.5  # it is about these tasks, not about new ones
    skewed, _ = shares_that_hold(0.2 * (rng.exponential(size=shape) - 1) + noise, error=0.05, n_items=32)
    assert 0.86 <= skewed <= 0.95
    # Three pairs of tasks that are related.
    pairs = np.repeat(0.2 * rng.normal(size=(4, 4000)), (2, 2, 2, 1), axis=0) + 0.1 * rng.normal(size=(7, 4000))
    related, _ = shares_that_hold(pairs, error=0.05, n_items=32, per_source=2)
    assert 0.93 <= related <= 0.97
    # If tasks do not vary, the noise of items alone is left.
    _, fixed = shares_that_hold(noise, error=0.05, n_items=32)
    assert 0.93 <= fixed <= 0.97


def test_the_numbers_by_hand() -> None:
    effect = np.array([[0.1, 0.5], [0.3, 0.5], [0.8, 0.5], [0.4, -0.2]])
    error, n_items = np.array([[0.1] * 2, [0.2] * 2, [0.2] * 2, [0.3] * 2]), np.array([10, 20, 20, 30])
    over = new_task_effects(with_errors(scores_of(effect, (3, 1)), error, n_items)).isel(layer=0)
    first = over.sel(category="A", head=0)
    assert float(first["mean_effect"]) == pytest.approx(0.4)
    sd = np.std([0.1, 0.3, 0.8], ddof=1)
    assert float(first["new_task_high"]) == pytest.approx(0.4 + stats.t.ppf(0.975, 2) * sd * np.sqrt(4 / 3))
    assert float(first["task_sd"]) == pytest.approx(np.sqrt(sd**2 - 0.09 / 3))
    freedom = 0.09**2 / (0.01**2 / 9 + 2 * 0.04**2 / 19)
    assert float(first["these_tasks_low"]) == pytest.approx(0.4 - stats.t.ppf(0.975, freedom) * 0.3 / 3)
    # Tasks that differ less than the noise of items have no spread of their own.
    assert float(over["task_sd"].sel(category="A", head=1)) == 0
    with_pair = scores_of(np.array([0.1, 0.3, 0.8, 0.6])[:, None], (4,))
    with_pair = with_pair.assign_coords(independent_source=("task", ["a", "a", "b", "c"]))
    pair = new_task_effects(with_errors(with_pair, np.zeros((4, 1)), np.full(4, 9))).squeeze()
    between, within = np.var([0.2, 0.8, 0.6], ddof=1), 0.02
    parts = between * 4 / 3, within * (1 - 2.5 / 3)
    reach = stats.t.ppf(0.975, sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2)) * np.sqrt(sum(parts))
    assert pair["new_task_low"] == pytest.approx(1.6 / 3 - reach)
    assert pair["mean_effect"] == pytest.approx(0.45)
    single = over.sel(category="B")
    assert single[["new_task_low", "new_task_high", "task_sd"]].to_array().isnull().all()
    assert single["these_tasks_high"].values == pytest.approx(single["mean_effect"] + stats.t.ppf(0.975, 29) * 0.3)


def test_what_has_no_number_is_nan() -> None:
    effect = np.array([[0.1, np.nan], [0.2, 0.4], [0.3, 0.5], [np.nan, np.nan]])
    over = new_task_effects(with_errors(scores_of(effect, (3, 1)), np.full((4, 2), 0.1), np.full(4, 9)))
    assert over["mean_effect"].notnull().values.tolist() == [[[True, False]], [[False, False]]]
    assert over.sel(category="B").to_array().isnull().all()
    bare = new_task_effects(scores_of(effect, (3, 1)).assign(n_items=("task", [9, 9, 9, 9])))
    assert bare["new_task_low"].notnull().values.tolist() == over["new_task_low"].notnull().values.tolist()
    assert bare[["these_tasks_low", "task_sd"]].to_array().isnull().all()
    assert tuple(bare) == NEW_TASK
    two_sources = scores_of(effect, (3, 1), per_source=2).assign(n_items=("task", [9, 9, 9, 9]))
    assert new_task_effects(two_sources)["new_task_low"].isnull().all()
