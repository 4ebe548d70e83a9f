"""Whether heads add `z W_O` to the residual stream, measured on architectures that do and that do not."""

import pytest
from architectures import tiny_bridge
from covering import some
from toys import random_tokens, tiny_model

from headcats.models.adapter import adapt
from headcats.sweeps.descriptors.direct_paths import not_additive

TOKENS = random_tokens(3, 6)


def test_ordinary_architectures_add_up():
    for name in some(["neox", "mixtral", "falcon", "bamba", "gptj", "qwen3", "phi", "mistral", "opt"], 4):
        model = adapt(tiny_bridge(name))
        assert not_additive(model, TOKENS, model.layers) == {}, name


def test_so_do_both_layouts(toy):
    model = adapt(toy.model)
    assert not_additive(model, TOKENS, model.layers) == {}


@pytest.mark.parametrize("name", ["gemma2", "olmo2", "granite"])
def test_norms_after_attention_and_scaled_branches_do_not(name):
    model = adapt(tiny_bridge(name))
    notes = not_additive(model, TOKENS, model.layers)
    assert {layer: (note.id, note.fields["layer"]) for layer, note in notes.items()} == {
        layer: ("direct.not_additive", layer) for layer in model.layers
    }


def test_one_odd_layer_does_not_mark_the_others():
    """What one block is given does not depend on what was zeroed before it."""
    model = adapt(tiny_model("gpt2").model)
    halved = model.model.blocks[1].attn.register_forward_hook(lambda module, args, out: (out[0] / 2, *out[1:]))
    try:
        assert list(not_additive(model, TOKENS, model.layers)) == [1]
    finally:
        halved.remove()


def test_layers_of_which_it_cannot_be_known_say_why():
    model = adapt(tiny_model("gpt2").model)
    notes = not_additive(model, TOKENS, [0, 7])
    assert {layer: note.id for layer, note in notes.items()} == {0: "direct.unknown", 7: "direct.unknown"}
    assert "blocks.7." in str(notes[7])
