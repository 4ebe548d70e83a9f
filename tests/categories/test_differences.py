"""A difference between categories is tested over sources: equal effects rarely differ, a planted one is found."""

import itertools
import json
from collections.abc import Sequence

import numpy as np
import pytest
import xarray as xr

from headcats.base.errors import OptionError, StatisticsWarning
from headcats.categories.differences import effect_differences

NAMES = ["A", "B", "C", "D"]


def scores_of(effect: np.ndarray, n_tasks: Sequence[int], *, per_source: int = 1) -> xr.Dataset:
    """Scores with that `effect (task, head)`, the first tasks of category A, the next of B, ..., sources in order."""
    listed = [{"name": name, "colour": "#000000"} for name in NAMES[: len(n_tasks)]]
    return xr.Dataset(
        {"effect": (("task", "layer", "head"), effect[:, None])},
        coords={
            "task": [f"task {i}" for i in range(len(effect))],
            "category": ("task", np.repeat(NAMES[: len(n_tasks)], n_tasks)),
            "independent_source": ("task", [f"source {i // per_source}" for i in range(len(effect))]),
            "layer": [3],
            "head": np.arange(effect.shape[1]),
        },
        attrs={"categories": json.dumps(listed)},
    )


@pytest.mark.parametrize("kind", ["normal", "few values"])
def test_related_tasks_with_equal_effects_are_called_in_one_study_of_twenty_at_most(kind: str) -> None:
    rng, studies, called = np.random.default_rng(0), 40, 0
    for _ in range(studies):
        sources = rng.normal(size=(16, 16)) if kind == "normal" else 1.0 * (rng.random((16, 16)) < 0.5)
        effect = np.repeat(sources, 3, axis=0) + 0.1 * rng.normal(size=(48, 16))
        called += bool((effect_differences(scores_of(effect, [12] * 4, per_source=3))["p_value"] <= 0.05).any())
    assert called / studies <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / studies)


def test_a_planted_difference_is_found_in_its_pairs_alone() -> None:
    effect = 0.3 + 0.05 * np.random.default_rng(1).normal(size=(24, 64))
    effect[:6, 7] += 0.4
    tested = effect_differences(scores_of(effect, (6, 6, 6, 6)))
    assert tested["n_different"].sel(category="A").values[1:].tolist() == [1, 1, 1]
    assert tested["n_different"].sel(category="B", other=["C", "D"]).values.tolist() == [0, 0]
    head = tested.sel(category="A", other="B", layer=3, head=7)
    assert 0.2 < head["low"] < head["difference"] < head["high"] < 0.6
    back = tested.sel(category="B", other="A", layer=3, head=7)
    assert (back["low"], back["high"], back["p_value"]) == (-head["high"], -head["low"], head["p_value"])


def test_a_source_is_one_replicate_however_many_tasks_it_has() -> None:
    rng = np.random.default_rng(1)
    effect = rng.normal(size=(8, 5)) + 3 * np.repeat([1, 0], 4)[:, None]
    alone = effect_differences(scores_of(effect, (4, 4)))
    parts = np.repeat(effect, 2, axis=0) + np.tile([[0.2], [-0.2]], (8, 1))
    pairs = effect_differences(scores_of(parts, (8, 8), per_source=2))
    xr.testing.assert_allclose(pairs, alone)
    assert pairs["n_sources"].values.tolist() == [4, 4]


def test_p_is_the_share_of_labellings_whose_largest_ratio_is_as_large() -> None:
    effect = np.array([0.1, 0.4, 0.2, 0.5, 0.7, 0.6, 0.9, 1.2])[:, None]
    tested = effect_differences(scores_of(effect, (4, 4))).sel(category="B", other="A").squeeze()
    ratios = []
    for chosen in itertools.combinations(range(8), 4):
        sides = effect[list(chosen)], np.delete(effect, chosen, axis=0)
        error = np.sqrt(sum(side.var(ddof=1) for side in sides) / 4)
        ratios.append(abs(sides[0].mean() - sides[1].mean()) / error)
    exact = np.mean(np.array(ratios) >= ratios[0] - 1e-9)
    assert tested["p_value"] == pytest.approx(exact, abs=3 * np.sqrt(exact / 1000))
    assert tested["difference"] == pytest.approx(0.55)
    assert (tested["low"] > 0) == (tested["p_value"] <= 0.05)


def test_what_cannot_be_tested_is_nan_and_said() -> None:
    effect = np.random.default_rng(0).normal(size=(11, 3))
    effect[:, 1] = 0.25
    effect[4, 2] = np.nan
    with pytest.warns(StatisticsWarning, match=r"4 independent sources in each: C \(3\)"):
        tested = effect_differences(scores_of(effect, (4, 4, 3)))
    assert tested["n_sources"].values.tolist() == [4, 4, 3]
    assert tested["p_value"].sel(category="A", other="B").notnull().values.tolist() == [[True, False, False]]
    assert tested["n_different"].notnull().values.tolist() == [[False, True, False], [True, False, False], [False] * 3]


def test_bad_input_is_told() -> None:
    scores = scores_of(np.zeros((4, 1)), (2, 2))
    with pytest.raises(OptionError, match="alpha"):
        effect_differences(scores, alpha=1.0)
