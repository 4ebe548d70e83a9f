"""Translation tasks: single words between English, French, Spanish and German, over all word tables."""

from functools import partial

from headcats.tasks.definition import table_task

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
