"""The suite `relations`: the relations of MAPS, with words that tokenizers do not cut."""

import unicodedata
from pathlib import Path

from for_each import for_each

import headcats as hc
from headcats.papers.ov_relation.relations import JOBS, MORE_WORDS, NAMES, PRODUCTS, WORDS
from headcats.tasks.definition import table_column, word_pairs

SUITE = hc.suite("relations")
PAIRS = {task.name: word_pairs(task, seed=0) for task in SUITE.tasks}
ONE_TOKEN = set((Path(__file__).parent / "one_token_words.txt").read_text(encoding="utf-8").splitlines())
"""Those words of the suite that are one token of GPT-2 with a space before them: what its tokenizer gives."""


def test_its_categories_and_sizes():
    counts = {each.name: sum(task.category == each.name for task in SUITE.tasks) for each in SUITE.categories}
    assert counts == {"Algorithmic": 5, "Knowledge": 5, "Linguistic": 8, "Translation": 2}
    assert {task.suite for task in SUITE.tasks} == {"relations", "icl"}
    assert SUITE.source == "relations"


@for_each("name", PAIRS)
def test_enough_pairs_are_single_tokens_of_gpt2(name):
    assert sum(source in ONE_TOKEN and target in ONE_TOKEN for source, target in PAIRS[name]) >= 35


def test_letters_are_those_of_the_word_that_is_copied():
    words = [word for word, _ in PAIRS["copying"]]
    assert PAIRS["first_letter"] == [(word, word[0]) for word in words]
    assert PAIRS["last_letter"] == [(word, word[-1]) for word in words]
    assert {word for table in WORDS for word in table_column(table, "english") if word.isalpha() and len(word) > 1} - {
        word for word in words if word.islower()
    } == set()


def test_years_follow_each_other():
    assert PAIRS["following_year"][0] == ("1500", "1501")
    assert all(int(after) == int(year) + 1 for year, after in PAIRS["following_year"])
    assert len(PAIRS["following_year"]) == 600


def test_a_compound_begins_with_its_word_and_a_homophone_is_another_word():
    assert all(compound.startswith(word) and len(compound) > len(word) for word, compound in PAIRS["compound"])
    homophones = PAIRS["homophone"]
    both_ways = [(word, other) for word, other in homophones if (other, word) in homophones]
    assert len(both_ways) > len(homophones) / 3


def test_pronouns():
    pronouns = dict(PAIRS["noun_pronoun"])
    assert set(pronouns.values()) == {"he", "she", "it", "they"}
    for words, pronoun in (("Mary Emma", "she"), ("John Henry", "he"), ("chair river", "it"), ("chairs kings", "they")):
        assert {pronouns[word] for word in words.split()} == {pronoun}
    assert not {"king", "mother", "friend"} & set(pronouns)


@for_each("name,others", [("copying", 6), ("name_copying", 1), ("work_location", 2)])
def test_tasks_ask_about_the_same_words(name, others):
    """At least twelve of them, so that one can be the other's corruption."""
    sources = {source for source, _ in PAIRS[name]}
    shared = [other for other, pairs in PAIRS.items() if other != name and len(sources & {s for s, _ in pairs}) >= 12]
    assert len(shared) >= others


COLUMNS = {
    "jobs": "english place",
    "names": "english pronoun",
    "products": "english company",
    "words": "english synonym homophone compound french spanish",
}


@for_each("table", [JOBS, NAMES, PRODUCTS, MORE_WORDS])
def test_its_tables(table):
    text = table.read_bytes().decode("utf-8")
    header, *entries = (line.split("\t") for line in text.removesuffix("\n").split("\n"))
    assert header == COLUMNS[table.stem].split()
    assert unicodedata.is_normalized("NFC", text)  # else a tokenizer sees other words
    assert len({row[0] for row in entries}) == len(entries)
    for row in entries:
        assert len(row) == len(header), row
        assert row[0]
        assert all(all(c.isalnum() or c in "-' " for c in cell) for cell in row), row
        assert row == [" ".join(cell.split()) for cell in row]


SPOT_CHECKS = {
    "object_superclass": "dog mammal apple fruit chair furniture",
    "product_company": "iPhone Apple Xbox Microsoft PlayStation Sony Photoshop Adobe Mustang Ford",
    "work_location": "nurse hospital teacher school farmer farm priest church",
    "noun_pronoun": "Mary she John he house it houses they",
    "compound": "air airport base baseball rain rainbow sun sunlight",
    "homophone": "see sea sea see flower flour night knight",
    "synonym": "big large fast quick begin start home house",
    "english_to_french": "house maison the le with avec two deux",
    "english_to_spanish": "house casa the el with con two dos",
}  # fmt: skip


@for_each("name", SPOT_CHECKS)
def test_facts_listed_by_hand(name):
    pairs, words = dict(PAIRS[name]), SPOT_CHECKS[name].split()
    for given, answer in zip(words[::2], words[1::2], strict=True):
        assert pairs[given] == answer, given
