"""Names and other texts of users, as text that is safe to show: nothing in it is obeyed, and nothing is invisible."""

import unicodedata

_MARKS = {"\n": "↵", "\t": "⇥"}
_JOINERS = "\u200c\u200d"
_EMOJI_STYLE = "\ufe0f"
_VIRAMA = 9  # canonical combining class of the marks that join letters in Indic scripts


def visible(text: str, *, keep: str = "") -> str:
    r"""Text in one line: marks for line ends and tabs, escapes such as `\x1b` for what is not printed but obeyed.

    Escaped are control characters, those that turn the direction of writing or have no width, separators of lines and
    paragraphs, lone surrogates, and characters that Unicode does not define. Joiners stay where a script or an emoji
    is made of them.

    Example:
        >>> print(visible("a\nb\x1b[1m"))
        a↵b\x1b[1m
        >>> visible("a\nb", keep="\n")
        'a\nb'
    """
    if text.isprintable():
        return text
    return "".join(
        char
        if _is_plain(text, place) or char in keep
        else _MARKS.get(char) or char.encode("unicode_escape").decode("ascii")
        for place, char in enumerate(text)
    )


def shortened(text: str, *, most: int = 48) -> str:
    """Text that is visible, cut where it has more characters than that."""
    text = visible(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def with_visible_ends(text: str) -> str:
    """`visible` text, such as that of a token, whose spaces at both ends are seen too.

    Example:
        >>> with_visible_ends(" Paris"), with_visible_ends("  ")
        ('␣Paris', '␣␣')
    """
    shown = visible(text)
    bare = shown.strip(" ")
    if not bare:
        return "␣" * len(shown)
    start = shown.index(bare)
    return f"{'␣' * start}{bare}{'␣' * (len(shown) - start - len(bare))}"


def _is_plain(text: str, place: int) -> bool:
    """True if the character there is seen as it is, or is a space, of any script."""
    char = text[place]
    return char.isprintable() or unicodedata.category(char) == "Zs" or (char in _JOINERS and _joins(text, place))


def _joins(text: str, place: int) -> bool:
    """True if the joiner there is part of an emoji, or of a script that is written with joiners."""
    styled = text[place - 1 : place] == _EMOJI_STYLE
    before = text[place - 1 - styled : place - styled] if place > styled else ""
    after = text[place + 1 : place + 2]
    if not before or not after:
        return False
    if unicodedata.category(after) == "So" and unicodedata.category(before) in ("So", "Sk"):
        return True
    arabic = unicodedata.bidirectional(before) == unicodedata.bidirectional(after) == "AL"
    return arabic or unicodedata.combining(before) == _VIRAMA
