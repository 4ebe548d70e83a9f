"""Public names of `hc.evidence`; `__init__.py` imports each at first use."""

from ..sweeps.joint import joint_sweep as joint_sweep
from .comparison.agreement import agreement as agreement
from .comparison.agreement import method_agreement as method_agreement
from .comparison.method_grid import method_scores as method_scores
from .comparison.revisions import over_revisions as over_revisions
