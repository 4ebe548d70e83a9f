"""Texts of users that are shown."""

import pytest

from headcats.results.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\tc", "a↵b␍⇥c"),
        ("\x1b[31m\x07\x9b", r"\x1b[31m\x07\x9b"),
        ("\u202eevil\u200b", r"\u202eevil\u200b"),
        ("[bold]é 首[/] 👩 \\", "[bold]é 首[/] 👩 \\"),
        ("no\u00a0break", r"no\xa0break"),
    ],
)
def test_nothing_is_obeyed_and_nothing_invisible(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown


def test_what_is_kept():
    assert visible("a\n\x1b", keep="\n") == "a\n\\x1b"
