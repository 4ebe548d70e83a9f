"""Translation tasks: single words between English, French, Spanish and German, over all word tables."""

from functools import partial

from headcats.tasks.definition import WordPair, merge, table_pairs, task

TABLES = ("nouns", "animals", "verbs", "adjectives", "countries", "elements")

_words = partial(task, category="Translation", suite="icl", source="all word tables in tables/")


@_words()
def english_french(n: int, *, seed: int) -> list[WordPair]:
    """English to French: `maison` for `house`."""
    return _translations("english", "french")


@_words()
def english_spanish(n: int, *, seed: int) -> list[WordPair]:
    """English to Spanish: `casa` for `house`."""
    return _translations("english", "spanish")


@_words()
def english_german(n: int, *, seed: int) -> list[WordPair]:
    """English to German: `Haus` for `house`."""
    return _translations("english", "german")


@_words()
def french_english(n: int, *, seed: int) -> list[WordPair]:
    """French to English: `house` for `maison`."""
    return _translations("french", "english")


@_words()
def french_spanish(n: int, *, seed: int) -> list[WordPair]:
    """French to Spanish: `casa` for `maison`."""
    return _translations("french", "spanish")


@_words()
def spanish_english(n: int, *, seed: int) -> list[WordPair]:
    """Spanish to English: `house` for `casa`."""
    return _translations("spanish", "english")


@_words()
def spanish_french(n: int, *, seed: int) -> list[WordPair]:
    """Spanish to French: `maison` for `casa`."""
    return _translations("spanish", "french")


@_words()
def german_english(n: int, *, seed: int) -> list[WordPair]:
    """German to English: `house` for `Haus`."""
    return _translations("german", "english")


@_words()
def german_french(n: int, *, seed: int) -> list[WordPair]:
    """German to French: `maison` for `Haus`."""
    return _translations("german", "french")


def _translations(source: str, target: str) -> list[WordPair]:
    return merge(*(table_pairs(table, source, target) for table in TABLES))
