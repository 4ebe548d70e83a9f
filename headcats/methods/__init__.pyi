"""Public names of `hc.methods`; `__init__.py` imports each at first use."""

from ..prompts.answered import AnsweredText as AnsweredText
from .causal import Sources as Sources
from .presets import add_preset as add_preset
from .presets import preset as preset
