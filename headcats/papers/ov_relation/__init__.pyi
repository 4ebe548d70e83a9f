"""Public names of `hc.papers.ov_relation`; `__init__.py` imports each at first use."""

from .dynamic import dynamic_relation as dynamic_relation
