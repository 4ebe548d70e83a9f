"""The border: what passes it, what gets a name, and what the command line prints of it."""

import functools
import importlib.metadata
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from for_each import for_each

import headcats as hc
from headcats import cli
from headcats.base import registry
from headcats.base.errors import DataError, ExtensionError, HeadcatsError, OptionError
from headcats.base.guard import Guard, copied, is_built_in, own_traceback, working_on

OWN_METRIC = """
import headcats as hc


def inner(targets):
    return targets.anwser


@hc.metrics.metric
def odds(logits, targets):
    return inner(targets)


suite = ["plural", "antonym"]
"""


def own(value: Any) -> Any:
    """Of this file, so of somebody else."""
    raise value if isinstance(value, BaseException) else ValueError(value)


GUARD = Guard("Metric", "own", own)
LINE = own.__code__.co_firstlineno


def test_the_message_says_what_where_and_on_what() -> None:
    with working_on("task 'plural'"), pytest.raises(ExtensionError) as caught:
        GUARD(own, "two\n  lines")
    place = f"test_guard.py:{LINE}"
    parts = ["Metric 'own'", f"({place})", "raised ValueError", "on task 'plural'", "two lines"]
    assert [part for part in parts if part not in str(caught.value)] == []
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(ExtensionError, match=r"\d\) raised ValueError: x$"):
        GUARD(own, "x")
    assert re.search(rf"'own' \({place}\) .* text; got a int", str(GUARD.refusal("text", 3)))
    with pytest.raises(ExtensionError) as caught:
        GUARD(own, "long " * 1000)
    assert len(str(caught.value)) < 400


PASS = [KeyboardInterrupt(), MemoryError(), torch.OutOfMemoryError("CUDA"), DataError("few"), OptionError("cut")]
PASS.append(RuntimeError("DefaultCPUAllocator: can't allocate memory"))


@for_each("error", PASS)
def test_what_passes_as_it_is(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        GUARD(own, error)
    assert caught.value is error


@for_each(
    "code,expected",
    [
        (hc.metrics.log_prob, True),
        (functools.partial(hc.metrics.log_prob), True),
        (hc.rules.fdr().judge, True),
        (hc.suite("icl").tasks[0].make, True),
        ("headcats.papers.ov_relation.fit:OVRelation", True),
        (own, False),
        (functools.partial(own), False),
        (functools.wraps(hc.metrics.log_prob)(lambda logits, targets: None), False),
        (np.mean, False),
        ("headcats_example.norms:Norms", False),
        (None, False),
    ],
)
def test_what_is_built_in(code: Any, expected: bool) -> None:
    assert is_built_in(code) is expected


def test_built_in_code_gets_no_copy_and_no_other_error() -> None:
    logits = torch.zeros(2, 3)
    assert Guard("Metric", "x", hc.metrics.log_prob)(lambda value: value, logits) is logits
    with pytest.raises(ZeroDivisionError):
        Guard("Metric", "x", hc.metrics.log_prob)(lambda: 1 / 0)


class TestCopies:
    @pytest.mark.parametrize(
        "value",
        [
            np.zeros(3),
            torch.zeros(3),
            pd.Series([0.0, 0.0, 0.0]),
            xr.DataArray([0.0, 0.0, 0.0]),
            [np.zeros(3)],
            {"a": [torch.zeros(3)]},
            (np.zeros(3), "text"),
        ],
        ids=["array", "tensor", "pandas", "xarray", "list", "dict", "tuple"],
    )
    def test_of_what_can_be_written_into(self, value: Any) -> None:
        def first(value: Any) -> Any:
            while isinstance(value, dict | list | tuple):
                value = value["a"] if isinstance(value, dict) else value[0]
            return value

        written = first(copied(value))
        written[0] = 7.0
        assert float(first(value)[0]) == 0.0

    def test_tensors_keep_their_gradient(self) -> None:
        z = torch.zeros(3, requires_grad=True)
        copied(2 * z).sum().backward()
        assert z.grad is not None


def test_a_package_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint("theirs", "no_such_package.metrics", "headcats.metric")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point])
    with pytest.raises(ExtensionError, match=r"'theirs' .* ModuleNotFoundError"):
        registry._import_items.__wrapped__("metric")
    registry.register_later("figure", "theirs", "no_such_package:theirs")
    with pytest.raises(ExtensionError, match="Figure 'theirs'"):
        registry.lookup("figure", "theirs")


def test_the_traceback_begins_in_their_code() -> None:
    @hc.rules.rule
    def own_rule() -> hc.rules.Rule:
        def judge(scores: xr.Dataset) -> xr.DataArray:
            return own("broken")

        return hc.rules.Rule(judge)

    scores = xr.Dataset({"effect": (("task", "layer", "head"), np.zeros((1, 1, 1)))})
    with pytest.raises(ExtensionError) as caught:
        own_rule()(scores)
    lines = own_traceback(caught.value).splitlines()
    files = [re.findall(r'"(.*?)"', line)[0] for line in lines if line.lstrip().startswith("File ")]
    assert [Path(file).name for file in files] == ["test_guard.py", "test_guard.py"]
    assert lines[-1] == "ValueError: broken"
    assert own_traceback(ExtensionError("of no cause")) == ""


def test_the_command_line_prints_the_sentence_and_their_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(OWN_METRIC)
    monkeypatch.chdir(tmp_path)
    command = ["run", "--suite", "mine.py:suite", "--metrics", "odds", "--n-prompts", "4", "--no-attention", "--quiet"]
    monkeypatch.setattr(sys, "argv", ["headcats", *command, "--out", "results"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert "Metric 'odds' (mine.py:9)" in error
    printed = error[error.index("Traceback") :]
    assert printed.count("mine.py") == 2
    assert "in inner" in printed
    assert "headcats/" not in printed
    assert printed.rstrip().splitlines()[-1].startswith("AttributeError:")


def test_an_error_of_headcats_has_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    cli.console.explain(HeadcatsError("short"))
    assert capsys.readouterr().err.strip() == "Error: short"
