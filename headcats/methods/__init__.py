"""Methods that score heads; all are discovered and become attributes of this package.

A study names them, `hc.run(model, methods=["denoising_patch", "mean_ablation@last"])`, and each is also a plain
function, `hc.methods.denoising_patch`.

## Replace one head

`denoising_patch` puts the clean output of a head into the corrupted run, `noising_patch` the corrupted one into the
clean run. `mean_ablation`, `resample_ablation` and `zero_ablation` remove a head's output. Controls of the denoising
patch are `second_corruption_patch`, for the part of its effect that comes from removing the wrong task, and
`other_item_patch`, for the part that is not about the item.

## Joint methods: score heads over all tasks at once

They read weights, fit gates or train probes; those of papers are in `headcats.papers`, and are attributes here as well.

## Add one

`causal_method` makes a method of one expression in the `Sources` of a layer; `declare` registers any other by its
`Declaration` (with the `Strength` of a head in its blocks, and the `Selection` that sorts heads into categories).
`add_preset` registers a preset.
"""

import importlib
import pkgutil
from typing import Any

from headcats.base import registry
from headcats.base.errors import UnknownNameError
from headcats.methods.causal import causal_method
from headcats.methods.lazy import declare
from headcats.results.declaration import Declaration, Selection, Strength

_public, _names, _ = registry.public_names(__name__, __file__)
__all__ = ["Declaration", "Selection", "Strength", "causal_method", "declare", *_names]  # noqa: PLE0604

# Packages of other authors are not loaded here, so that a finished run is read without them.
for _module in pkgutil.iter_modules(__path__):
    if _module.name == "method":  # which reads torch, and holds none
        continue
    for _name, _method in list(vars(importlib.import_module(f"{__name__}.{_module.name}")).items()):
        if isinstance(getattr(_method, "declaration", None), Declaration):
            globals()[_name] = _method
            __all__.append(_name)


def __getattr__(name: str) -> Any:
    """A name of the stub, or a method registered later, in a notebook or by another package."""
    if name in _names:
        return _public(name)
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return registry.lookup("method", name)
    except UnknownNameError as problem:
        raise AttributeError(str(problem)) from None


def __dir__() -> list[str]:
    return sorted({*__all__, *registry.names("method")})
