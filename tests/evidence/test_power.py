"""The chance that a category is supported, as it is told before a run."""

import re
from pathlib import Path

import numpy as np
import pytest

from headcats.evidence import power
from headcats.evidence.power import CATEGORIES, CHANCES, ITEMS, SOURCES, chance_of_support, own_sources, power_findings

RECOVERY = Path(__file__).parents[2] / "benchmarks" / "RECOVERY.md"


def test_chances_are_those_that_the_benchmark_wrote():
    section = RECOVERY.read_text(encoding="utf-8").split("<!-- begin recovery power -->")[1].split("<!-- end")[0]
    rows = [re.split(r" *\| *", line.strip("| ")) for line in section.splitlines() if re.match(r"\| \d", line)]
    written = {tuple(map(float, row[:3])): [float(cell) for cell in row[3:]] for row in rows}
    for place, n_categories in enumerate(CATEGORIES):
        for column, items in enumerate(ITEMS):
            assert written[n_categories, items, power.TYPICAL] == CHANCES[place, column].tolist()


def test_a_chance_between_two_of_the_table_lies_between_them():
    assert chance_of_support(SOURCES[1], n_categories=4, n_items=ITEMS[0]) == CHANCES[1, 0, 1]
    assert chance_of_support(SOURCES[-1] + 5, n_categories=9, n_items=1000) == CHANCES[1, 1, -1]
    between = chance_of_support(9, n_categories=3, n_items=32)
    assert between == pytest.approx(CHANCES[:, :, 4:6].mean())


def test_too_few_sources_or_categories_have_no_chance():
    assert chance_of_support(2, n_categories=4, n_items=64) == 0
    assert chance_of_support(15, n_categories=1, n_items=64) == 0
    assert not power_findings({"A": 5}, [16])
    assert not power_findings({"A": 5, "B": 5}, [0, 0])
    assert not power_findings({"A": 5, "B": 5}, [64], inseparable=["A", "B"])
    (said,) = power_findings({"A": 5, "B": 5}, [64], inseparable=["A"])
    assert [each.fields["category"] for each in said.fields["categories"]] == ["B"]


def test_a_source_counts_once_in_each_of_its_categories():
    source_of = {"a": "s", "b": "s", "c": "s", "d": "d", "e": "t", "f": "t"}
    category_of = dict(zip("abcdef", "AABABB", strict=True))
    assert own_sources(source_of, category_of) == {"A": 2, "B": 2}


def test_every_category_is_told_with_its_sources():
    (said,) = power_findings({"A": 3, "B": 10}, [64, 64, 16])
    assert [(each.fields["category"], each.fields["n"]) for each in said.fields["categories"]] == [("A", 3), ("B", 10)]
    assert said.fields["categories"][1].fields["chance"] == said.fields["enough"] == CHANCES[0, 1, 5]
    assert np.diff(CHANCES, axis=2).min() > -0.15  # more sources never cost much, beyond the noise of the simulation
