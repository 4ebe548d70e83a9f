"""Tasks of the word tables: facts, inflection and word relations of English, and translation of single words."""

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


_nouns = partial(table_task, ["nouns", "animals"], category="Linguistic")
_verbs = partial(table_task, ["verbs"], category="Linguistic")
_adjectives = partial(table_task, ["adjectives"], category="Linguistic")

_nouns("plural", "english", "plural", "The plural: `houses` for `house`.")

_verbs("past_tense", "english", "past", "The past tense: `went` for `go`.")
_verbs("past_participle", "english", "participle", "The past participle: `gone` for `go`.")
_verbs("gerund", "english", "gerund", "The gerund: `going` for `go`.")
_verbs("third_person", "english", "third", "The third person singular: `goes` for `go`.")

_adjectives("antonym", "english", "antonym", "The opposite: `small` for `big`.")
_adjectives("comparative", "english", "comparative", "The comparative: `bigger` for `big`.")
_adjectives("superlative", "english", "superlative", "The superlative: `biggest` for `big`.")
_adjectives("adjective_noun", "english", "noun", "The abstract noun: `length` for `long`.")


TABLES = ("nouns", "animals", "verbs", "adjectives", "countries", "elements")
_words = partial(table_task, TABLES, category="Translation")

_words("english_french", "english", "french", "English to French: `maison` for `house`.")
_words("english_spanish", "english", "spanish", "English to Spanish: `casa` for `house`.")
_words("english_german", "english", "german", "English to German: `Haus` for `house`.")
_words("french_english", "french", "english", "French to English: `house` for `maison`.")
_words("french_spanish", "french", "spanish", "French to Spanish: `casa` for `maison`.")
_words("spanish_english", "spanish", "english", "Spanish to English: `house` for `casa`.")
_words("spanish_french", "spanish", "french", "Spanish to French: `maison` for `casa`.")
_words("german_english", "german", "english", "German to English: `house` for `Haus`.")
_words("german_french", "german", "french", "German to French: `maison` for `Haus`.")
