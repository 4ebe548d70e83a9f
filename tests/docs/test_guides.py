"""The pages by hand: each is in the navigation, links between them lead somewhere, glossary entries are in order."""

import re
from pathlib import Path

from for_each import for_each

ROOT = Path(__file__).parents[2]
GUIDES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
# Made when the site is built.
MADE = re.compile(r"reference/|live/")


@for_each("name", GUIDES)
def test_it_is_in_the_navigation(name: str) -> None:
    assert re.search(rf"[ :]{name}\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)


def test_relative_links_lead_somewhere_in_the_repository_too() -> None:
    texts = [re.sub(r"\$.*?\$", "", text) for text in GUIDES.values()]  # formulas hold brackets
    targets = [target for text in texts for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)]
    assert len(targets) > 50
    assert [link for link in targets if not MADE.match(link) and not (ROOT / "docs" / link).exists()] == []


def test_entries_of_the_glossary_are_unique_and_sorted() -> None:
    for part in re.split(r"^## .+$", GUIDES["glossary"], flags=re.MULTILINE)[1:]:
        entries = re.findall(r"^\*\*(.+?)\*\*", part, flags=re.MULTILINE)
        assert entries
        assert len(entries) == len(set(entries))
