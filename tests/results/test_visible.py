"""Names and other texts of users are shown: nothing in them is obeyed, and nothing is invisible."""

import unicodedata

from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st

from headcats.results.visible import visible, with_visible_ends


@for_each(
    "text,shown",
    [
        ("a\nb\r\tc", "a↵b\\r⇥c"),
        ("\x1b[31m\x07\x9b\x0c\0", r"\x1b[31m\x07\x9b\x0c\x00"),
        ("\u202eevil\u200b", r"\u202eevil\u200b"),
        ("[bold]é 首[/] 👩 \\", "[bold]é 首[/] 👩 \\"),
        ("no\u00a0break\u3000either", "no\u00a0break\u3000either"),
        ("a\u2028b\ue000\U000e0041\ud800", r"a\u2028b\ue000\U000e0041\ud800"),
        ("a\u200cb \u200dc\u200d", r"a\u200cb \u200dc\u200d"),
    ],
)
def test_nothing_is_obeyed_and_nothing_invisible(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown


@for_each("text", ["👩\u200d🚀", "🏳\ufe0f\u200d🌈", "👩🏽\u200d🚀", "می\u200cخواهم", "क्\u200dष", "क्\u200cष", "שלום"])
def test_joiners_stay_where_a_script_or_an_emoji_needs_them(text):
    assert visible(text) == text


@given(st.text(st.characters()))
def test_any_text_is_one_line_of_characters_that_are_shown(text):
    shown = visible(text)
    assert visible(shown) == shown
    unseen = {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")}
    assert unseen <= set("\u200c\u200d")
    shown.encode("utf-8")


def test_what_is_kept():
    assert visible("a\n\x1b", keep="\n") == "a\n\\x1b"


@for_each("text,shown", [(" Paris", "␣Paris"), ("a b ", "a b␣"), ("  ", "␣␣"), ("", ""), ("\n", "↵"), (" \n", "␣↵")])
def test_spaces_at_the_ends_of_a_token_are_seen(text, shown):
    assert with_visible_ends(text) == shown
