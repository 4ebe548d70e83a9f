"""What a head had to reach."""

import numpy as np
import pytest
import xarray as xr

from headcats import rules

DIMS = ("task", "layer", "head")


def scores_of(effects: object) -> xr.Dataset:
    effect = np.asarray(effects, dtype=float)[:, None]
    data = {"effect": effect, "low": effect - 0.05, "high": effect + 0.05, "p_value": np.full(effect.shape, 0.001)}
    data["p_below"] = 1 - data["p_value"]
    return xr.Dataset({name: (DIMS, values) for name, values in data.items()})


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
