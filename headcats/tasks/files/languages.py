"""The language of a row: what its column says, or the script of its letters."""

import unicodedata
from collections import Counter
from collections.abc import Sequence

COLUMNS = ("language", "lang")
"""Columns that say the language, the preferred one first."""


def script_of(texts: Sequence[str]) -> str:
    """The script of most letters, such as LATIN."""
    joined = "".join(texts)
    if joined.isascii():
        return "LATIN"
    scripts = Counter(unicodedata.name(char, "LATIN").split()[0] for char in joined if char.isalpha())
    return scripts.most_common(1)[0][0] if scripts else "LATIN"


def reasons_to_drop(languages: Sequence[str]) -> list[str]:
    """Of every row, why it is dropped if it is in another language than most; "" keeps it."""
    most = Counter(languages).most_common(1)[0][0] if languages else ""
    return [
        "" if language == most else f"in another language or script ({language}, most are {most})"
        for language in languages
    ]
