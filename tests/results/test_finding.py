"""Texts of findings, which are made without torch and print nothing."""

import json
import subprocess
import sys

import pytest
import xarray as xr

from headcats.results.finding import (
    first_names,
    interval_text,
    number_text,
    with_interval,
)

ALONE = """
import importlib, json, pkgutil, sys
import headcats.reports.text
for module in pkgutil.iter_modules(headcats.reports.text.__path__):
    importlib.import_module(f"headcats.reports.text.{module.name}")
print(json.dumps(sorted(name for name in ("torch", "transformer_lens", "circuitsvis", "rich", "typer")
                        if name in sys.modules)))
"""


@pytest.mark.slow
def test_no_module_of_findings_loads_torch_or_can_print():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, check=True, encoding="utf-8")
    assert json.loads(done.stdout) == []


def test_numbers_and_names():
    assert [number_text(value) for value in (float("nan"), -0.001, 0.126)] == ["-", "0.00", "0.13"]
    assert first_names(["a", "b", "c"], 2) == "a, b and 1 more"
    assert first_names(["a", "b"], 2) == "a, b"


def test_intervals_where_there_are_any():
    assert interval_text(0.1, -0.001) == "0.10 to 0.00"
    assert interval_text(None, 1) == interval_text(float("nan"), 1) == number_text(None) == "-"
    cell = xr.Dataset({"size": 3.0, "size_low": 2.0, "size_high": 4.0})
    assert with_interval(cell, "size", digits=1) == "3.0 (2.0 to 4.0)"
    assert with_interval(cell.drop_vars("size_low"), "size") == "3.00"
    assert with_interval(cell.assign(size=float("nan")), "size") == "-"
