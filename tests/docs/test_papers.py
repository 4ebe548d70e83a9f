"""The page of the papers' choices is the one that its rows make, and the tests that it names are there."""

import ast
import re
from pathlib import Path

from papers import PAGE, page

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python docs/scripts/papers.py`"


def test_tests_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)`", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 50
    names = {
        file: {getattr(node, "name", "") for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))}
        for file, _ in named
    }
    assert [(file, test) for file, test in named if not names[file].issuperset(test.split("::"))] == []
