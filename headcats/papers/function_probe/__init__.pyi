"""Public names of `hc.papers.function_probe`; `__init__.py` imports each at first use."""

from .settings import FunctionProbeSettings as FunctionProbeSettings
