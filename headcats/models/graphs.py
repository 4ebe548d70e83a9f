"""Forward passes of which gradients are taken: nothing of them stays behind, and what they keep can be counted."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch
from torch import Tensor

from headcats.models.adapter import HookedModel


@contextmanager
def leaving_no_graph(model: HookedModel) -> Iterator[None]:
    """Gradients can be taken, whatever the caller has switched off, and none of their graphs stays behind."""
    # The bridge keeps the attention of its last run, and so the graph behind it: then that of a short run.
    clear = functools.partial(model.run, torch.zeros(1, 1, dtype=torch.long), hooks={})
    with torch.inference_mode(False):
        try:
            yield
        except BaseException:
            with suppress(RuntimeError):  # it must not take the place of the first error
                clear()
            raise
        clear()


@contextmanager
def counting_kept(model: HookedModel) -> Iterator[dict[int, int]]:
    """Memory that forward passes save for their backward passes: address -> bytes, without the model's weights.

    Do not run the backward passes: counting hides in-place changes of saved tensors.
    """
    weights = {weight.untyped_storage().data_ptr() for weight in model.model.parameters()}
    sizes: dict[int, int] = {}

    def note(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        if storage.data_ptr() not in weights:
            sizes[storage.data_ptr()] = storage.nbytes()
        return saved.detach()

    with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
        yield sizes
