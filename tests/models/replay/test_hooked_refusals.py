"""What is not known of a HookedTransformer is refused with its reason, not computed wrongly."""

from typing import Any

import pytest
from models.replay.hooked_layouts import build_hooked, hooked_layout
from toys import random_tokens

from headcats.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued
from headcats.models.replay.hooked_transformer import record_hooked_transformer
from headcats.models.replay.recording import Unreplayable

pytestmark = pytest.mark.needs_tl3("HookedTransformer")

LENGTH = 10
TOKENS = random_tokens(3, LENGTH)
LAST = LENGTH - 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"positional_embedding_type": "alibi"}, "positions are ALiBi"),
        ({"positional_embedding_type": "shortformer"}, "added to queries and keys alone"),
        ({"attention_dir": "bidirectional"}, "attention is not causal"),
    ],
)
def test_configurations(options: dict[str, Any], reason: str) -> None:
    model = HookedModel(build_hooked("gpt2", **options))
    with pytest.raises(Unreplayable, match=reason):
        record_hooked_transformer(model, Continued.alone(TOKENS), first=LAST)


def test_unknown_positions() -> None:
    model = HookedModel(build_hooked("gpt2"))
    model.model.cfg.positional_embedding_type = "sinusoidal"
    with pytest.raises(Unreplayable, match="'sinusoidal'"):
        record_hooked_transformer(model, Continued.alone(TOKENS), first=LAST)


def test_quantised_weights() -> None:
    model = HookedModel(build_hooked("gpt2"))
    model.model.cfg.load_in_4bit = True
    with pytest.raises(Unreplayable, match="4 bits"):
        record_hooked_transformer(model, Continued.alone(TOKENS), first=LAST)


@pytest.mark.parametrize("part", ["blocks.1", "blocks.2.attn", "unembed"])
def test_modules_of_another_class(part: str) -> None:
    model = HookedModel(build_hooked("gpt2"))
    module = model.model.get_submodule(part)
    module.__class__ = type("Strange", (type(module),), {})
    with pytest.raises(Unreplayable, match="Strange"):
        record_hooked_transformer(model, Continued.alone(TOKENS), first=LAST)


def test_a_subclass() -> None:
    model = HookedModel(build_hooked("gpt2"))
    model.model.__class__ = type("Mine", (type(model.model),), {})
    with pytest.raises(Unreplayable, match="Mine"):
        record_hooked_transformer(model, Continued.alone(TOKENS), first=LAST)


@pytest.mark.parametrize("first", [LAST, 4])
def test_an_edit_of_another_shape(first: int) -> None:
    recording = record_hooked_transformer(hooked_layout("gpt2"), Continued.alone(TOKENS), first=first)
    with pytest.raises(ModelError, match="returned shape"):
        recording.block(0, None, fresh=2, edit=lambda z: z[:, :1], last_only=False)
