"""What is not known of a HookedTransformer is refused with its reason, not computed wrongly."""

from collections.abc import Callable
from typing import Any

import pytest
from models.replay.hooked_layouts import build_hooked, hooked_layout
from toys import random_tokens

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued
from headcats.models.replay.hooked_transformer import record_hooked_transformer
from headcats.models.replay.recording import Unreplayable

pytestmark = pytest.mark.needs_tl3("HookedTransformer")

LENGTH = 10
TOKENS = random_tokens(3, LENGTH)
LAST = LENGTH - 1


def strange(model: Any, part: str) -> None:
    """Give a module of the model another class."""
    module = model.get_submodule(part) if part else model
    module.__class__ = type("Strange", (type(module),), {})


def test_what_is_not_known() -> None:
    changes: list[tuple[dict[str, Any], Callable[[Any], None], str]] = [
        ({"positional_embedding_type": "alibi"}, lambda model: None, "ALiBi"),
        ({"positional_embedding_type": "shortformer"}, lambda model: None, "queries and keys"),
        ({"attention_dir": "bidirectional"}, lambda model: None, "not causal"),
        ({}, lambda model: setattr(model.cfg, "positional_embedding_type", "sinusoidal"), "'sinusoidal'"),
        ({}, lambda model: strange(model, "blocks.2.attn"), "Strange"),
    ]
    for options, change, reason in changes:
        model = HookedModel(build_hooked("gpt2", **options))
        change(model.model)
        with pytest.raises(Unreplayable, match=reason):
            record_hooked_transformer(model, Continued.alone(TOKENS), first=LAST)


def test_an_edit_of_another_shape() -> None:
    recording = record_hooked_transformer(hooked_layout("gpt2"), Continued.alone(TOKENS), first=LAST)
    with pytest.raises(ModelError, match="returned shape"):
        recording.block(0, None, fresh=2, edit=lambda z: z[:, :1], last_only=False)
