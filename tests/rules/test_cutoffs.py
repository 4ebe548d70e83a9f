"""What a head had to reach, and null_calibrated."""

import numpy as np
import pytest
import xarray as xr

from headcats import rules
from headcats.base.errors import DataError, OptionError
from headcats.rules.rule import negate

DIMS = ("task", "layer", "head")


def scores_of(effects: object, *, null: object = None, method: str = "denoising_patch", **attrs: str) -> xr.Dataset:
    effect = np.asarray(effects, dtype=float)[:, None]
    data = {"effect": effect, "low": effect - 0.05, "high": effect + 0.05, "p_value": np.full(effect.shape, 0.001)}
    data["p_below"] = 1 - data["p_value"]
    if null is not None:
        data["null_effect"] = np.asarray(null, dtype=float)[:, None]
    return xr.Dataset({name: (DIMS, values) for name, values in data.items()}, attrs={"method": method, **attrs})


class TestNullCalibrated:
    def test_the_cut_is_a_quantile_of_the_null_effects_of_the_row(self) -> None:
        null = [np.linspace(0, 1, 11), np.linspace(0, 0.1, 11)]
        scores = scores_of([[0.895, 0.905, *[0.0] * 9], [0.0895, 0.0905, *[-0.2] * 9]], null=null)
        found = rules.null_calibrated(quantile=0.9)(scores).values[:, 0]
        assert found[:, :2].tolist() == [[-1, 1], [-1, 1]]
        assert (found[:, 2:] == -1).all()

    def test_a_head_that_hurts_is_never_in_and_a_missing_one_is_undecided(self) -> None:
        scores = scores_of([[-0.1, np.nan, 0.2]], null=[[-0.5, np.nan, -0.6]])
        assert rules.null_calibrated(quantile=1.0)(scores).values.ravel().tolist() == [-1, 0, 1]

    def test_a_row_without_null_effects_is_undecided(self) -> None:
        scores = scores_of([[0.9, -0.9], [0.9, -0.9]], null=[[0.1, 0.1], [np.nan, np.nan]])
        assert rules.null_calibrated()(scores).values[:, 0].tolist() == [[1, -1], [0, 0]]

    def test_suppressing_heads_are_held_against_suppressing_null_effects(self) -> None:
        scores = scores_of([[-0.5, -0.1, 0.0]], null=[[-0.2, 0.0, 0.3]])
        assert rules.null_calibrated(quantile=1.0)(negate(scores)).values.ravel().tolist() == [1, -1, -1]

    @pytest.mark.parametrize(
        ("scores", "said"),
        [
            (scores_of([[0.1]], method="mean_ablation"), "mean_ablation"),
            (scores_of([[0.1]]), "without second_corruption_patch"),
            (scores_of([[0.1]], effect="task_specific"), "task-specific effect"),
        ],
    )
    def test_without_null_effects_a_sentence_says_why(self, scores: xr.Dataset, said: str) -> None:
        with pytest.raises(DataError, match=said):
            rules.null_calibrated()(scores)

    @pytest.mark.parametrize("quantile", [0.0, -0.5, 1.5])
    def test_quantile_out_of_range(self, quantile: float) -> None:
        with pytest.raises(OptionError, match=r"share in \(0, 1\]"):
            rules.null_calibrated(quantile=quantile)(scores_of([[0.1]], null=[[0.1]]))


class TestCutoffs:
    def test_of_a_threshold_is_its_value_even_if_nothing_reaches_it(self) -> None:
        cut = rules.threshold(value=0.9).cutoffs(scores_of([[0.1, 0.2], [0.3, 0.4]]))
        assert cut.effect.tolist() == [0.9, 0.9]
        assert (np.isneginf(cut.low).all(), np.isposinf(cut.p_value).all()) == (True, True)

    def test_of_a_rule_on_effects_is_its_smallest_member(self) -> None:
        cut = rules.top_fraction(p=0.5).cutoffs(scores_of([[0.1, 0.2, 0.3, 0.4], [-0.1, -0.2, -0.3, -0.4]]))
        assert cut.effect.tolist() == [0.3, np.inf]

    def test_of_fdr_is_that_of_its_last_discovery(self) -> None:
        scores = scores_of([[0.5, 0.5, 0.5, 0.5]])
        scores["p_value"].values[:] = np.array([[[0.001, 0.02, 0.03, 0.9]]])
        cut = rules.fdr(alpha=0.05, min_effect=0.1).cutoffs(scores)
        assert (cut.low.tolist(), cut.p_value.tolist()) == ([-np.inf], [pytest.approx(0.05 * 3 / 4)])
        scores["p_value"].values[:] = 0.9
        assert rules.fdr(alpha=0.05, min_effect=0).cutoffs(scores).p_value.tolist() == [0.05 / 4]

    @pytest.mark.parametrize(
        "rule",
        [rules.threshold(value=0.2), rules.top_fraction(p=0.2), rules.elbow(), rules.fdr(min_effect=0.1)],
        ids=str,
    )
    def test_members_reach_them_and_others_do_not(self, rule: rules.Rule) -> None:
        effect = np.random.default_rng(0).normal(0.1, 0.3, size=(3, 30))
        scores = scores_of(effect)
        scores["p_value"].values[:] = np.random.default_rng(1).uniform(0, 0.1, size=(3, 1, 30))
        cut = rule.cutoffs(scores)
        reached = [
            (scores["effect"].values[row] >= cut.effect[row])
            & (scores["low"].values[row] >= cut.low[row])
            & (scores["p_value"].values[row] <= cut.p_value[row])
            for row in range(3)
        ]
        np.testing.assert_array_equal(np.stack(reached), (rule(scores) == 1).values)
