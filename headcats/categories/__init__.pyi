"""Public names of `hc.categories`; `__init__.py` imports each at first use."""

from .by_relation import relation_members as relation_members
from .equal_tasks import subsampled_overlap as subsampled_overlap
from .membership import head_table as head_table
from .replicates import replicated as replicated
