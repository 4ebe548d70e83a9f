"""Attention of the last token to roles, against the attentions of transformers."""

from typing import Any

import numpy as np
import pytest
import torch
from batches import random_role_batch, role_batch
from counting import SUITE
from toy_cases import TOYS
from toys import random_tokens, tiny_model

import headcats as hc
from headcats.base.errors import DataError, ModelError
from headcats.models import patterns
from headcats.papers.token_probe.role_attention import attention_by_role


@pytest.mark.parametrize(("layout", "backend"), TOYS)
def test_attention_of_prompts_is_that_of_transformers(layout: Any, backend: Any) -> None:
    toy = tiny_model(layout, backend, n_layers=2)
    labels = ("bos", "x1[0/2]", "x1[1/2]", "y1", "x_query", "last")
    batch = role_batch(random_tokens(12, 6).tolist(), [labels] * 12)
    found = attention_by_role(toy.model, batch)
    with torch.no_grad():
        patterns = toy.oracle(batch.clean, output_attentions=True).attentions
    for layer, pattern in enumerate(patterns):
        row = pattern[:, :, -1].mean(0)  # head, pos
        expected = torch.stack([row[:, 0], row[:, 1] + row[:, 2], row[:, 3], row[:, 4], row[:, 5]], -1)
        assert np.abs(found.attention_by_head.sel(layer=layer).values - expected.numpy()).max() < 1e-5
        assert np.abs(found.attention.sel(layer=layer).values - expected.mean(0).numpy()).max() < 1e-5
    assert abs(found.attention.sum("role") - 1).max() < 1e-6
    assert set(found.data_vars) == {"attention", "attention_by_head", "n"}
    assert found.left_out == ""


@pytest.mark.usefixtures("unchecked_types")
def test_what_is_refused(counting_model, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = random_role_batch()
    with pytest.raises(DataError, match="one role"):
        attention_by_role(counting_model, batch, roles=[])
    for batches, came in (([], "none"), ([batch, "a question"], "PromptBatch and str")):
        with pytest.raises(DataError, match=f"got {came}"):
            attention_by_role(counting_model, batches)
    monkeypatch.setattr(patterns, "hook_pattern", lambda layer: f"blocks.{layer}.attn.hook_nothing")
    with pytest.raises(ModelError, match="hook_nothing"):
        attention_by_role(counting_model, batch)


def test_prompts_of_a_task_have_roles(counting_model):
    batch, *_ = hc.task_prompts(counting_model, "always_a", suite=SUITE, n_prompts=8, n_demos=2)
    assert {"y1", "x_query"} <= set(attention_by_role(counting_model, batch)["role"].values.tolist())
    assert hc.papers.token_probe.patching_by_role(counting_model, batch, roles=["y1", "x_query"]).sizes["role"] == 2
