"""Findings with tasks as the unit: differences between categories, sizes by the number of tasks needed."""

import numpy as np
import pytest
import xarray as xr
from reports.by_id import by_id
from reports.text.test_maps import findings, reading_of, results, tables

from headcats.base.errors import StatisticsWarning
from headcats.categories.differences import effect_differences
from headcats.categories.map_tables import with_tests
from headcats.categories.required_tasks import sizes_by_min_tasks
from headcats.reports.text.over_tasks import difference_table, differing_heads, required_tasks


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


def test_sizes_by_number_of_tasks_mark_the_one_of_the_map() -> None:
    tree_of = results()
    found = with_tests(tables(tree_of), reading_of(tree_of))
    shown = by_id(required_tasks(found, reading_of(tree_of)))["map.required_tasks"]
    size = sizes_by_min_tasks(found["scores"])["size"].values
    assert shown.columns == ("tasks needed", "1", "2", "3")
    assert shown.rows == (
        ("Algorithmic", f"{size[0, 0]:.0f}", f"{size[0, 1]:.0f}*", f"{size[0, 2]:.0f}"),
        ("Knowledge", f"{size[1, 0]:.0f}", f"{size[1, 1]:.0f}*", "-"),
    )
    suppressing = by_id(required_tasks(found, reading_of(tree_of, sign="suppressing")))["map.required_tasks"]
    assert [row[2] for row in suppressing.rows] == ["0*", "1*"]
