"""Tasks to categories, and categories to their overlap."""

from headcats.categories.by_relation import relation_members
from headcats.categories.equal_tasks import subsampled_overlap
from headcats.categories.exact_sets import exact_sets
from headcats.categories.head_list import head_table
from headcats.categories.membership import categorize, numbered_tasks
from headcats.categories.replicates import replicated
from headcats.categories.shared import overlap

__all__ = [
    "categorize",
    "exact_sets",
    "head_table",
    "numbered_tasks",
    "overlap",
    "relation_members",
    "replicated",
    "subsampled_overlap",
]
