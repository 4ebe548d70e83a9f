"""Answers of a command, as text or as one JSON value."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headcats.cli.answer import Answer, plain, put
from headcats.results.finding import line, note, paragraph, table

PLAIN = [
    (None, None),
    (True, True),
    (np.True_, True),
    (3, 3),
    (np.int64(3), 3),
    (0.5, 0.5),
    (np.float32(0.5), 0.5),
    (float("nan"), None),
    (np.float64("inf"), None),
    (np.str_("a"), "a"),
    (Path("a/b"), str(Path("a/b"))),
    (pd.NA, None),
    ((1, [2.0, {"x": np.nan}]), [1, [2.0, {"x": None}]]),
    ({1: "a"}, {"1": "a"}),
    (np.array([[1.0, np.nan]]), [[1.0, None]]),
    (pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["x", "y"]}),
     [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]),
]  # fmt: skip


def test_numbers_stay_numbers_and_missing_ones_are_null():
    for value, expected in PLAIN:
        found = plain(value)
        assert found == expected
        assert type(found) is type(expected)


def test_a_dataset_can_be_read_again():
    data = xr.Dataset({"a": ("x", [1.0, np.nan])}, coords={"x": ["p", "q"]}, attrs={"n": np.int64(2)})
    again = xr.Dataset.from_dict(json.loads(json.dumps(plain(data), allow_nan=False)))
    xr.testing.assert_equal(again.astype({"a": float}), data)


def test_what_json_cannot_hold_is_refused():
    with pytest.raises(TypeError, match="got a function"):
        plain(lambda: None)


def test_any_terminal_can_show_it(capsys):
    put({"a": "é → b"})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == {"a": "é → b"}


def test_an_answer_is_told_or_put_together(capsys):
    findings = [
        line("text.plain", text="one"),
        note("text.plain", text="careful"),
        table("text.plain", ["a"], [["1"]], text="t"),
        paragraph("text.plain", text="two"),
    ]
    for as_json in (False, True):
        answer = Answer(as_json)
        answer.numbers = {"n": np.float64(1.5)}
        answer.say(findings)
        answer.wrote("map", Path("m.html"), "Map: m.html")
        answer.end()
        printed = capsys.readouterr()
        assert printed.err == "Note: careful\n"
        if as_json:
            assert json.loads(printed.out) == {"n": 1.5, "sentences": ["one", "two"], "files": {"map": "m.html"}}
        else:
            assert printed.out.split() == ["one", "t", "a", "━", "1", "two", "Map:", "m.html"]
