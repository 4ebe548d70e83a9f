"""Linguistic tasks: inflection and word relations of English."""

from functools import partial

from headcats.tasks.definition import WordPair, merge, table_pairs, task

_nouns = partial(task, category="Linguistic", suite="icl", source="tables/nouns.tsv and tables/animals.tsv")
_verbs = partial(task, category="Linguistic", suite="icl", source="tables/verbs.tsv")
_adjectives = partial(task, category="Linguistic", suite="icl", source="tables/adjectives.tsv")


@_nouns()
def plural(n: int, *, seed: int) -> list[WordPair]:
    """The plural: `houses` for `house`."""
    return merge(table_pairs("nouns", "english", "plural"), table_pairs("animals", "english", "plural"))


@_verbs()
def past_tense(n: int, *, seed: int) -> list[WordPair]:
    """The past tense: `went` for `go`."""
    return table_pairs("verbs", "english", "past")


@_verbs()
def past_participle(n: int, *, seed: int) -> list[WordPair]:
    """The past participle: `gone` for `go`."""
    return table_pairs("verbs", "english", "participle")


@_verbs()
def gerund(n: int, *, seed: int) -> list[WordPair]:
    """The gerund: `going` for `go`."""
    return table_pairs("verbs", "english", "gerund")


@_verbs()
def third_person(n: int, *, seed: int) -> list[WordPair]:
    """The third person singular: `goes` for `go`."""
    return table_pairs("verbs", "english", "third")


@_adjectives()
def antonym(n: int, *, seed: int) -> list[WordPair]:
    """The opposite: `small` for `big`."""
    return table_pairs("adjectives", "english", "antonym")


@_adjectives()
def comparative(n: int, *, seed: int) -> list[WordPair]:
    """The comparative: `bigger` for `big`."""
    return table_pairs("adjectives", "english", "comparative")


@_adjectives()
def superlative(n: int, *, seed: int) -> list[WordPair]:
    """The superlative: `biggest` for `big`."""
    return table_pairs("adjectives", "english", "superlative")


@_adjectives()
def adjective_noun(n: int, *, seed: int) -> list[WordPair]:
    """The abstract noun: `length` for `long`."""
    return table_pairs("adjectives", "english", "noun")
