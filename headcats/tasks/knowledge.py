"""Knowledge tasks: facts about countries, capitals, animals and chemical elements."""

from functools import partial

from headcats.tasks.definition import WordPair, table_pairs, task

_countries = partial(task, category="Knowledge", suite="icl", source="tables/countries.tsv")
_animals = partial(task, category="Knowledge", suite="icl", source="tables/animals.tsv")
_elements = partial(task, category="Knowledge", suite="icl", source="tables/elements.tsv")


@_countries()
def country_capital(n: int, *, seed: int) -> list[WordPair]:
    """The capital: `Paris` for `France`."""
    return table_pairs("countries", "english", "capital")


@_countries()
def country_continent(n: int, *, seed: int) -> list[WordPair]:
    """The continent: `Europe` for `France` (United Nations geoscheme, the Americas as one)."""
    return table_pairs("countries", "english", "continent")


@_countries()
def country_language(n: int, *, seed: int) -> list[WordPair]:
    """The language: `French` for `France`; only countries with one clear official or main language."""
    return table_pairs("countries", "english", "language")


@_countries()
def country_currency(n: int, *, seed: int) -> list[WordPair]:
    """The currency: `euro` for `France`."""
    return table_pairs("countries", "english", "currency")


@_countries()
def capital_country(n: int, *, seed: int) -> list[WordPair]:
    """The country of a capital: `France` for `Paris`."""
    return table_pairs("countries", "capital", "english")


@_countries()
def capital_continent(n: int, *, seed: int) -> list[WordPair]:
    """The continent of a capital: `Europe` for `Paris`."""
    return table_pairs("countries", "capital", "continent")


@_animals()
def animal_class(n: int, *, seed: int) -> list[WordPair]:
    """The class: `mammal` for `dog`."""
    return table_pairs("animals", "english", "class")


@_animals()
def animal_young(n: int, *, seed: int) -> list[WordPair]:
    """The young: `puppy` for `dog`."""
    return table_pairs("animals", "english", "young")


@_elements()
def element_symbol(n: int, *, seed: int) -> list[WordPair]:
    """The chemical symbol: `Fe` for `iron`."""
    return table_pairs("elements", "english", "symbol")


@_elements()
def element_number(n: int, *, seed: int) -> list[WordPair]:
    """The atomic number: `26` for `iron`."""
    return table_pairs("elements", "english", "number")


@_elements()
def element_period(n: int, *, seed: int) -> list[WordPair]:
    """The period of the periodic table: `4` for `iron`."""
    return table_pairs("elements", "english", "period")
