"""Public names of `headcats.figures.panels`; `__init__.py` imports each at first use."""

from ..tables import head_rows as head_rows
from .colour_scale import rising_scale as rising_scale
from .grid import PanelGrid as PanelGrid
from .heads import layer_head_cells as layer_head_cells
from .layout import Panel as Panel
