"""Nothing planted, nothing found; and the same test fails where the analysis ignores that prompts share items."""

import numpy as np
import pytest
from recovery_parts import null
from recovery_parts.generator import Design
from recovery_parts.repeat import repeat
from scipy import stats

pytestmark = pytest.mark.ci

SMALL = Design(categories=2, tasks=2, layers=3, heads=4, prompts=64, items=(15, 18))


def bound(repetitions: int) -> int:
    """At .07 per study, more are called once in a thousand runs of this test."""
    return int(stats.binom.ppf(0.999, repetitions, 0.07))


def rows_of(setting: null.Setting, repetitions: int) -> dict[str, dict]:
    found = repeat(
        null.measure_of(setting, SMALL),
        repetitions=repetitions,
        processes=1,
        seed=0,
        name="null",
        note=lambda text: None,
    )
    return {row["min_tasks"]: row for row in null.rows(setting, found)}


@pytest.mark.parametrize(("setting", "repetitions"), [(null.SETTINGS[0], 40), (null.SETTINGS[1], 10)])
def test_rarely_anything_is_called_where_nothing_is(setting, repetitions):
    assert setting.items_known
    for row in rows_of(setting, repetitions).values():
        assert round(row["helping"] * repetitions) <= bound(repetitions)
        assert round(row["suppressing"] * repetitions) <= bound(repetitions)
        assert max(row["helping"], row["suppressing"]) <= row["either"] <= row["helping"] + row["suppressing"]


def test_the_null_fails_where_items_are_hidden():
    setting = null.SETTINGS[2]
    assert not setting.items_known
    rows = rows_of(setting, 12)
    assert round(rows["1"]["either"] * 12) > bound(12)


def test_rows_count_studies_and_not_memberships():
    found = [{"1": (5, 0)}, {"1": (0, 0)}, {"1": (1, 2)}, {"1": (0, 0)}]
    (row,) = null.rows(null.SETTINGS[0], found)
    assert (row["helping"], row["suppressing"], row["either"], row["repetitions"]) == (0.5, 0.25, 0.5, 4)


@pytest.mark.parametrize(("hits", "n"), [(0, 40), (3, 40), (50, 1000), (40, 40)])
def test_wilson_interval(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(null.wilson(hits, n), [expected.low, expected.high], atol=1e-4)
