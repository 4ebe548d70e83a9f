from types import SimpleNamespace
from typing import Any

import pytest
import torch
from toys import Toy, put, random_tokens, tiny_model

from headcats.base.errors import ModelError
from headcats.models.adapter import adapt
from headcats.models.hooks import configured_heads


def n_hooks(model: Any) -> int:
    return sum(len(hook._forward_hooks) + len(hook.fwd_hooks) for hook in model.hook_dict.values())


@pytest.mark.parametrize("by_layer", [[4], [4, None], [4, "4"]])
def test_numbers_of_heads_that_lack_a_layer_are_refused(by_layer: list[Any]) -> None:
    config = SimpleNamespace(num_attention_heads=by_layer)
    config.get_text_config = lambda: config
    model = SimpleNamespace(original_model=SimpleNamespace(config=config))
    assert configured_heads(model, 0) == 4
    with pytest.raises(ModelError, match="layer 1"):
        configured_heads(model, 1)


class TestEdits:
    @pytest.mark.parametrize(
        ("edit", "named"),
        [
            (lambda z: None, "NoneType"),
            (lambda z: z[:1], r"blocks.1.attn.hook_z' .*\(1, 9, 4"),
            (lambda z: z.double(), r"torch.float64.*expected .*torch.float32"),
            (lambda z: z.to("meta"), "on meta; expected"),
        ],
        ids=["nothing", "one row", "dtype", "device"],
    )
    def test_a_wrong_return_is_refused_and_no_hook_is_left(self, edit: Any, named: str) -> None:
        raw = tiny_model("llama").model
        tokens, model, before = random_tokens(), adapt(raw), n_hooks(raw)
        clean = model.logits(tokens)
        with pytest.raises(ModelError, match=named):
            model.logits(tokens, edits={1: edit})
        assert n_hooks(raw) == before
        assert torch.equal(model.logits(tokens), clean)

    @pytest.mark.both_versions
    def test_hooks_of_the_user_stay(self, toy: Toy) -> None:
        tokens, model, fired = random_tokens(), adapt(toy.model), []
        model.logits(tokens)

        def note(value: torch.Tensor, hook: Any) -> torch.Tensor:
            fired.append(1)
            return value

        toy.model.hook_dict["blocks.0.attn.hook_z"].add_hook(note)
        try:
            model.logits(tokens, edits={0: put(0, 1.0)})
            model.logits(tokens)
        finally:
            toy.model.hook_dict["blocks.0.attn.hook_z"].remove_hooks()
        assert len(fired) == 2

    @pytest.mark.both_versions
    def test_a_hook_fires_once_or_it_is_an_error(self, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
        model, original = adapt(toy.model), toy.model.run_with_hooks
        for changed, message in ((lambda hooks: hooks[1:], "did not fire"), (lambda hooks: hooks * 2, "fired 2 times")):
            monkeypatch.setattr(
                model.model,
                "run_with_hooks",
                lambda *a, fwd_hooks, changed=changed, **kw: original(*a, fwd_hooks=changed(fwd_hooks), **kw),
            )
            with pytest.raises(ModelError, match=message):
                model.logits(random_tokens(), edits={0: put(0, 1.0), 1: put(0, 1.0)})

    @pytest.mark.parametrize("layer", [-1, 3])
    def test_a_layer_out_of_range_is_an_error(self, layer: int) -> None:
        model = adapt(tiny_model("gpt2").model)
        with pytest.raises(ModelError, match=r"blocks\.9\.hook_resid_pre"):
            model.run(random_tokens(), hooks={"blocks.9.hook_resid_pre": lambda value: value})
        for call in (
            lambda: model.logits(random_tokens(), edits={layer: put(0, 1.0)}),
            lambda: model.capture(random_tokens(), layers=[layer]),
            lambda: model.W_O(layer),
        ):
            with pytest.raises(ModelError, match=f"Layer {layer} of model"):
                call()
