"""The suite `relations`: the 20 relations that MAPS scores heads for, in its four categories.

Which relations there are is the paper's choice (Elhelo & Geva 2025, arXiv 2412.11965); the pairs are ours. Words are
short and common: every relation has at least 35 pairs of single tokens of GPT-2. Copying, first letter and last letter
ask about the same words, of which others have a synonym or a past tense, so that in few-shot prompts each can be
another's corruption. The paper's own pairs load from its folder (docs/your_data.md).
"""

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from headcats.base.registry import register
from headcats.prompts.pair import WordPair
from headcats.results.categories import STANDARD_CATEGORIES
from headcats.tasks.definition import merge, table_column, table_pairs, table_task, task
from headcats.tasks.suites import Suite, make_suite
from headcats.tasks.word_relations import TABLES

JOBS, NAMES, PRODUCTS, MORE_WORDS = (
    Path(__file__).parent / "tables" / f"{name}.tsv" for name in ("jobs", "names", "products", "words")
)
WORDS = ("nouns", "animals", "verbs", "adjectives", MORE_WORDS, JOBS)
"""Tables whose English words are copied and spelled."""
YEARS = range(1500, 2101)

_table = partial(table_task, suite="relations")
_algorithmic = partial(task, category="Algorithmic", suite="relations")
_spelled = partial(_algorithmic, source="tables/ nouns, animals, verbs, adjectives, words and jobs.tsv")
_knowledge = partial(task, category="Knowledge", suite="relations")
_linguistic = partial(task, category="Linguistic", suite="relations")
_translated = partial(_table, (*TABLES, MORE_WORDS), category="Translation")
_linguistic_words = partial(_table, [MORE_WORDS], category="Linguistic")


def _words() -> list[str]:
    """English words of the tables in small letters, at least two, each once."""
    columns = [table_column(table, "english") for table in WORDS]
    words = dict.fromkeys(word for column in columns for word in column)
    return [word for word in words if len(word) > 1 and word.isascii() and word.isalpha() and word.islower()]


@_spelled()
def copying(n: int, *, seed: int) -> list[WordPair]:
    """The word itself: `house` for `house`."""
    return [(word, word) for word in _words()]


@_algorithmic(source="tables/names.tsv")
def name_copying(n: int, *, seed: int) -> list[WordPair]:
    """The name itself: `Mary` for `Mary`."""
    return [(name, name) for name in table_column(NAMES, "english")]


@_spelled()
def first_letter(n: int, *, seed: int) -> list[WordPair]:
    """The first letter: `h` for `house`."""
    return [(word, word[0]) for word in _words()]


@_spelled()
def last_letter(n: int, *, seed: int) -> list[WordPair]:
    """The last letter: `e` for `house`."""
    return [(word, word[-1]) for word in _words()]


@_algorithmic(source="the calendar")
def following_year(n: int, *, seed: int) -> list[WordPair]:
    """The year after: `1988` for `1987`."""
    return list(pairwise(map(str, YEARS)))


@_knowledge(source="tables/nouns.tsv and tables/animals.tsv")
def object_superclass(n: int, *, seed: int) -> list[WordPair]:
    """The kind of thing or animal: `fruit` for `apple`, `bird` for `owl`."""
    return merge(*(table_pairs(table, "english", "class") for table in ("nouns", "animals")))


_table(
    [PRODUCTS],
    "product_company",
    "english",
    "company",
    "The company that makes or made it, or owns the brand: `Apple` for `iPhone`.",
    category="Knowledge",
)
_table([JOBS], "work_location", "english", "place", "Where one works: `hospital` for `nurse`.", category="Knowledge")


@_linguistic(source="tables/names.tsv and tables/nouns.tsv")
def noun_pronoun(n: int, *, seed: int) -> list[WordPair]:
    """The pronoun: `she` for `Mary`, `it` for `chair`, `they` for `chairs`."""
    things = [(noun, "it") for noun, kind in table_pairs("nouns", "english", "class") if kind != "person"]
    several = [(plural, "they") for plural in table_column("nouns", "plural")]
    return merge(table_pairs(NAMES, "english", "pronoun"), things, several)


_linguistic_words("compound", "english", "compound", "A word that begins with it: `airport` for `air`.")
_linguistic_words("homophone", "english", "homophone", "A word that sounds the same: `sea` for `see`.")
_linguistic_words("synonym", "english", "synonym", "A word of similar meaning: `quick` for `fast`.")

_translated("english_to_french", "english", "french", "English to French: `maison` for `house`, `le` for `the`.")
_translated("english_to_spanish", "english", "spanish", "English to Spanish: `casa` for `house`, `el` for `the`.")


class MapsRelation(NamedTuple):
    """A relation: its category in the paper, and the task of the suite `relations`."""

    category: str
    task: str


MAPS_RELATIONS = {
    "general_copying_english_500": MapsRelation("Algorithmic", "copying"),
    "name_copying": MapsRelation("Algorithmic", "name_copying"),
    "word_first_letter": MapsRelation("Algorithmic", "first_letter"),
    "word_last_letter": MapsRelation("Algorithmic", "last_letter"),
    "year_to_following": MapsRelation("Algorithmic", "following_year"),
    "country_to_capital_wikidata": MapsRelation("Knowledge", "country_capital"),
    "country_to_official_language_wikidata": MapsRelation("Knowledge", "country_language"),
    "object_superclass": MapsRelation("Knowledge", "object_superclass"),
    "product_by_company": MapsRelation("Knowledge", "product_company"),
    "work_location": MapsRelation("Knowledge", "work_location"),
    "adj_antonym": MapsRelation("Linguistic", "antonym"),
    "adj_comparative": MapsRelation("Linguistic", "comparative"),
    "adj_superlative": MapsRelation("Linguistic", "superlative"),
    "entity_to_pronoun": MapsRelation("Linguistic", "noun_pronoun"),
    "verb_past_tense": MapsRelation("Linguistic", "past_tense"),
    "word_to_compound": MapsRelation("Linguistic", "compound"),
    "word_to_homophone": MapsRelation("Linguistic", "homophone"),
    "word_to_synonym": MapsRelation("Linguistic", "synonym"),
    "english_to_french": MapsRelation("Translation", "english_to_french"),
    "english_to_spanish": MapsRelation("Translation", "english_to_spanish"),
}
"""Folder, whose file has the same name -> relation, in the order of the paper's categories."""


def relations() -> Suite:
    """The 20 relations of MAPS in its four categories, as pairs of short words."""
    names = [relation.task for relation in MAPS_RELATIONS.values()]
    return make_suite(names, name="relations", categories=STANDARD_CATEGORIES, defaults={"model": "gpt2"})


register("suite", "relations", relations)
for _folder, _relation in MAPS_RELATIONS.items():
    register("file_category", _folder, next(each for each in STANDARD_CATEGORIES if each.name == _relation.category))
