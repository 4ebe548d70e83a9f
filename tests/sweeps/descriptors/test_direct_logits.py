"""Direct logit attribution: a planted head, plain transformers by hand, and TransformerLens' own."""

from typing import Any

import numpy as np
import pytest
import torch
from architectures import hf_architecture, plain_z, tiny_bridge
from batches import random_batch
from planted import planted_model, slot_batch
from toys import LAYOUTS, tiny_model

from headcats.models.adapter import adapt
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.descriptors.direct_logits import direct_logits
from headcats.sweeps.descriptors.paths import direct_paths


def attributed(model: Any, *batches: PromptBatch) -> tuple[dict[int, np.ndarray], dict[int, str]]:
    adapted = adapt(model)
    values, reasons = direct_logits(direct_paths(adapted, batches[0].clean), batches)
    return {layer: of_layer.numpy() for layer, of_layer in values.items()}, reasons


def test_a_planted_head_writes_the_whole_answer_and_the_others_nothing() -> None:
    model, batch = planted_model({(1, 2): 1}), slot_batch(1)
    values, reasons = attributed(model, batch)
    logits = adapt(model).logits(batch.clean)
    rows = torch.arange(len(batch))
    difference = float((logits[rows, batch.answer] - logits[rows, batch.distractor]).mean())
    assert difference > 1
    assert reasons == {}
    np.testing.assert_allclose(values[0], 0, atol=1e-6)
    np.testing.assert_allclose(values[1], [0, 0, difference, 0], atol=1e-5)


@torch.no_grad()
def by_hand(hf: Any, batch: PromptBatch, *, factor: float = 1.0) -> dict[int, np.ndarray]:
    """From the weights of plain transformers, whose final norm is LayerNorm where it has a bias or a mean."""
    base = getattr(hf, "transformer", None) or hf.model
    norm = getattr(base, "ln_f", None) or base.norm
    seen: list[torch.Tensor] = []
    handle = norm.register_forward_pre_hook(lambda module, given: seen.append(given[0][:, -1]))
    z = plain_z(hf, batch.clean)
    handle.remove()
    centred = type(norm).__name__ != "LlamaRMSNorm"
    x = seen[0] - seen[0].mean(-1, keepdim=True) * centred
    scale = (x.square().mean(-1) + 1e-6).sqrt()
    found = {}
    for layer, of_layer in z.items():
        block = base.h[layer].attn.c_proj if hasattr(base, "h") else base.layers[layer].self_attn.o_proj
        W_O = block.weight if hasattr(base, "h") else block.weight.T
        total = np.zeros(4)
        for prompt in range(len(batch)):
            direction = hf.lm_head.weight[batch.answer[prompt]] - hf.lm_head.weight[batch.distractor[prompt]]
            for head in range(4):
                size = of_layer.shape[-1]
                written = of_layer[prompt, -1, head] @ W_O[size * head : size * (head + 1)]
                written = written - written.mean() * centred
                total[head] += factor * float((norm.weight * written / scale[prompt]) @ direction)
        found[layer] = total / len(batch)
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_are_those_of_plain_transformers(layout: Any) -> None:
    toy, batch = tiny_model(layout), random_batch(4)
    values, reasons = attributed(toy.model, batch)
    assert reasons == {}
    for layer, expected in by_hand(toy.oracle, batch).items():
        assert np.abs(expected).max() > 0.05
        np.testing.assert_allclose(values[layer], expected, atol=1e-4)


@pytest.mark.needs_tl4("the bridge of 3.x gives other logits for Cohere")
def test_scaled_logits_scale_it() -> None:
    batch = random_batch(4)
    values, _ = attributed(tiny_bridge("cohere"), batch)
    for layer, expected in by_hand(hf_architecture("cohere"), batch, factor=0.5).items():
        np.testing.assert_allclose(values[layer], expected, atol=1e-4)


def lens(model: Any, batch: PromptBatch) -> np.ndarray:
    """TransformerLens' own, `[layer, head]`, for processed weights."""
    from transformer_lens.tools.analysis import direct_logit_attribution

    result = direct_logit_attribution(
        model, batch.clean, answer_tokens=batch.answer, incorrect_tokens=batch.distractor, unit="head"
    )
    return result.attribution[:12].mean(-1).reshape(3, 4).detach().numpy()


@pytest.mark.both_versions
@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_are_those_of_transformer_lens_in_compatibility_mode(layout: Any) -> None:
    model, batch = tiny_model(layout).model, random_batch(4)
    model.enable_compatibility_mode(disable_warnings=True)
    theirs = lens(model, batch)
    for layer, ours in attributed(model, batch)[0].items():
        np.testing.assert_allclose(ours, theirs[layer], atol=1e-4)


@pytest.mark.needs_tl3("HookedTransformer")
def test_and_on_a_processed_hooked_transformer() -> None:
    model, batch = tiny_model("gpt2", "hooked").model, random_batch(4)
    before, _ = attributed(model, batch)
    model.load_and_process_state_dict(model.state_dict(), fold_value_biases=False)
    theirs = lens(model, batch)
    for layer, ours in attributed(model, batch)[0].items():
        np.testing.assert_allclose(ours, theirs[layer], atol=1e-4)
        np.testing.assert_allclose(ours, before[layer], atol=1e-4)


def test_prompts_of_several_lengths_count_alike() -> None:
    model, short, long = tiny_bridge("llama"), random_batch(2, 5), random_batch(4, 9, seed=1)
    alone = [attributed(model, batch)[0] for batch in (short, long)]
    for layer, both in attributed(model, short, long)[0].items():
        np.testing.assert_allclose(both, (2 * alone[0][layer] + 4 * alone[1][layer]) / 6, atol=1e-6)


@pytest.mark.parametrize(("name", "reason"), [("gemma3", "norm after"), ("granite", "residual stream")])
def test_heads_without_a_direct_path_have_none(name: str, reason: str) -> None:
    values, reasons = attributed(tiny_bridge(name), random_batch(2))
    assert values == {}
    assert all(reason in text for text in reasons.values())


def test_a_readout_that_is_not_linear_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gemma 2 caps its logits; here without the norms that would be a reason, too."""
    monkeypatch.setattr("headcats.sweeps.descriptors.paths.not_additive", lambda *arguments: {})
    values, reasons = attributed(tiny_bridge("gemma2"), random_batch(2))
    assert values == {}
    assert all("capped" in text for text in reasons.values())
