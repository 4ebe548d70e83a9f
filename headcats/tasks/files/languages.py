"""Rows of a file in another language, or another script, than most."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from headcats.tasks.files.question_layouts import as_text

FIELDS = ("language", "lang")
"""Fields that name the language of a row."""
# Japanese mixes them: which one most letters have differs from row to row.
_EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA")


def language_of(row: Mapping[str, Any], texts: Sequence[str]) -> str:
    """The language that a row names, else the script of most letters of its texts, such as LATIN; "" without any."""
    return next(filter(None, (as_text(row.get(name)) for name in FIELDS)), "") or _script("".join(texts))


def other_languages(languages: Sequence[str]) -> dict[int, str]:
    """Place of a row in another language than most -> why it is dropped; a row without one fits any."""
    counts = Counter(filter(None, languages))
    most = counts.most_common(1)[0][0] if counts else ""
    return {
        place: f"in another language or script ({language}, most are {most})"
        for place, language in enumerate(languages)
        if language not in ("", most)
    }


def _script(text: str) -> str:
    letters = filter(str.isalpha, text)
    if text.isascii():
        return "LATIN" if any(letters) else ""
    scripts = Counter(unicodedata.name(letter, "LATIN").split()[0].split("-")[0] for letter in letters)
    if not scripts:
        return ""
    script = scripts.most_common(1)[0][0]
    return "CJK" if script in _EAST_ASIAN else script
