"""What the paper and its code chose: every row names a test that is there, and says why where it differs."""

from pathlib import Path

import pytest

from headcats.methods.choices import Choice
from headcats.methods.token_probe.choices import CHOICES

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.what)
def test_every_row_is_pinned_and_explained(choice: Choice) -> None:
    path, name = choice.test.split("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
    assert bool(choice.why) != choice.same
    assert choice.where


def test_names_are_distinct() -> None:
    assert len({choice.what for choice in CHOICES}) == len(CHOICES)
