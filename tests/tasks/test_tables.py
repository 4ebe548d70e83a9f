"""The word tables as files: one format, no word twice, and facts that somebody listed by hand from memory."""

import csv
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st

from headcats import tasks
from headcats.base.errors import UnknownNameError
from headcats.base.registry import lookup
from headcats.tasks.definition import merge, table_pairs

FOLDER = Path(tasks.__file__).parent / "tables"
COLUMNS = {
    "adjectives": "english antonym comparative superlative noun french spanish german",
    "animals": "english plural french spanish german class young",
    "countries": "english capital continent language currency demonym french spanish german",
    "elements": "english symbol number period french spanish german state",
    "nouns": "english plural french spanish german class",
    "verbs": "english past participle gerund third french spanish german",
}


def rows(table):
    with open(FOLDER / f"{table}.tsv", encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_the_tables_there_are():
    assert sorted(path.stem for path in FOLDER.glob("*.tsv")) == sorted(COLUMNS)


@for_each("table", COLUMNS)
def test_one_format(table):
    data = (FOLDER / f"{table}.tsv").read_bytes()
    assert not data.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in data
    assert data.endswith(b"\n")
    assert not data.endswith(b"\n\n")
    text = data.decode("utf-8")
    assert unicodedata.is_normalized("NFC", text)  # else a tokenizer sees other words
    header, *entries = rows(table)
    assert header == COLUMNS[table].split()
    for row in entries:
        assert len(row) == len(header), row
        assert row[0], row
        for cell in row:
            assert cell == " ".join(cell.split()), row
            bad = [c for c in cell if not (c.isalnum() or c in "-' ")]
            assert not bad, f"{cell!r} holds {bad}"


def test_no_english_word_stands_twice():
    """Translation reads all tables together."""
    counts = Counter(row[0] for table in COLUMNS for row in rows(table)[1:])
    assert [word for word, count in counts.items() if count > 1] == []


CLOSED = {
    ("countries", "continent"): {"Africa", "America", "Asia", "Europe", "Oceania"},
    ("animals", "class"): {"mammal", "bird", "fish", "reptile", "amphibian", "insect"},
    ("nouns", "class"): {
        "body", "building", "clothing", "drink", "food", "fruit", "furniture", "landscape", "person", "plant",
        "tableware", "time", "vegetable", "vehicle", "weather",
    },
    ("elements", "state"): {"solid", "liquid", "gas"},
    ("elements", "period"): set("1234567"),
}  # fmt: skip


@for_each("table,column", CLOSED)
def test_columns_with_a_closed_set_of_words(table, column):
    header, *entries = rows(table)
    found = {row[header.index(column)] for row in entries} - {""}
    assert found == CLOSED[table, column]


def test_elements_agree_with_the_periodic_table():
    """The order of the symbols is the atomic number; the noble gases end the periods."""
    symbols = re.findall(
        "[A-Z][a-z]?",
        "HHeLiBeBCNOFNeNaMgAlSiPSClArKCaScTiVCrMnFeCoNiCuZnGaGeAsSeBrKrRbSrYZrNbMoTcRuRhPdAgCdInSnSbTeIXeCsBaLaCePrNd"
        "PmSmEuGdTbDyHoErTmYbLuHfTaWReOsIrPtAuHgTlPbBiPoAtRnFrRaAcThPaUNpPu",
    )
    assert len(symbols) == 94
    header, *entries = rows("elements")
    for row in entries:
        entry = dict(zip(header, row, strict=True))
        number = symbols.index(entry["symbol"]) + 1
        assert entry["number"] == str(number), entry
        assert entry["period"] == str(1 + sum(number > last for last in (2, 10, 18, 36, 54, 86))), entry


SPOT_CHECKS = {
    "country_capital": "Japan Tokyo Egypt Cairo Peru Lima Norway Oslo Kenya Nairobi Portugal Lisbon",
    "country_continent": "Brazil America Nigeria Africa Vietnam Asia Poland Europe Australia Oceania",
    "country_language": "Austria German Mexico Spanish Brazil Portuguese Egypt Arabic",
    "country_currency": "Japan yen India rupee Finland euro Poland zloty",
    "capital_country": "Athens Greece Bangkok Thailand Havana Cuba",
    "capital_continent": "Rome Europe Tokyo Asia Lima America",
    "animal_class": "dog mammal salmon fish frog amphibian eagle bird bee insect snake reptile",
    "animal_young": "dog puppy cat kitten cow calf horse foal",
    "element_symbol": "gold Au iron Fe sodium Na lead Pb tungsten W",
    "element_number": "carbon 6 oxygen 8 uranium 92",
    "element_period": "helium 1 iron 4 gold 6",
    "plural": "child children mouse mice foot feet house houses",
    "past_tense": "go went eat ate write wrote",
    "past_participle": "go gone eat eaten write written",
    "gerund": "run running write writing swim swimming",
    "third_person": "go goes write writes",
    "antonym": "big small hot cold young old",
    "comparative": "good better big bigger happy happier",
    "superlative": "good best big biggest happy happiest",
    "adjective_noun": "long length strong strength deep depth warm warmth",
    "english_french": "house maison dog chien eat manger iron fer Germany Allemagne",
    "english_spanish": "house casa dog perro drink beber gold oro Germany Alemania",
    "english_german": "house Haus dog Hund drink trinken iron Eisen Egypt Ägypten",
    "french_english": "maison house chien dog",
    "french_spanish": "maison casa chien perro",
    "spanish_english": "casa house perro dog",
    "spanish_french": "casa maison perro chien",
    "german_english": "Haus house Hund dog",
    "german_french": "Haus maison Hund chien",
    "next_letter": "a b y z",
    "previous_letter": "b a z y",
    "uppercase": "a A z Z",
    "successor": "9 10 0 1",
    "predecessor": "10 9 1 0",
    "plus_ten": "7 17 89 99",
}  # fmt: skip


@for_each("name", SPOT_CHECKS)
def test_facts_listed_by_hand(name):
    pairs = dict(lookup("task", name).pairs(1024, seed=0))
    words = SPOT_CHECKS[name].split()
    for word, answer in zip(words[::2], words[1::2], strict=True):
        assert pairs[word] == answer, word


def test_pairs_are_two_columns_in_the_order_of_the_rows():
    pairs = table_pairs("countries", "english", "capital")
    assert pairs[:3] == [("France", "Paris"), ("Germany", "Berlin"), ("Spain", "Madrid")]
    assert ("Paris", "France") in table_pairs("countries", "capital", "english")


def test_left_out_are_empty_cells_equal_words_and_inputs_with_two_answers():
    assert merge([("a", "b"), ("", "b"), ("c", ""), ("d", "d")]) == [("a", "b")]
    assert merge([("a", "b"), ("c", "d")], [("a", "e"), ("c", "d")]) == [("c", "d")]


words = st.text("abc", max_size=2)


@given(st.lists(st.lists(st.tuples(words, words)), max_size=3))
def test_merged_pairs_are_a_function_and_nothing_clear_is_lost(lists):
    merged = merge(*lists)
    assert len(dict(merged)) == len(merged)
    flat = [pair for pairs in lists for pair in pairs if all(pair) and pair[0] != pair[1]]
    targets = {}
    for source, target in flat:
        targets.setdefault(source, set()).add(target)
    assert set(merged) == {(source, *found) for source, found in targets.items() if len(found) == 1}


def test_unknown_tables_and_columns_list_what_there_is():
    with pytest.raises(UnknownNameError, match=r"'country'.*'countries'"):
        table_pairs("country", "english", "capital")
    with pytest.raises(UnknownNameError, match=r"'captial' .*'countries'.*'capital'"):
        table_pairs("countries", "english", "captial")
