"""Ways to score a head, one file each; every file of this package is discovered, and its methods become attributes.

`hc.methods.denoising_patch` is the method, not the module of the same name.
"""

import importlib
import pkgutil
from typing import Any

from headcats import registry
from headcats.errors import UnknownNameError
from headcats.methods.causal import CausalMethod, causal_method

__all__ = ["CausalMethod", "causal_method"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
for _name in registry.names("method"):
    globals()[_name] = registry.lookup("method", _name)
    __all__.append(_name)


def __getattr__(name: str) -> Any:
    """A method registered later, in a notebook or by another package."""
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return registry.lookup("method", name)
    except UnknownNameError as problem:
        raise AttributeError(str(problem)) from None


def __dir__() -> list[str]:
    return sorted({*__all__, *registry.names("method")})
