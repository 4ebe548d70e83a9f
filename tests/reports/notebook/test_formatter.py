"""Summaries in place of raw datasets, in IPython alone."""

import subprocess
import sys
from types import SimpleNamespace

import IPython
import pytest
import xarray as xr
from figures.examples import scattered_scores
from IPython.core.formatters import DisplayFormatter

from headcats.reports.notebook import show_summaries
from headcats.reports.notebook.summary import summary


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> DisplayFormatter:
    formatter = DisplayFormatter()
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(display_formatter=formatter))
    show_summaries()
    return formatter


def test_a_table_of_headcats_is_shown_as_its_summary(shown: DisplayFormatter) -> None:
    scores = scattered_scores(2, 3)
    bundle, _ = shown.format(scores)
    assert bundle["text/html"] == summary(scores)
    assert "<svg" in bundle["text/html"]
    assert bundle["text/plain"] == repr(scores)


def test_anything_else_is_shown_as_xarray_shows_it(shown: DisplayFormatter) -> None:
    for data in (xr.Dataset({"x": ("y", [1, 2])}), xr.DataTree(xr.Dataset({"x": 1}))):
        html = shown.format(data)[0]["text/html"]
        assert "xr-wrap" in html
        assert "headcats" not in html


def test_outside_ipython_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    show_summaries()


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "import IPython; "], ids=["script", "ipython"])
def test_importing_headcats_imports_nothing_for_it(before: str) -> None:
    heavy = {"plotly", "xarray", "torch", "headcats.figures", "headcats.reports.notebook.summary"}
    code = f"import sys; {before}import headcats; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
