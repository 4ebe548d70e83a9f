"""Public names of `hc.papers.function_vector`; `__init__.py` imports each at first use."""

from .ranking import ranked_heads as ranked_heads
