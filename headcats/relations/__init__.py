"""Relations that a head implements by its weights: sources that it maps to their targets."""

from headcats.relations.dynamic import dynamic_relation
from headcats.relations.labels import category_list, joined, labelled
from headcats.relations.pairs import Relation, single_tokens
from headcats.relations.salient import salient_tokens
from headcats.relations.settings import FIRST_MLP, PRESETS, RelationSettings, settings_of
from headcats.relations.static import Counts, relation_counts

__all__ = [
    "FIRST_MLP",
    "PRESETS",
    "Counts",
    "Relation",
    "RelationSettings",
    "category_list",
    "dynamic_relation",
    "joined",
    "labelled",
    "relation_counts",
    "salient_tokens",
    "settings_of",
    "single_tokens",
]
