"""Memberships by relations: the paper's rule, the calibrated threshold, and what overlap and figures make of them."""

import json
import warnings

import numpy as np
import xarray as xr

import headcats as hc
from headcats.base.errors import StatisticsWarning

CATEGORIES = [
    {"name": name, "colour": colour} for name, colour in (("A", "#1f77b4"), ("B", "#ff7f0e"), ("C", "#2ca02c"))
]


def relations(**replaced):
    """Two relations of A, one of B, none of C; 2 layers of 2 heads, of which the last is missing."""
    score = np.array([[[0.5, 0.16], [0.0, np.nan]], [[0.1, 0.3], [0.15, np.nan]], [[0.0, 0.9], [0.14, np.nan]]])
    suppression = np.zeros_like(score)
    suppression[2, 1, 0] = 0.4
    suppression[:, 1, 1] = np.nan
    made = xr.Dataset(
        {
            "score": (("task", "layer", "head"), score),
            "suppression": (("task", "layer", "head"), suppression),
            "threshold": ("task", [0.15, 0.2, 0.15]),
            "suppression_threshold": ("task", [0.15, 0.15, 0.45]),
            "n": ("task", [40, 30, 50]),
        },
        coords={
            "task": ["one", "two", "three"],
            "category": ("task", ["A", "A", "B"]),
            "layer": [0, 1],
            "head": [0, 1],
        },
        attrs={"method": "ov_relation", "categories": json.dumps(CATEGORIES)},
    )
    return made.assign(replaced)


def members(rule=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        return hc.categorize(relations(), rule=rule)


def test_one_relation_makes_a_member():
    found = members()
    assert found.category.values.tolist() == ["A", "B", "C"]
    assert found.member.sel(category="A").values.tolist() == [[1, 1], [-1, 0]]  # .15 of `two` is below its null
    assert found.member.sel(category="B").values.tolist() == [[-1, 1], [-1, 0]]
    assert found.member.sel(category="C").values.tolist() == [[0, 0], [0, 0]]
    assert found.tasks.sel(category="A").values.tolist() == [["one", "one,two"], ["", ""]]
    assert found["size"].values.tolist() == [2, 1, 0]
    assert found.n_tasks.values.tolist() == [2, 1, 0]
    assert found.min_tasks.values.tolist() == [1, 1, 0]
    assert found.n_items.values.tolist() == [30, 50, 0]


def test_suppressing_heads_have_a_null_of_their_own_and_a_negative_effect():
    found = members()
    assert (found.suppressing != 1).all()  # .4 is below the null of .45
    effect = found.suppressing_effect.sel(category="B").values
    assert effect[1, 0] == -0.4
    assert np.isnan(effect[1, 1])
    assert found.effect.sel(category="A").values[0].tolist() == [0.5, 0.3]
    assert found.effect.sel(category="C").isnull().all()


def test_overlap_figures_and_head_table_take_them():
    found = members(hc.rules.threshold(value=0.15))
    overlap = hc.overlap(found)
    assert overlap["set"].values.tolist() == [["A", "A+B"], ["A", ""]]
    assert overlap.observed.values.tolist() == [2, 1, 0]
    table = hc.categories.head_table(found)
    assert table[table.kind == "helping"][["head", "category"]].values.tolist() == [
        ["L0H0", "A"],
        ["L0H1", "A"],
        ["L1H0", "A"],
        ["L0H1", "B"],
    ]
    figure = hc.figures.overlap_map(overlap)
    shown = hc.figures.data(figure)
    assert set(shown[(shown.panel == "A") & (shown.outcome == "in")].name) == {"L0H0", "L0H1", "L1H0"}
    assert shown[shown.panel == "C"].outcome.unique().tolist() == ["no value"]
    assert hc.overlap(found, sign="suppressing")["set"].values.tolist() == [["", ""], ["B", ""]]
