"""Knowledge tasks: facts about countries, capitals, animals and chemical elements."""

from functools import partial

from headcats.tasks.definition import table_task

_countries = partial(table_task, ["countries"], category="Knowledge")
_animals = partial(table_task, ["animals"], category="Knowledge")
_elements = partial(table_task, ["elements"], category="Knowledge")

_countries("country_capital", "english", "capital", "The capital: `Paris` for `France`.")
_countries(
    "country_continent",
    "english",
    "continent",
    "The continent: `Europe` for `France` (United Nations geoscheme, the Americas as one).",
)
_countries(
    "country_language",
    "english",
    "language",
    "The language: `French` for `France`; only countries with one clear official or main language.",
)
_countries("country_currency", "english", "currency", "The currency: `euro` for `France`.")
_countries("capital_country", "capital", "english", "The country of a capital: `France` for `Paris`.")
_countries("capital_continent", "capital", "continent", "The continent of a capital: `Europe` for `Paris`.")

_animals("animal_class", "english", "class", "The class: `mammal` for `dog`.")
_animals("animal_young", "english", "young", "The young: `puppy` for `dog`.")

_elements("element_symbol", "english", "symbol", "The chemical symbol: `Fe` for `iron`.")
_elements("element_number", "english", "number", "The atomic number: `26` for `iron`.")
_elements("element_period", "english", "period", "The period of the periodic table: `4` for `iron`.")
