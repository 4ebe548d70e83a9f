"""The relations of MAPS: the folders of its data, their categories, and the tasks of the suite `relations`.

Elhelo & Geva (2025), arXiv 2412.11965; the folders are those of its repository (`datasets/`).
"""

from typing import NamedTuple


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
