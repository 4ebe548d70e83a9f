"""One folder a paper: its method, figures, presets, suites and file readers. Files beside them serve several papers.

Each comes in by the entry points of headcats, as the package of somebody else does: the core imports none of them. A
method is `hc.methods.<name>`; what else a paper has is in `hc.papers.<paper>`.
"""

from headcats.base.registry import public_names

__getattr__, __all__, __dir__ = public_names(__name__, __file__)
