"""Copying scores and direct logits of heads, against planted heads, brute force and TransformerLens' own.

Also whether heads add `z W_O` to the residual stream, on architectures that do and that do not.
"""

from typing import Any

import numpy as np
import pytest
import torch
from architectures import hf_architecture, plain_z, tiny_bridge
from batches import random_batch
from covering import some
from induction_circuit import D_VOCAB, induction_circuit
from planted import planted_model, slot_batch
from toys import LAYOUTS, random_tokens, tiny_model

from headcats.models.adapter import adapt
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.descriptors import direct_paths as direct_paths_module
from headcats.sweeps.descriptors.direct_paths import copying_scores, direct_logits, direct_paths, not_additive

TOKENS = random_tokens(2, 6)


def scores(model: Any) -> tuple[dict[int, np.ndarray], dict[int, str]]:
    adapted = adapt(model)
    values, reasons = copying_scores(direct_paths(adapted, TOKENS % adapted.d_vocab))
    return {layer: of_layer.numpy() for layer, of_layer in values.items()}, reasons


def test_planted_heads() -> None:
    """Copying 1, anti-copying -1; the next token of the vocabulary: the roots of unity but 1, whose sum is -1."""
    values, reasons = scores(induction_circuit())
    np.testing.assert_allclose(values[1], [1, -1, 1, -1 / (D_VOCAB - 1)], atol=1e-5)
    assert np.isnan(values[0]).all()  # they write where nobody reads
    assert list(reasons) == [0]
    assert "L0H0" in reasons[0]
    assert "L0H3" in reasons[0]


