"""Linguistic tasks: inflection and word relations of English."""

from functools import partial

from headcats.tasks.definition import table_task

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
