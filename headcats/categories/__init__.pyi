"""Public names of `hc.categories`; `__init__.py` imports each at first use."""

from .differences import effect_differences as effect_differences
from .listed import in_both as in_both
from .membership import head_table as head_table
from .shared import sharing as sharing
