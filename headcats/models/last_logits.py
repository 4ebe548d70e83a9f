"""Logits at the last positions only: those of a whole prompt can be the largest tensor of a forward pass."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headcats.models.hooks import model_class


def keeps_logits(bridge: Any) -> bool:
    """Whether the transformers model in a bridge takes `logits_to_keep`."""
    forward = getattr(getattr(bridge, "original_model", None), "forward", None)
    return forward is not None and "logits_to_keep" in inspect.signature(forward).parameters


@contextmanager
def unembedding_last(model: Any, positions: int) -> Iterator[None]:
    """Make a HookedTransformer unembed its last positions only (a bridge takes `logits_to_keep`); hold the lock."""
    if model_class(model) == "TransformerBridge":
        yield
        return
    handle = model.unembed.register_forward_pre_hook(lambda module, args: (args[0][:, -positions:], *args[1:]))
    try:
        yield
    finally:
        handle.remove()
