"""The code of `output_norm`: how large what a head adds to the residual stream is, task by task."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
import xarray as xr
from einops import einsum

import headcats as hc
from headcats.methods.method import Option, SuiteInputs, encode_answered


class OutputNorm:
    """Mean norm of `z W_O` of every head at the last position of few-shot prompts."""

    name = "output_norm"
    options: ClassVar[dict[str, Option]] = {}

    def parts(self, inputs: SuiteInputs) -> dict[str, tuple[str, ...]]:
        """One part per task; each is saved when it is finished."""
        return {task: (task,) for task in inputs.readable}

    def on_part(self, inputs: SuiteInputs, part: str) -> xr.Dataset:
        """Norms of one task, `norm (task, layer, head)`, NaN for heads that a layer lacks.

        Raises:
            DataError: No prompt can be used; the task is skipped with this message.
        """
        model = inputs.model
        texts = inputs.texts(part, n=inputs.n_prompts, purpose=self.name)
        batches, report = encode_answered(texts, model.tokenizer, n_ctx=model.n_ctx)
        if not batches:
            raise hc.errors.DataError(f"Task {part!r} has no prompt that the model can read: {report}.")
        norms = np.full((1, len(model.layers), model.max_heads), np.nan)
        for row, layer in enumerate(model.layers):
            z = [model.capture(batch.tokens, layers=[layer], first=-1)[1][layer][:, 0] for batch in batches]
            outputs = einsum(
                torch.cat(z), model.W_O(layer), "prompt head d_head, head d_head d_model -> prompt head d_model"
            )
            norms[0, row, : model.n_heads[layer]] = outputs.norm(dim=-1).mean(0).cpu().numpy()
        return xr.Dataset(
            {"norm": (("task", "layer", "head"), norms)},
            coords={
                "task": [part],
                "category": ("task", [inputs.categories[part]]),
                "layer": list(model.layers),
                "head": np.arange(model.max_heads),
            },
            attrs={"provenance": json.dumps({"method": self.name, "seed": inputs.seed})},
        )

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """The tasks, one after another."""
        return xr.concat(list(parts.values()), "task", combine_attrs="override")


def summary(block: xr.Dataset) -> list[str]:
    """Which head writes most, as one sentence.

    Args:
        block: What `output_norm` gives.
    """
    mean: Any = block["norm"].mean("task")
    largest = mean.stack(place=("layer", "head")).idxmax().item()
    return [f"L{largest[0]}H{largest[1]} writes most: its output has a mean norm of {float(mean.max()):.2f}."]
