"""Texts of findings, which are made without torch and print nothing."""

import xarray as xr

from headcats.results.finding import first_names, interval_text, number_text, with_interval


def test_numbers_and_names():
    assert [number_text(value) for value in (float("nan"), -0.001, 0.126)] == ["-", "0.00", "0.13"]
    assert first_names(["a", "b", "c"], 2) == "a, b and 1 more"
    assert first_names(["a", "b"], 2) == "a, b"


def test_intervals_where_there_are_any():
    assert interval_text(0.1, -0.001) == "0.10 to 0.00"
    assert interval_text(None, 1) == interval_text(float("nan"), 1) == number_text(None) == "-"
    cell = xr.Dataset({"size": 3.0, "size_low": 2.0, "size_high": 4.0})
    assert with_interval(cell, "size") == "3.00 (2.00 to 4.00)"
    assert with_interval(cell.drop_vars("size_low"), "size") == "3.00"
    assert with_interval(cell.assign(size=float("nan")), "size") == "-"
