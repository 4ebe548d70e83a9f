"""Ways to score a head, one file each; every file of this package is discovered, and its methods become attributes.

A study names them: `hc.run(model, methods=["denoising_patch", "mean_ablation@last"])`. Each is a plain function, too:
`hc.methods.denoising_patch` is the method, not the module of the same name.

## Replace one head

In the corrupted run `denoising_patch` puts the clean output of a head, in the clean run `noising_patch` the corrupted
one. `mean_ablation`, `resample_ablation` and `zero_ablation` take away what a head says. `function_vector_patch` puts
what a head says of the task on average. Controls of the denoising patch are `second_corruption_patch`, which shows how
much of its effect is "the wrong task is gone", and `other_item_patch`, which shows how much is not about the item.
`attribution_patch` is its first-order approximation.

## Judge heads over all tasks at once

`ov_relation` reads weights, `head_gating` fits gates, `function_probe` classifies outputs; `token_probe` is about the
tokens of a layer, not about heads.

## Add one

`causal_method` makes a method, a `CausalMethod`, of one expression; `declare` registers any other by its `Declaration`
(and the `Strength` of a head in its blocks).
"""

import importlib
import pkgutil
from typing import Any

from headcats import registry
from headcats.errors import UnknownNameError
from headcats.methods.causal import CausalMethod, causal_method
from headcats.methods.lazy import declare
from headcats.results.declaration import Declaration, Strength

_public, _names = registry.public_names(__name__, __file__)
__all__ = ["CausalMethod", "Declaration", "Strength", "causal_method", "declare", *_names]  # noqa: PLE0604

# Packages of other authors are not loaded here, so that a finished run is read without them.
for _module in pkgutil.iter_modules(__path__):
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
