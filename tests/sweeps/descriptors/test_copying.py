"""The copying score: planted heads, the whole vocabulary by brute force, and what weight processing must not change."""

from typing import Any

import numpy as np
import pytest
import torch
from architectures import tiny_bridge
from induction_circuit import D_VOCAB, induction_circuit
from toys import LAYOUTS, random_tokens, tiny_model

from headcats.models.adapter import adapt
from headcats.sweeps.descriptors import copying
from headcats.sweeps.descriptors.copying import copying_scores
from headcats.sweeps.descriptors.paths import direct_paths

TOKENS = random_tokens(2, 6)


def scores(model: Any) -> tuple[dict[int, np.ndarray], dict[int, str]]:
    adapted = adapt(model)
    values, reasons = copying_scores(direct_paths(adapted, TOKENS % adapted.d_vocab))
    return {layer: of_layer.numpy() for layer, of_layer in values.items()}, reasons


def test_planted_heads() -> None:
    """Copying 1, anti-copying -1; the next token of the vocabulary: the roots of unity but 1, whose sum is -1."""
    values, reasons = scores(induction_circuit("bridge"))
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
    monkeypatch.setattr(copying, "_CHUNK", 7)
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


def test_a_shift_of_all_logits_changes_nothing() -> None:
    model = tiny_model("llama").model
    before, _ = scores(model)
    with torch.no_grad():
        unembedding = next(weight for name, weight in model.named_parameters() if "lm_head" in name)
        unembedding += torch.randn(32)
    after, _ = scores(model)
    for layer in before:
        np.testing.assert_allclose(before[layer], after[layer], atol=1e-4)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gemma2", "norm after"),
        ("olmo2", "norm after"),
        ("granite", "norm after"),
        ("bloom", "embeddings"),
    ],
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


def test_weights_that_cannot_be_read_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_bridge("gpt2")
    monkeypatch.setattr(
        "headcats.models.circuit.Circuit.W_O", lambda self, layer: self.model.W_O(layer).to(self.dtype).flip(0)
    )
    values, reasons = scores(model)
    assert values == {}
    assert all("W_O" in reason for reason in reasons.values())


def test_eigenvalues_that_do_not_converge_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(matrices: np.ndarray) -> np.ndarray:
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setattr(np.linalg, "eigvals", fails)
    values, reasons = scores(tiny_bridge("gpt2"))
    assert (values, set(reasons)) == ({}, {0, 1, 2})
    assert "no convergence" in reasons[1]


def test_weights_that_are_elsewhere_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch says it of weights that a dispatched model keeps on the disk."""

    def elsewhere(self: Any, tokens: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    monkeypatch.setattr("headcats.models.circuit.Circuit.embeddings", elsewhere)
    values, reasons = scores(tiny_bridge("gpt2"))
    assert (values, set(reasons)) == ({}, {0, 1, 2})
    assert "meta tensor" in reasons[0]


def test_16_bits_give_nearly_the_same() -> None:
    model = tiny_model("llama").model
    before, _ = scores(model)
    after, _ = scores(model.to(torch.bfloat16))
    for layer in before:
        np.testing.assert_allclose(before[layer], after[layer], atol=0.05)
