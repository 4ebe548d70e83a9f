"""The adapter against plain transformers, on both classes; and that it leaves the model as it is."""

import threading
from typing import Any

import pytest
import torch
from architectures import tiny_bridge
from toys import D_VOCAB, N_CTX, Toy, put, random_tokens, tiny_model

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.head import Head
from headcats.models.hooks import bridge_takes

TOLERANCE = 2e-5  # on fp32 log-probabilities, against another implementation


def oracle_log_probs(toy: Toy, tokens: torch.Tensor, *, layer: int | None = None, edit: Any = None) -> torch.Tensor:
    """Plain transformers: `edit` gets the input of the output projection of `layer`, split into heads."""

    def before_projection(_: Any, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        z = args[0].unflatten(-1, (4, -1))
        return (edit(z).flatten(-2),)

    handles = []
    if layer is not None:
        is_gpt2 = toy.oracle.config.model_type == "gpt2"
        projection = (
            toy.oracle.transformer.h[layer].attn.c_proj if is_gpt2 else toy.oracle.model.layers[layer].self_attn.o_proj
        )
        handles.append(projection.register_forward_pre_hook(before_projection))
    with torch.no_grad():
        log_probs = toy.oracle(tokens).logits[:, -1].log_softmax(-1)
    for handle in handles:
        handle.remove()
    return log_probs


@pytest.mark.both_versions
class TestAgainstTransformers:
    def test_logits_are_those_of_the_last_position(self, any_toy: Toy) -> None:
        tokens = random_tokens()
        logits = adapt(any_toy.model).logits(tokens)
        assert logits.dtype == torch.float32
        assert not logits.requires_grad
        difference = (logits.log_softmax(-1) - oracle_log_probs(any_toy, tokens)).abs().max()
        assert difference < TOLERANCE
        # Those of other positions are not kept.
        assert logits.untyped_storage().nbytes() == logits.numel() * logits.itemsize

    def test_every_head_is_edited_alone(self, any_toy: Toy) -> None:
        tokens, model = random_tokens(), adapt(any_toy.model)
        base = oracle_log_probs(any_toy, tokens)
        for layer in model.layers:
            for head in range(model.n_heads[layer]):
                edit = put(head, 1.0, position=-1 if head % 2 else slice(None))
                expected = oracle_log_probs(any_toy, tokens, layer=layer, edit=edit)
                assert (expected - base).abs().max() > 0.01  # or the comparison below would say nothing
                actual = model.logits(tokens, edits={layer: edit}).log_softmax(-1)
                assert (actual - expected).abs().max() < TOLERANCE, Head(layer, head)

    def test_captured_heads_are_the_inputs_of_the_output_projection(self, any_toy: Toy) -> None:
        tokens, seen = random_tokens(), []
        logits, z = adapt(any_toy.model).capture(tokens)
        oracle_log_probs(any_toy, tokens, layer=1, edit=lambda value: seen.append(value) or value)
        assert (z[1] - seen[0]).abs().max() < TOLERANCE
        assert torch.equal(logits, adapt(any_toy.model).logits(tokens))

    def test_z_times_w_o_is_what_the_heads_add(self, any_toy: Toy) -> None:
        tokens, model = random_tokens(), adapt(any_toy.model)
        added: dict[str, torch.Tensor] = {}
        _, z = model.capture(tokens)
        model.run(tokens, hooks={"blocks.1.hook_attn_out": lambda value: added.setdefault("out", value.clone())})
        without = torch.einsum("bphd,hdm->bpm", z[1], model.W_O(1))
        bias = (
            getattr(any_toy.oracle.transformer.h[1].attn.c_proj, "bias", 0)
            if "transformer" in dir(any_toy.oracle)
            else 0
        )
        assert (added["out"] - without - bias).abs().max() < TOLERANCE


class TestDescription:
    @pytest.mark.both_versions
    def test_geometry_is_read_from_the_model(self, toy: Toy, layout: Any) -> None:
        model, d_head = adapt(toy.model), {"gpt2": 8, "llama": 16}[layout]
        assert model.layers == (0, 1, 2)
        assert model.n_layers == 3
        assert dict(model.n_heads) == {0: 4, 1: 4, 2: 4}
        assert dict(model.d_head) == dict.fromkeys(range(3), d_head)
        assert (model.max_heads, model.d_model, model.d_vocab, model.n_ctx) == (4, 32, D_VOCAB, N_CTX)
        assert model.W_O(0).shape == (4, d_head, 32)
        assert model.dtype == torch.float32
        assert model.device == torch.device("cpu")
        assert type(toy.model).__name__ == model.model_class
        assert model.model is toy.model

    def test_layers_without_heads_are_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        raw = tiny_model("gpt2").model
        hooks = {name: hook for name, hook in raw.hook_dict.items() if name != "blocks.1.attn.hook_z"}
        monkeypatch.setattr(type(raw), "hook_dict", property(lambda self: hooks))
        model = adapt(raw)
        assert model.layers == (0, 2)
        assert set(model.n_heads) == {0, 2}
        with pytest.raises(ModelError, match=r"Layer 1 .* with heads: 0, 2"):
            model.logits(random_tokens(), edits={1: put(0, 0.0)})
        assert model.heads == tuple(Head(layer, head) for layer in (0, 2) for head in range(4))
        assert model.axes == {"layer": [0, 2], "head": [0, 1, 2, 3]}
        assert model.find_head("L2H3") == Head(2, 3)
        for head in ("L1H0", "0.4", (0, -1)):
            with pytest.raises(DataError, match="has no head L"):
                model.find_head(head)

    def test_other_objects_are_refused(self) -> None:
        toy = tiny_model("gpt2")
        model = adapt(toy.model)
        assert adapt(model) is model
        with pytest.raises(ModelError, match=r"TransformerBridge.*got transformers"):
            adapt(toy.oracle)

    def test_a_model_without_heads_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        raw = tiny_model("gpt2").model
        monkeypatch.setattr(type(raw), "hook_dict", property(lambda self: {"hook_embed": None}))
        with pytest.raises(ModelError, match="no attention heads"):
            adapt(raw)

    def test_the_tokenizer_of_texts(self) -> None:
        toy = tiny_model("llama")
        assert HookedModel(toy.model, tokenizer=toy.tokenizer).text_tokenizer is toy.tokenizer
        without = HookedModel(toy.model)
        without.tokenizer = None
        with pytest.raises(ModelError, match="no tokenizer"):
            without.text_tokenizer  # noqa: B018


class TestCapture:
    def test_early_positions_need_not_be_kept(self, toy: Toy) -> None:
        tokens, model = random_tokens(3, 9), adapt(toy.model)
        _, full = model.capture(tokens)
        for first in (-1, 4):
            _, kept = model.capture(tokens, layers=[2], first=first)
            assert list(kept) == [2]
            assert torch.equal(kept[2], full[2][:, first:])
            assert kept[2].untyped_storage().nbytes() == kept[2].numel() * 4


class TestTokens:
    @pytest.mark.parametrize(
        ("tokens", "message"),
        [
            (torch.tensor([[0, 5], [5, D_VOCAB]]), f"Prompt 1 .* {D_VOCAB} at position 1.*0 to 59"),
            (torch.tensor([[0, -1]]), "Prompt 0 .* -1 at position 1"),
            (torch.zeros(1, N_CTX + 1, dtype=torch.long), f"{N_CTX + 1} tokens .* at most {N_CTX}"),
            (torch.zeros(1, 3), "torch.float32"),
            (torch.zeros(2, 0, dtype=torch.long), r"\(2, 0\)"),
        ],
    )
    def test_bad_tokens_are_refused(self, tokens: torch.Tensor, message: str) -> None:
        with pytest.raises(DataError, match=message):
            adapt(tiny_model("gpt2").model).check_tokens(tokens)

    def test_the_longest_prompt_and_other_integers_are_taken(self, toy: Toy) -> None:
        model = adapt(toy.model)
        tokens = random_tokens(2, N_CTX)
        assert torch.equal(model.logits(tokens), model.logits(tokens.int()))

    @pytest.mark.both_versions
    def test_the_padding_token_is_a_token_like_any_other(self, any_toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
        toy = any_toy
        # Where the tokenizer pads on the left, as many do for generation, HookedTransformer masks the pad ids that a
        # prompt starts with; in GPT-2 that is the BOS token.
        tokens = random_tokens()
        tokens[:, 0] = tokens[:, 1] = toy.tokenizer.pad_token_id
        if toy.model.tokenizer is None:
            monkeypatch.setattr(toy.model, "tokenizer", toy.tokenizer)
        monkeypatch.setattr(toy.model.tokenizer, "padding_side", "left")
        actual = adapt(toy.model).logits(tokens).log_softmax(-1)
        assert (actual - oracle_log_probs(toy, tokens)).abs().max() < TOLERANCE


class TestUse:
    def test_threads_do_not_see_each_others_hooks(self, toy: Toy) -> None:
        # Two adapters of one model: the lock belongs to the model.
        tokens, wrong = random_tokens(), []
        models = [adapt(toy.model), adapt(toy.model)]
        edits = [{}, {0: put(0, 9.0), 1: put(1, 9.0)}]
        expected = [model.logits(tokens, edits=edit) for model, edit in zip(models, edits, strict=True)]

        def work(i: int) -> None:
            for _ in range(10):
                if not torch.equal(models[i].logits(tokens, edits=edits[i]), expected[i]):
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert models[0].lock is models[1].lock
        assert not wrong

    def test_a_users_model_is_left_as_it_is(self, toy: Toy) -> None:
        toy.model.train()
        next(toy.model.parameters()).requires_grad_(False)
        flags = [(p.requires_grad, p.device, p._version, p.data_ptr()) for p in toy.model.parameters()]
        random_state = torch.random.get_rng_state()
        try:
            model = adapt(toy.model)
            _ = model.n_heads, model.weight_processing, model.weights_hash()
            _ = model.capture(random_tokens()), model.logits(random_tokens(), edits={0: put(0, 1.0)})
            assert toy.model.training
            assert torch.is_grad_enabled()
            assert [(p.requires_grad, p.device, p._version, p.data_ptr()) for p in toy.model.parameters()] == flags
            assert torch.equal(torch.random.get_rng_state(), random_state)
        finally:
            next(toy.model.parameters()).requires_grad_(True)
            toy.model.eval()

    def test_looking_at_a_model_with_dropout_draws_no_random_numbers(self) -> None:
        model = tiny_model("gpt2", dropout=0.5).model.train()
        before = torch.random.get_rng_state()
        assert adapt(model).max_heads == 4
        assert torch.equal(torch.random.get_rng_state(), before)


def test_it_is_left_to_the_architecture() -> None:
    assert {name: bridge_takes(tiny_bridge(name), "logits_to_keep") for name in ("gpt2", "llama")} == {
        "gpt2": True,
        "llama": True,
    }
    assert not bridge_takes(object(), "logits_to_keep")
