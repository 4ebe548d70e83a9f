"""Public names of `hc.papers.retrieval_head`; `__init__.py` imports each at first use."""

from .copying import retrieval_scores as retrieval_scores
