"""Findings are data, and reading them needs no torch and prints nothing."""

import json
import subprocess
import sys

import pytest

from headcats.reports.text.finding import Table, line, note, paragraph, table

ALONE = """
import importlib, json, pkgutil, sys
import headcats.reports.text
for module in pkgutil.iter_modules(headcats.reports.text.__path__):
    importlib.import_module(f"headcats.reports.text.{module.name}")
print(json.dumps(sorted(name for name in ("torch", "transformer_lens", "circuitsvis", "rich", "typer")
                        if name in sys.modules)))
"""


@pytest.mark.ci
def test_no_module_of_findings_loads_torch_or_can_print():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, check=True, encoding="utf-8")
    assert json.loads(done.stdout) == []


def test_a_table_of_lists_is_one_of_tuples():
    assert table("text.plain", ["a", "b"], [["1", "2"]], numeric=["b"], text="t") == Table(
        "text.plain", {"text": "t"}, columns=("a", "b"), rows=(("1", "2"),), numeric=frozenset({"b"})
    )


def test_findings_differ_by_identifier_fields_and_place():
    assert line("map.reach", text="a") == line("map.reach", text="a")
    assert len({repr(make("map.reach", text="a")) for make in (line, note, paragraph)}) == 3
    assert line("map.reach", text="a") != line("map.reach", text="b")
