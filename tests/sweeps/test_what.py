"""Queries, keys, values and patterns as what is replaced: TransformerLens' own patching, and hooks of the model."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from architectures import tiny_bridge
from batches import random_batch
from toys import Toy

import headcats as hc
from headcats.base.errors import DataError, OptionError
from headcats.prompts.batch import PromptBatch

PARTS = ["q", "k", "v", "pattern"]


def denoising(what: Any, positions: str = "all") -> hc.Intervention:
    return hc.Intervention(f"{what}_patch", "corrupted", lambda z: z.clean, positions=positions, what=what)


@pytest.mark.needs_tl4("PatchingResult")
@pytest.mark.parametrize("what", PARTS)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_equals_the_patching_of_transformer_lens(name: str, what: str) -> None:
    from transformer_lens import patching

    model, batch = tiny_bridge(name), random_batch(3, 6)

    def logit_diff(logits: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(len(logits))
        return logits[rows, -1, batch.answer] - logits[rows, -1, batch.distractor]

    with torch.no_grad():
        _, cache = model.run_with_cache(batch.clean)
        patch = getattr(patching, f"get_act_patch_attn_head_{what}_all_pos")
        expected = patch(model, batch.corrupted, cache, logit_diff, reduce="none", baseline=True)
    ours = hc.sweep(model, batch, denoising(what))
    assert (ours.attrs["path"], ours.attrs["what"]) == ("hooked", what)
    values = np.moveaxis(np.asarray(expected.values), -1, 0)  # [layer, head, prompt]
    if values.shape[-1] < ours.sizes["head"]:  # keys and values that several heads share
        values = values.repeat(ours.sizes["head"] // values.shape[-1], axis=-1)
    np.testing.assert_allclose(ours.patched[0].values, values, atol=1e-5)
    assert np.ptp(values) > 1e-3


@pytest.mark.parametrize("what", PARTS)
def test_several_heads_at_the_last_position_equal_hooks_of_the_model(each_toy: Toy, what: str) -> None:
    model, batch = each_toy.model, random_batch(3, 6)
    table = hc.evidence.joint_sweep(model, batch, denoising(what, "last"), [["L0H1", "L1H2"]])
    with torch.no_grad():
        _, cache = model.run_with_cache(batch.clean)

    def edit(value: torch.Tensor, hook: Any, *, layer: int, head: int) -> torch.Tensor:
        clean = cache[f"blocks.{layer}.attn.hook_{what}"]
        shared = value.shape[2] if what in ("k", "v") else 4
        place = head * shared // 4
        index = (slice(None), place, -1) if what == "pattern" else (slice(None), -1, place)
        value = value.clone()
        value[index] = clean[index]
        return value

    from functools import partial

    hooks = [
        (f"blocks.{layer}.attn.hook_{what}", partial(edit, layer=layer, head=head)) for layer, head in ((0, 1), (1, 2))
    ]
    with torch.no_grad():
        logits = model.run_with_hooks(batch.corrupted, fwd_hooks=hooks)[:, -1]
    rows = torch.arange(3)
    expected = logits[rows, batch.answer] - logits[rows, batch.distractor]
    np.testing.assert_allclose(table.patched[0, :, 0].values, expected.numpy(), atol=1e-5)


def test_a_study_takes_a_method_of_values() -> None:
    @hc.methods.causal_method(base="corrupted", positions="last", what="v")
    def value_patch(z: Any) -> torch.Tensor:
        return z.clean

    results = hc.run("mini", suite=["plural", "antonym"], methods=["value_patch"], n_prompts=6, tasks=["plural"])
    effect = hc.score(results).effect
    assert float(abs(effect).max()) > 1e-3
    plain = hc.run("mini", suite=["plural", "antonym"], methods=["denoising_patch"], n_prompts=6, tasks=["plural"])
    assert float(abs(hc.score(plain).effect - effect).max()) > 0.01


def test_what_cannot_be_replaced_is_refused(each_toy: Toy) -> None:
    with pytest.raises(OptionError, match="q, k, v, pattern"):
        denoising("scores")
    with pytest.raises(OptionError, match="reference prompts"):
        hc.Intervention("mean_q", "clean", lambda z: z.mean, uses_reference=True, what="q")
    batch = random_batch(2, 5)
    long = PromptBatch.from_tokens(batch.clean, batch.corrupted, [[1, 2], [3, 4]], [[5, 6], [7, 8]])
    with pytest.raises(DataError, match="one token"):
        hc.sweep(each_toy.model, long, denoising("pattern"))
    assert hc.sweep(each_toy.model, replace(long), denoising("v")).patched.notnull().all()
