"""The page of the papers' choices is the one that its rows make."""

from papers import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python docs/scripts/papers.py`"
