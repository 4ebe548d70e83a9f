"""What findings are, and that reading them needs no torch and prints nothing."""

import json
import subprocess
import sys

import pytest

from headcats.reports.text.table import Note, Paragraph, Table, table

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
    made = table("t", ["a", "b"], [["1", "2"]], numeric=["b"])
    assert made == Table("t", ("a", "b"), (("1", "2"),), frozenset({"b"}))
    assert hash(made), "nothing in it can be changed"


def test_notes_and_paragraphs_are_texts():
    assert Note("a") == Paragraph("a") == "a"
    assert not isinstance(Paragraph("a"), Note)
