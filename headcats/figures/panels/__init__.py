"""From panels and marks to a plotly figure: axes, ticks, legends, letters, hatching, hover, sizes and wrapping.

Public for figures of other packages are the names of `__init__.pyi`.
"""

from headcats.base.registry import public_names

__getattr__, __all__, __dir__ = public_names(__name__, __file__)
