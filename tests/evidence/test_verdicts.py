"""Verdicts: one declared rule, and its own size."""

import math

import numpy as np
import pytest
from damages import by_agreement, labellings, tables

from headcats.evidence.verdicts import INCONCLUSIVE, NOT_SUPPORTED, NOTABLE, SUPPORTED, verdict
from headcats.statistics.labellings import LEAST_LABELLINGS


@pytest.fixture(scope="module")
def drawn():
    return labellings(4, 4, 4)


@pytest.fixture(scope="module")
def supported(drawn):
    return tables(drawn, by_agreement(drawn))[0]


def test_supported(supported):
    assert supported["verdict"].values.tolist() == [SUPPORTED] * 3
    # Relabellings that leave one category as it is reach its statistic.
    assert (supported["p"] <= 0.02).all()
    np.testing.assert_allclose(supported["combined"], supported["signature"] + supported["ablation"])
    reached = (supported["maximum"].values >= supported["combined"].values[:, None] - 1e-9).sum(axis=1)
    np.testing.assert_allclose(supported["p"], (1 + reached) / 201)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, SUPPORTED),
        ({"p": 0.05, "specificity_low": 0.001}, SUPPORTED),
        ({"p": 0.0501}, INCONCLUSIVE),
        ({"specificity_low": 0.0}, INCONCLUSIVE),
        ({"specificity_low": np.nan, "specificity_high": np.nan}, INCONCLUSIVE),
        ({"specificity_low": -1.0, "specificity_high": NOTABLE}, INCONCLUSIVE),
        ({"specificity_high": NOTABLE - 1e-6}, NOT_SUPPORTED),
        ({"specificity_high": NOTABLE - 1e-6, "inseparable": "template"}, INCONCLUSIVE),
        ({"inseparable": "template"}, INCONCLUSIVE),
        ({"coincide": "template"}, SUPPORTED),
        ({"combined": np.nan, "specificity_high": 0.0}, INCONCLUSIVE),
    ],
)
def test_a_small_p_a_lower_limit_above_0_and_labels_of_their_own_are_needed(supported, values, expected):
    assert verdict(supported.sel(category="A").assign(values)) == expected


def test_nineteen_labellings_are_one_too_few():
    for n, expected in ((LEAST_LABELLINGS - 2, INCONCLUSIVE), (LEAST_LABELLINGS - 1, SUPPORTED)):
        drawn = labellings(4, 4, 4, n=n)
        tested, _ = tables(drawn, by_agreement(drawn))
        assert tested["smallest_p"] == 1 / (n + 1)
        assert np.isnan(tested["size"]) == (n < 19)
        assert set(tested["verdict"].values.tolist()) == {expected}


def test_the_size_is_that_of_the_relabellings_among_themselves(supported, drawn):
    assert supported["size"] == supported["supported_in_turn"].mean() <= 0.05
    # One relabelling is what the true labels are elsewhere.
    cosines = 0.8 * (drawn.labels[7][:, None] == drawn.labels[7])
    damages = np.full((len(drawn.labels), 12, 3), 0.1)
    damages[7] += 0.5 * drawn.members[7]
    other, _ = tables(drawn, damages, cosines)
    assert other["supported_in_turn"].values.nonzero()[0].tolist() == [6]
    assert (other["size"], other["size_error"]) == (1 / 200, math.sqrt(3 / 204 * 201 / 204 / 204))


def test_one_category_two_tasks_or_tasks_that_lost_all_their_damage_are_no_verdict(drawn):
    for sizes in ((4,), (1, 1), (3, 0)):
        alone = labellings(*sizes)
        tested, _ = tables(alone, np.full((1, sum(sizes), len(sizes)), 0.3))
        assert tested["smallest_p"] == 1.0
        assert set(tested["verdict"].values.tolist()) == {INCONCLUSIVE}
        assert np.isnan([tested["size"], tested["size_error"]]).all()
    same, _ = tables(drawn, np.full((201, 12, 3), 0.1), np.ones((12, 12)))
    assert np.isnan(same["size"]), "all labellings tie"
    lost, _ = tables(drawn, np.full((201, 12, 3), np.nan))
    assert lost["verdict"].values.tolist() == [INCONCLUSIVE] * 3
    assert lost["combined"].isnull().all()
    assert np.isnan(lost["size"])
