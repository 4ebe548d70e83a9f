"""Accuracy without relation heads, beside random heads and control tasks."""

import re

import numpy as np
import pytest
import xarray as xr
from figures.reading import texts_of
from paper_tables import ablation_of

from headcats.base.errors import DataError
from headcats.figures import data
from headcats.papers.ov_relation.relation_curves import CONTROL, RANDOM, RELATION, relation_curves

NAN = np.nan
ACCURACY = np.array([[1.0, 0.5, 0.0, 0.25], [0.8, 0.4, NAN, NAN]])


def by_hand() -> xr.Dataset:
    """Two relations of three heads and one; the first has two controls, and its third random head is missing."""
    random = np.array([[[1, 1, 0.75, NAN], [1, 0.5, 0.25, NAN]], [[0.8, 0.8, NAN, NAN], [0.8, 0.6, NAN, NAN]]])
    control = np.array([[[0.9, 0.9, 0.8, 0.8], [0.7, 0.7, 0.7, 0.6]], np.full((2, 4), 0.5)])
    return ablation_of(ACCURACY, random, control, n_controls=[2, 0], belongs=["Knowledge", "Algorithmic"])


def test_numbers_of_every_curve() -> None:
    frame = data(relation_curves(by_hand()))
    assert frame.task.unique().tolist() == ["relation_1", "relation_0"]  # by category
    first = frame[frame.task == "relation_0"]
    own = first[first.zeroed == RELATION]
    assert own.accuracy.tolist() == [1.0, 0.5, 0.0, 0.25]
    assert own.last_head.tolist() == ["", "L0H0", "L0H1", "L0H2"]
    assert first[first.zeroed == RANDOM].groupby("run").accuracy.count().to_dict() == {"1": 3, "2": 3}
    assert first[first.zeroed == CONTROL].groupby("run").accuracy.last().to_dict() == {"a": 0.8, "b": 0.6}
    second = frame[frame.task == "relation_1"]
    assert second.zeroed.unique().tolist() == [RELATION, RANDOM]
    assert second.k.max() == 1


def test_notes_are_the_numbers_of_the_papers_table() -> None:
    """Read where accuracy first is 0, or without all heads."""
    texts = texts_of(relation_curves(by_hand()))
    numbers = [re.findall(r"\d\.\d\d|\b\d of \d\b", text) for text in texts]
    for expected in (
        ["1.00", "2 of 3", "0.00"],
        ["0.50", "0.25"],
        ["0.80", "0.75"],
        ["0.80", "0.40"],
        ["0.70", "0.10"],
    ):
        assert expected in numbers
    assert "no control task" in texts
    no_others = by_hand().assign(random=by_hand().random * NAN)
    assert any("too few" in text for text in texts_of(relation_curves(no_others)))
    with pytest.raises(DataError, match="relation"):
        relation_curves(by_hand().isel(task=[]))


def test_what_is_drawn() -> None:
    by_name = {}
    for trace in relation_curves(by_hand()).data:
        by_name.setdefault(trace.name, []).append(trace)
    _, first = by_name["random heads, least to most"]
    assert first.y.tolist() == [1, 1, 0.75, 0.25, 0.5, 1]
    assert by_name["random heads"][1].y.tolist() == pytest.approx([1, 0.75, 0.5])
    assert by_name[CONTROL][0].y.tolist() == pytest.approx([0.8, 0.8, 0.75, 0.7])
    assert by_name["a"][0].y.tolist() == [0.9, 0.9, 0.8, 0.8]
    own = by_name[RELATION][1]
    assert own.text.tolist() == ["no head", "L0H0", "L0H1", "L0H2"]
    assert "0.500" in own.hovertext[2]
    assert own.hovertext[3] == ""
