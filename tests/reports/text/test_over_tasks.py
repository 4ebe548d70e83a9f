"""Findings with tasks as the unit: differences between categories, sizes by the number of tasks needed."""

import numpy as np
import pytest
import xarray as xr
from reports.text.test_maps import findings, results, tables

from headcats.base.errors import StatisticsWarning
from headcats.categories.differences import effect_differences
from headcats.reports.text.over_tasks import difference_table, differing_heads


def test_pairs_of_categories_whose_heads_differ_are_named_with_their_number() -> None:
    found = tables(results(tasks=(5, 5)))
    # Head 1 helps Algorithmic alone, head 2 suppresses Knowledge alone.
    said = findings(found)["map.different"]
    assert [pair.fields for pair in said.fields["pairs"]] == [{"category": "Algorithmic", "other": "Knowledge", "n": 2}]
    (shown, _) = difference_table(effect_differences(found["scores"]))
    assert shown.columns == ("", "Algorithmic")
    head_1, head_2 = (effect_differences(found["scores"])["difference"].values[1, 0, 0, head] for head in (1, 2))
    first, second = sorted((f"L0H1 {head_1:+.3f}", f"L0H2 {head_2:+.3f}"), key=lambda text: -abs(float(text[5:])))
    assert shown.rows == (("Knowledge", f"2: {first}, {second}"),)


def test_nothing_differs_and_nothing_can_be_tested() -> None:
    scores = tables(results(tasks=(3, 3)))["scores"]
    alike = scores.assign(effect=xr.full_like(scores["effect"], 0.3) + 0.1 * np.arange(6)[:, None, None])
    tested = effect_differences(alike.assign(category=("task", ["Algorithmic", "Knowledge"] * 3)))
    assert not list(differing_heads(tested))
    (shown, _) = difference_table(tested)
    assert shown.rows == (("Knowledge", "0"),)
    with pytest.warns(StatisticsWarning, match="over tasks"):
        single = effect_differences(scores.isel(task=[0, 3]))
    assert not list(differing_heads(single))
    assert not list(difference_table(single))
