"""The weights of heads: those of the plain model, in one shape for all classes and layouts, or refused."""

import architectures
import pytest
import torch
from toys import D_VOCAB, Toy, tiny_model

from headcats.base.errors import ModelError
from headcats.models.adapter import adapt
from headcats.models.circuit import Circuit


@pytest.fixture(scope="module")
def circuit(toy: Toy) -> Circuit:
    return Circuit(adapt(toy.model))


@pytest.mark.needs_tl3("HookedTransformer")
def test_a_hooked_transformer_has_the_weights_of_a_bridge():
    first, second = (Circuit(adapt(tiny_model("llama", backend).model)) for backend in ("bridge", "hooked"))
    rows = first.embeddings(torch.tensor([3, 59]))
    torch.testing.assert_close(rows, second.embeddings(torch.tensor([3, 59])))
    torch.testing.assert_close(first.unembedding(), second.unembedding())
    for layer in range(3):
        torch.testing.assert_close(first.values(rows, layer=layer), second.values(rows, layer=layer))
        torch.testing.assert_close(first.W_O(layer), second.W_O(layer))


def blocks_of(hf):
    return hf.transformer.h if hf.config.model_type == "gpt2" else hf.model.layers


class TestWeights:
    def test_embedding_and_unembedding_are_those_of_the_plain_model(self, toy, circuit):
        tokens = torch.tensor([3, 59, 3])
        assert torch.equal(circuit.embeddings(tokens), toy.oracle.get_input_embeddings().weight[tokens])
        assert torch.equal(circuit.unembedding(), toy.oracle.lm_head.weight.T)
        assert torch.equal(circuit.unembedding(7, 9), toy.oracle.lm_head.weight[7:9].T)
        assert circuit.d_vocab == D_VOCAB

    @pytest.mark.both_versions
    def test_a_head_reads_the_value_projection_of_its_group(self, toy, circuit, layout):
        rows = torch.randn(5, 32)
        for layer, block in enumerate(blocks_of(toy.oracle)):
            values = circuit.values(rows, layer=layer)
            assert values.shape == (4, 5, 8 if layout == "gpt2" else 16)
            for head in range(4):
                if layout == "gpt2":
                    weight = block.attn.c_attn.weight[:, 64 + 8 * head : 64 + 8 * (head + 1)]
                else:
                    group = head // 2
                    weight = block.self_attn.v_proj.weight[16 * group : 16 * (group + 1)].T
                torch.testing.assert_close(values[head], rows @ weight)

    def test_output_projections_are_per_query_head(self, toy, circuit, layout):
        for layer, block in enumerate(blocks_of(toy.oracle)):
            if layout == "gpt2":
                expected = block.attn.c_proj.weight.view(4, 8, 32)
            else:
                expected = block.self_attn.o_proj.weight.T.reshape(4, 16, 32)
            assert torch.equal(circuit.W_O(layer), expected)


@pytest.mark.parametrize(("dtype", "given"), [(torch.bfloat16, torch.float32), (torch.float64, torch.float64)])
def test_weights_in_16_bits_are_given_in_32_and_those_in_64_stay(dtype, given):
    circuit = Circuit(adapt(tiny_model("gpt2").model.to(dtype)))
    rows = circuit.embeddings(torch.tensor([3]))
    weights = (rows, circuit.W_O(1), circuit.unembedding(0, 3), circuit.values(rows, layer=1))
    assert {tensor.dtype for tensor in weights} == {given}


class TestArchitectures:
    def test_weights_are_read_rightly_everywhere(self):
        """Circuit compares W_V and W_O of every layer with a run itself; here, that it accepts what is right."""
        for name in architectures.ARCHITECTURES:
            model = adapt(architectures.tiny_bridge(name))
            if name in architectures.LATENT:
                with pytest.raises(ModelError, match="no W_V"):
                    Circuit(model)
                continue
            circuit = Circuit(model)
            assert circuit.reads_embeddings == (name != "bloom"), name


class TestRefusals:
    @pytest.mark.parametrize("weight", ["W_V", "W_O"])
    def test_a_weight_that_is_not_what_the_model_computes_with(self, weight, monkeypatch):
        values, output = Circuit.values, Circuit.W_O
        wrong = {
            # As if heads were dealt to groups in turn, instead of in blocks.
            "W_V": ("values", lambda self, rows, *, layer: values(self, rows, layer=layer)[[0, 2, 1, 3]]),
            "W_O": ("W_O", lambda self, layer: output(self, layer).flip(0)),
        }[weight]
        monkeypatch.setattr(Circuit, *wrong)
        with pytest.raises(ModelError, match=f"{weight} of layer 0"):
            Circuit(adapt(tiny_model("llama").model))

    def test_a_projection_of_another_shape(self, monkeypatch):
        model = adapt(tiny_model("llama").model)
        attention = model.model.blocks[1].attn
        object.__setattr__(attention, "_W_V", torch.zeros(3, 32, 16))
        with pytest.raises(ModelError, match=r"W_V of layer 1 .*\(3, 32, 16\).* 4 heads"):
            Circuit(model)

    def test_an_overflow_in_the_run(self):
        model = tiny_model("gpt2").model
        with torch.no_grad():
            model.blocks[1].attn.original_component.c_attn.weight[:, 64:] *= 1e38
        with pytest.raises(ModelError, match="overflow"):
            Circuit(adapt(model))


class TestNorms:
    """What stands between the residual stream and a head's values, and between it and the logits."""

    def test_are_those_of_the_plain_model(self, toy, circuit, layout):
        base = toy.oracle.transformer if layout == "gpt2" else toy.oracle.model
        final = base.ln_f if layout == "gpt2" else base.norm
        torch.testing.assert_close(circuit.readout.norm.weight, final.weight.detach(), rtol=1e-4, atol=1e-4)
        assert circuit.readout.factor == pytest.approx(1, abs=1e-5)
        for layer, block in enumerate(blocks_of(toy.oracle)):
            norm = circuit.attention_norm(layer)
            weight = (block.ln_1 if layout == "gpt2" else block.input_layernorm).weight
            torch.testing.assert_close(norm.weight, weight.detach(), rtol=1e-4, atol=1e-4)
            assert norm.centred == circuit.readout.norm.centred == (layout == "gpt2")

    @torch.no_grad()
    def test_the_scale_of_the_final_norm_is_that_of_a_run(self, toy, circuit, layout):
        final = toy.oracle.transformer.ln_f if layout == "gpt2" else toy.oracle.model.norm
        x = torch.randn(3, 32)
        moved = x - x.mean(-1, keepdim=True) * (layout == "gpt2")
        eps = final.eps if layout == "gpt2" else final.variance_epsilon
        torch.testing.assert_close(circuit.final_scale(x), (moved.square().mean(-1) + eps).sqrt(), rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize(("name", "factor"), [("granite", 1 / 1.7), ("phi", 1.0)])
    def test_logits_may_be_scaled(self, name, factor):
        circuit = Circuit(adapt(architectures.tiny_bridge(name)))
        assert circuit.readout.factor == pytest.approx(factor, abs=1e-5)

    def test_a_soft_cap_is_no_linear_readout(self):
        assert "capped" in Circuit(adapt(architectures.tiny_bridge("gemma2"))).readout

    def test_values_without_a_norm_before_them_read_the_residual_stream(self):
        circuit = Circuit(adapt(architectures.tiny_bridge("olmo2")))
        assert all(bool((circuit.attention_norm(layer).weight == 1).all()) for layer in circuit.layers)
