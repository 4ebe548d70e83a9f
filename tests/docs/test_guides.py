"""The schema page and the glossary: both are linked, entries are in order."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("your_data", "schema", "glossary", "relabelling")
GUIDES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in NAMES}


@pytest.mark.parametrize("name", GUIDES)
def test_it_is_linked_from_the_readme_and_the_reference(name: str) -> None:
    assert f"(docs/{name}.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f'"{name}"' in (ROOT / "docs" / "reference.py").read_text(encoding="utf-8")


def test_links_between_the_guides_lead_somewhere() -> None:
    targets = [target for text in GUIDES.values() for target in re.findall(r"\]\((\w+)\.md\)", text)]
    assert targets
    assert set(targets) <= set(GUIDES)


def test_entries_of_the_glossary_are_unique_and_sorted() -> None:
    for part in re.split(r"^## .+$", GUIDES["glossary"], flags=re.MULTILINE)[1:]:
        entries = re.findall(r"^\*\*(.+?)\*\*", part, flags=re.MULTILINE)
        assert entries
        assert len(entries) == len(set(entries))