def whole_circuits(toy: Any, layout: str) -> np.ndarray:
    """The vocabulary by vocabulary matrices `[layer, head]`, from the weights of plain transformers."""
    hf = toy.oracle
    gpt2 = layout == "gpt2"
    blocks = hf.transformer.h if gpt2 else hf.model.layers
    final = (hf.transformer.ln_f if gpt2 else hf.model.norm).weight
    d_model = final.shape[0]
    centre = torch.eye(d_model) - 1 / d_model if gpt2 else torch.eye(d_model)
    out = hf.lm_head.weight.T
    out = centre @ torch.diag(final) @ (out - out.mean(1, keepdim=True))
    circuits = []
    for block in blocks:
        norm = (block.ln_1 if gpt2 else block.input_layernorm).weight
        read = hf.get_input_embeddings().weight @ centre @ torch.diag(norm)
        for head in range(4):
            if gpt2:
                part = slice(8 * head, 8 * head + 8)
                W_V, W_O = block.attn.c_attn.weight[:, 64:][:, part], block.attn.c_proj.weight[part]
            else:
                group, part = slice(16 * (head // 2), 16 * (head // 2) + 16), slice(16 * head, 16 * head + 16)
                W_V, W_O = block.self_attn.v_proj.weight[group].T, block.self_attn.o_proj.weight[:, part].T
            circuits.append((read @ W_V @ W_O @ out).detach().numpy())
    return np.array(circuits).reshape(len(blocks), 4, *circuits[0].shape)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_are_those_of_the_whole_vocabulary(layout: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(direct_paths_module, "_CHUNK", 7)
    toy = tiny_model(layout)
    values, reasons = scores(toy.model)
    assert reasons == {}
    for layer, heads in enumerate(whole_circuits(toy, layout)):
        eigenvalues = np.linalg.eigvals(heads.astype(np.float64))
        expected = eigenvalues.real.sum(-1) / np.abs(eigenvalues).sum(-1)
        np.testing.assert_allclose(values[layer], expected, atol=1e-3)  # the zeros of 60 x 60 are not quite zero
        assert np.abs(expected).max() < 0.9


@pytest.mark.both_versions
@pytest.mark.parametrize("layout", LAYOUTS)
def test_processed_weights_give_the_same_which_are_those_of_transformer_lens(layout: Any) -> None:
    from transformer_lens import FactoredMatrix

    model = tiny_model(layout).model
    before, _ = scores(model)
    model.enable_compatibility_mode(disable_warnings=True)
    values, reasons = scores(model)
    assert reasons == {}
    for layer in range(3):
        np.testing.assert_allclose(before[layer], values[layer], atol=1e-4)
        for head in range(4):
            attention = model.blocks[layer].attn
            W_V = attention.W_V[head * len(attention.W_V) // 4]
            read, written = model.W_E @ W_V, attention.W_O[head] @ (model.W_U - model.W_U.mean(1, keepdim=True))
            theirs = FactoredMatrix(read.detach(), written.detach()).eigenvalues
            assert values[layer][head] == pytest.approx(float(theirs.sum().real / theirs.abs().sum()), abs=1e-4)


@pytest.mark.needs_tl3("HookedTransformer")
def test_so_do_those_of_a_hooked_transformer() -> None:
    model = tiny_model("gpt2", "hooked").model
    before, _ = scores(model)
    model.load_and_process_state_dict(model.state_dict())
    after, _ = scores(model)
    for layer in before:
        np.testing.assert_allclose(before[layer], after[layer], atol=1e-4)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("gemma2", "norm after"), ("olmo2", "norm after"), ("granite", "norm after"), ("bloom", "embeddings")],
)
def test_architectures_without_such_a_circuit_say_why(name: str, reason: str) -> None:
    model = tiny_bridge(name)
    values, reasons = scores(model)
    assert (values, set(reasons)) == ({}, set(adapt(model).layers))
    assert all(reason in text for text in reasons.values())


@pytest.mark.parametrize("name", ["cohere", "falcon", "bamba", "opt"])
def test_others_have_numbers(name: str) -> None:
    """Scaled logits, one value for all heads, layers without heads, a bias everywhere."""
    values, reasons = scores(tiny_bridge(name))
    assert reasons == {}
    assert all(np.isfinite(of_layer).all() and (np.abs(of_layer) <= 1).all() for of_layer in values.values())


def elsewhere(self: Any, tokens: torch.Tensor) -> torch.Tensor:
    """As torch says it of weights that a dispatched model keeps on the disk."""
    raise NotImplementedError("Cannot copy out of meta tensor; no data!")


@pytest.mark.parametrize(
    ("method", "replaced", "reason"),
    [
        ("W_O", lambda self, layer: self.model.W_O(layer).to(self.dtype).flip(0), "W_O"),
        ("embeddings", elsewhere, "meta tensor"),
    ],
)
def test_weights_that_cannot_be_read_are_a_reason(
    method: str, replaced: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"headcats.models.circuit.Circuit.{method}", replaced)
    values, reasons = scores(tiny_bridge("gpt2"))
    assert (values, set(reasons)) == ({}, {0, 1, 2})
    assert all(reason in text for text in reasons.values())


def test_eigenvalues_that_do_not_converge_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(matrices: np.ndarray) -> np.ndarray:
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setattr(np.linalg, "eigvals", fails)
    values, reasons = scores(tiny_bridge("gpt2"))
    assert (values, set(reasons)) == ({}, {0, 1, 2})
    assert "no convergence" in reasons[1]


def test_16_bits_give_nearly_the_same() -> None:
    model = tiny_model("llama").model
    before, _ = scores(model)
    after, _ = scores(model.to(torch.bfloat16))
    for layer in before:
        np.testing.assert_allclose(before[layer], after[layer], atol=0.05)


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
    monkeypatch.setattr("headcats.sweeps.descriptors.direct_paths.not_additive", lambda *arguments: {})
    values, reasons = attributed(tiny_bridge("gemma2"), random_batch(2))
    assert values == {}
    assert all("capped" in text for text in reasons.values())


THREE_PROMPTS = random_tokens(3, 6)


def test_ordinary_architectures_add_up():
    for name in some(["neox", "mixtral", "falcon", "bamba", "gptj", "qwen3", "phi", "mistral", "opt"], 4):
        model = adapt(tiny_bridge(name))
        assert not_additive(model, THREE_PROMPTS, model.layers) == {}, name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_so_do_both_layouts(layout):
    model = adapt(tiny_model(layout).model)
    assert not_additive(model, THREE_PROMPTS, model.layers) == {}


@pytest.mark.parametrize("name", ["gemma2", "olmo2", "granite"])
def test_norms_after_attention_and_scaled_branches_do_not(name):
    model = adapt(tiny_bridge(name))
    notes = not_additive(model, THREE_PROMPTS, model.layers)
    assert {layer: (note.id, note.fields["layer"]) for layer, note in notes.items()} == {
        layer: ("direct.not_additive", layer) for layer in model.layers
    }


def test_one_odd_layer_does_not_mark_the_others():
    """What one block is given does not depend on what was zeroed before it."""
    model = adapt(tiny_model("gpt2").model)
    halved = model.model.blocks[1].attn.register_forward_hook(lambda module, args, out: (out[0] / 2, *out[1:]))
    try:
        assert list(not_additive(model, THREE_PROMPTS, model.layers)) == [1]
    finally:
        halved.remove()


def test_layers_of_which_it_cannot_be_known_say_why():
    model = adapt(tiny_model("gpt2").model)
    notes = not_additive(model, THREE_PROMPTS, [0, 7])
    assert {layer: note.id for layer, note in notes.items()} == {0: "direct.unknown", 7: "direct.unknown"}
    assert "blocks.7." in str(notes[7])
