"""Planted truth: counts by hand, and a small study in which strong effects are found and nothing else."""

import math

import numpy as np
import pytest
from recovery_parts import planted
from recovery_parts.generator import Design
from recovery_parts.repeat import repeat
from recovery_parts.worlds import World

pytestmark = pytest.mark.ci

POINT = planted.Point(
    effect=0.3,
    design=Design(categories=3, tasks=3, layers=4, heads=6, prompts=64, items=(25, 30), sd=0.1),
    world=World(own=2, two=2, three=1, mixed=1),
    rules=(planted.STRICT, "elbow()"),
)


def test_counts_by_hand():
    # Heads: a member found; a shared one with one category too many; one missed; a suppressor called helping.
    truly_helping = np.array([[1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)
    truly_suppressing = np.array([[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    helping = np.array([[1, 1, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]], dtype=bool)
    suppressing = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]], dtype=bool)
    assert planted.compare(helping, suppressing, truly_helping, truly_suppressing) == {
        "true": 4, "called": 5, "hits": 3,
        "suppressing_true": 1, "suppressing_called": 3, "suppressing_hits": 1,
        "shared": 1, "right": 0, "wrong_sign": 2,
    }  # fmt: skip
    right = planted.compare(truly_helping, suppressing, truly_helping, truly_suppressing)
    assert (right["right"], right["wrong_sign"]) == (1, 1)


def test_shares_by_hand():
    names = ("true", "called", "hits", "suppressing_true", "suppressing_called", "suppressing_hits")
    studies = [(4, 4, 3, 0, 0, 0), (4, 0, 0, 0, 2, 0), (4, 2, 2, 0, 0, 0)]
    found = [
        {("rule", "1"): dict(zip(names, numbers, strict=True)) | {"shared": 2, "right": right, "wrong_sign": 0}}
        for numbers, right in zip(studies, (2, 0, 1), strict=True)
    ]
    (row,) = planted.rows(POINT, found)
    assert row["false_share"] == pytest.approx(np.mean([0.25, 0.0, 0.0]))  # nothing called: no false share
    assert row["false_share_error"] == pytest.approx(np.std([0.25, 0, 0], ddof=1) / math.sqrt(3))
    assert (row["precision"], row["recall"], row["right_set"]) == pytest.approx((5 / 6, 5 / 12, 0.5))
    assert row["suppressing_false_share"] == pytest.approx(1 / 3)
    assert row["suppressing_precision"] == 0.0
    assert math.isnan(row["suppressing_recall"])  # nothing to find is not nothing found


def test_strong_effects_are_found_with_their_signs_and_sets():
    found = repeat(planted.measure_of(POINT), repetitions=4, processes=1, seed=0, name="strong", note=lambda text: None)
    rows = {(row["rule"], row["min_tasks"]): row for row in planted.rows(POINT, found)}
    assert len(rows) == 2 * 3
    for (rule, min_tasks), row in rows.items():
        if rule == planted.STRICT:
            assert row["recall"] >= 0.95
            assert row["suppressing_recall"] >= 0.95
            assert row["wrong_sign"] == 0
            assert row["false_share"] <= 0.1
            assert row["right_set"] >= 0.9
        elif min_tasks == "1":
            assert row["false_share"] > 0.1  # the elbow returns heads for noise, and the benchmark shows it
    # Heads that matter in single tasks are members for one task, and only for that.
    of_all = 3 * 2 + 2 * 2 + 3 + 1
    assert [rows[planted.STRICT, m]["true"] for m in ("1", "half", "n")] == [of_all + 6, of_all, of_all]
