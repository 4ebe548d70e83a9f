"""Public names of `hc.papers.function_probe`; `__init__.py` imports each at first use."""

from .cogqa_prompts import cogqa_texts as cogqa_texts
from .settings import FunctionProbeSettings as FunctionProbeSettings
