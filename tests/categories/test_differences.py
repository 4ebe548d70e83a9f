"""A difference between categories is tested over tasks: equal effects rarely differ, a planted difference is found."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headcats.base.errors import OptionError, StatisticsWarning
from headcats.categories.differences import effect_differences
from headcats.statistics.multiplicity import benjamini_hochberg

NAMES = ["A", "B", "C", "D"]


def scores_of(effect: np.ndarray, n_tasks: Sequence[int]) -> xr.Dataset:
    """Scores with that `effect (task, head)`, the first tasks of category A, the next of B, ..."""
    listed = [{"name": name, "colour": "#000000"} for name in NAMES[: len(n_tasks)]]
    return xr.Dataset(
        {"effect": (("task", "layer", "head"), effect[:, None])},
        coords={
            "task": [f"task {i}" for i in range(len(effect))],
            "category": ("task", np.repeat(NAMES[: len(n_tasks)], n_tasks)),
            "layer": [3],
            "head": np.arange(effect.shape[1]),
        },
        attrs={"categories": json.dumps(listed)},
    )


@pytest.mark.parametrize("studies", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_tasks", [(5, 5, 5, 5), (2, 10, 2, 10)], ids=str)
def test_equal_effects_differ_anywhere_in_one_study_of_twenty_at_most(n_tasks: tuple[int, ...], studies: int) -> None:
    rng = np.random.default_rng(0)
    called = 0
    for _ in range(studies):
        tested = effect_differences(scores_of(0.3 + 0.1 * rng.normal(size=(sum(n_tasks), 64)), n_tasks))
        called += bool((tested["q_value"] <= 0.05).any())
    assert called / studies <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies)


def test_a_planted_difference_is_found_in_its_pairs_alone() -> None:
    effect = 0.3 + 0.05 * np.random.default_rng(0).normal(size=(24, 64))
    effect[:6, 7] += 0.4
    tested = effect_differences(scores_of(effect, (6, 6, 6, 6)))
    assert tested["n_different"].sel(category="A").values[1:].tolist() == [1, 1, 1]
    assert tested["n_different"].sel(category="B", other=["C", "D"]).values.tolist() == [0, 0]
    head = tested.sel(category="A", other="B", layer=3, head=7)
    assert 0.3 < head["low"] < head["difference"] < head["high"] < 0.5


def test_it_is_welchs_test_with_q_over_heads_and_pairs() -> None:
    rng = np.random.default_rng(1)
    effect = rng.normal(size=(18, 5)) * np.repeat([1, 3, 1], (5, 6, 7))[:, None]
    tested = effect_differences(scores_of(effect, (5, 6, 7)))
    parts = effect[:5], effect[5:11], effect[11:]
    p_values = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        welch = stats.ttest_ind(parts[i], parts[j], equal_var=False)
        pair = tested.isel(category=i, other=j, layer=0)
        np.testing.assert_allclose(pair["p_value"], welch.pvalue)
        np.testing.assert_allclose([pair["low"], pair["high"]], welch.confidence_interval(0.95))
        p_values.append(welch.pvalue)
        back = tested.isel(category=j, other=i, layer=0)
        np.testing.assert_array_equal(back["p_value"], pair["p_value"])
        np.testing.assert_array_equal([back["low"], back["high"]], [-pair["high"], -pair["low"]])
    q_values = tested["q_value"].values[[0, 0, 1], [1, 2, 2], 0]
    np.testing.assert_allclose(q_values, benjamini_hochberg(np.array(p_values)))


def test_what_cannot_be_tested_is_nan_and_said() -> None:
    effect = np.random.default_rng(0).normal(size=(7, 3))
    effect[:, 1] = 0.25
    effect[3, 2] = np.nan
    with pytest.warns(StatisticsWarning, match=r"2 with numbers in each category: C \(1\)"):
        tested = effect_differences(scores_of(effect, (3, 3, 1)))
    assert tested["n_tasks"].values.tolist() == [3, 3, 1]
    assert tested["p_value"].sel(category="A", other="B").notnull().values.tolist() == [[True, False, False]]
    assert tested["n_different"].notnull().values.tolist() == [[False, True, False], [True, False, False], [False] * 3]


def test_bad_input_is_told() -> None:
    scores = scores_of(np.zeros((4, 1)), (2, 2))
    with pytest.raises(OptionError, match="alpha"):
        effect_differences(scores, alpha=1.0)
