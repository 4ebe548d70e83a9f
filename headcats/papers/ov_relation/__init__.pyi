"""Public names of `hc.papers.ov_relation`; `__init__.py` imports each at first use."""

from .ablation import relation_ablation as relation_ablation
from .dynamic import dynamic_relation as dynamic_relation
