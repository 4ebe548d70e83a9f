"""Verdicts: one declared rule, and its own error rate."""

import numpy as np
import pytest
from damages import by_agreement, labellings, tables
from scipy import stats

from headcats.evidence.verdicts import (
    INCONCLUSIVE,
    LEAST_LABELLINGS,
    NOT_SUPPORTED,
    NOTABLE,
    SUPPORTED,
    damaged_more,
    verdict,
)


@pytest.fixture(scope="module")
def drawn():
    return labellings(4, 4, 4)


@pytest.fixture(scope="module")
def supported(drawn):
    return tables(drawn, by_agreement(drawn))


def changed(pair, **values):
    """The verdict on A with some of its numbers replaced."""
    row, damage = (table.sel(category="A").copy(deep=True) for table in pair)
    for name, value in values.items():
        for table in (row, damage):
            if name in table:
                table[name] = value
    return verdict(row, damage)


def test_supported(supported):
    tested, _ = supported
    assert tested["verdict"].values.tolist() == [SUPPORTED] * 3
    # Relabellings that leave one category as it is reach its statistic.
    assert (tested["signature_p"] <= 0.02).all()
    assert (tested["causal_p"] <= 0.02).all()


def test_both_tests_and_the_interval_are_needed(supported):
    assert changed(supported) == SUPPORTED
    assert changed(supported, signature_p=0.0501) == INCONCLUSIVE
    assert changed(supported, causal_p=0.0501) == INCONCLUSIVE
    assert changed(supported, specificity_low=-0.001) == INCONCLUSIVE
    assert changed(supported, specificity_low=np.nan) == INCONCLUSIVE
    assert changed(supported, signature_p=0.05, causal_p=0.05) == SUPPORTED


def test_an_interval_below_what_is_notable_speaks_against_it_and_an_estimate_alone_does_not(supported):
    assert changed(supported, signature=-0.1) == INCONCLUSIVE
    assert changed(supported, causal=0.0) == INCONCLUSIVE
    assert changed(supported, specificity_high=NOTABLE - 1e-6) == NOT_SUPPORTED
    assert changed(supported, specificity_high=NOTABLE, specificity_low=-1.0) == INCONCLUSIVE


@pytest.mark.parametrize("name", ["signature", "causal"])
def test_nothing_is_said_where_nothing_was_tested(supported, name):
    assert changed(supported, **{name: np.nan, "causal_p": 0.01}) == INCONCLUSIVE


def test_nineteen_labellings_are_one_too_few():
    for n, expected in ((LEAST_LABELLINGS - 2, INCONCLUSIVE), (LEAST_LABELLINGS - 1, SUPPORTED)):
        drawn = labellings(4, 4, 4, n=n)
        tested, _ = tables(drawn, by_agreement(drawn))
        assert tested["smallest_p"] == 1 / (n + 1)
        assert set(tested["verdict"].values.tolist()) == {expected}


def test_the_error_rate_is_that_of_the_relabellings_among_themselves(supported, drawn):
    tested, _ = supported
    assert tested["error_rate"] == tested["turn_supported"].mean() <= 0.05
    # A relabelling with the largest maximum by both tests is supported in its turn.
    alike = by_agreement(drawn)[0]
    cosines = 0.8 * (drawn.labels[7][:, None] == drawn.labels[7])
    damages = np.tile(alike * 0 + 0.1, (len(drawn.labels), 1, 1))
    damages[7] += 0.5 * drawn.members[7]
    other, _ = tables(drawn, damages, cosines)
    assert other["turn_supported"].values.nonzero()[0].tolist() == [6]
    assert other["error_rate"] == 1 / 200


def test_the_number_of_tasks_that_would_be_needed(drawn):
    noisy = np.random.default_rng(3).normal(0.3, 0.1, (12, 3)) + 0.05 * drawn.members[0]
    wide, _ = tables(drawn, np.tile(noisy, (201, 1, 1)))
    row = wide.sel(category="A")
    values = row["unit_causal"].values[row["unit_category"].values == "A"]
    ratio = values.mean() / values.std(ddof=1)
    assert row["causal_p"] > 0.05
    needed = row["units_needed"].item()
    for n, enough in ((needed, True), (needed - 1, False)):
        assert (n**0.5 * ratio >= stats.t.ppf(1 - 0.05 / 3, n - 1) + stats.t.ppf(0.8, n - 1)) == enough


def test_no_number_of_tasks_helps_a_statistic_that_points_the_other_way(supported, drawn):
    assert supported[0]["units_needed"].isnull().all()
    against, _ = tables(drawn, by_agreement(drawn, own=0.05, elsewhere=0.3))
    assert against["verdict"].values.tolist() == [NOT_SUPPORTED] * 3
    assert against["units_needed"].isnull().all()


def test_heads_that_matter_more_elsewhere_are_named(supported):
    table = supported[1].copy(deep=True)
    assert damaged_more(table, "A") == []
    for own, elsewhere, named in (
        (0.2, 0.5, True), (0.2, 0.21, False), (0.5, 0.2, False), (-0.3, -0.1, False), (-0.3, 0.01, False),
    ):  # fmt: skip
        table["damage"].loc[{"category": "A"}] = [own, elsewhere, -1.0]
        assert damaged_more(table, "A") == damaged_more(table.sel(category="A"), "A") == ["B"] * named


def test_one_category_or_two_tasks_are_inconclusive():
    for sizes in ((4,), (1, 1), (3, 0)):
        drawn = labellings(*sizes)
        tested, _ = tables(drawn, np.full((1, sum(sizes), len(sizes)), 0.3))
        assert tested["smallest_p"] == 1.0
        assert set(tested["verdict"].values.tolist()) == {INCONCLUSIVE}
        assert np.isnan(tested["error_rate"])


def test_tasks_that_lost_all_their_damage_are_no_verdict(drawn):
    tested, _ = tables(drawn, np.full((201, 12, 3), np.nan))
    assert tested["verdict"].values.tolist() == [INCONCLUSIVE] * 3
    assert tested["causal"].isnull().all()
    assert tested["error_rate"] == 0
