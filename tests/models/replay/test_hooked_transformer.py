"""A replayed HookedTransformer gives the numbers of the model's own hooked run, in every layout, or is refused."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from covering import spread
from models.replay.hooked_layouts import HOOKED_LAYOUTS, N_HEADS, N_LAYERS, build_hooked, hooked_layout
from toys import random_tokens, word_tokenizer

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued
from headcats.models.replay import hooked_block, hooked_transformer, shared_attention
from headcats.models.replay.hooked_transformer import record_hooked_transformer
from headcats.models.replay.recording import Recording, Unreplayable

pytestmark = pytest.mark.needs_tl3("HookedTransformer")

LENGTH = 10
TOKENS = random_tokens(3, LENGTH)
LAST = LENGTH - 1
TOLERANCE = 1e-5
HEADS = [(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]
# Behind the window, across it, and everything.
FIRSTS = (LAST, LENGTH - 3, 2, 0)


def replacements(model: HookedModel, tokens: torch.Tensor = TOKENS) -> dict[int, torch.Tensor]:
    """Layer -> z `[prompt, pos, head, d_head]`, other numbers at every position."""
    generator = torch.Generator().manual_seed(7)
    shape = (len(tokens), tokens.shape[1])
    return {
        layer: torch.randn(*shape, model.n_heads[layer], size, generator=generator, dtype=model.dtype)
        for layer, size in model.d_head.items()
    }


def put_in(new: torch.Tensor, heads: list[int], first: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """An edit of a hooked run: these heads' outputs at positions `first` and later."""

    def edit(z: torch.Tensor) -> torch.Tensor:
        for head in heads:
            z[:, first:, head] = new[:, first:, head]
        return z

    return edit


def one_head_per_fresh_row(new: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """An edit of rows: of the last ones, each gets another head's output."""

    def edit(z: torch.Tensor) -> torch.Tensor:
        heads = new.shape[2]
        for head in range(heads):
            z[:, z.shape[1] - heads + head, :, head] = new[:, -z.shape[2] :, head]
        return z

    return edit


def grow(recording: Recording, new: dict[int, torch.Tensor], *, cut: bool = True) -> torch.Tensor:
    """Residual streams `[prompt, layer * head, d_model]` at the last position, each head replaced in one row."""
    rows = None
    for layer, value in new.items():
        last, edit = cut and layer == N_LAYERS - 1, one_head_per_fresh_row(value)
        rows = recording.block(layer, rows, fresh=value.shape[2], edit=edit, last_only=last)
    assert rows is not None
    assert rows.shape[2] == (1 if cut else recording.width)
    return rows[:, :, -1]


def read(recording: Recording, residual: torch.Tensor) -> torch.Tensor:
    return recording.read(residual.flatten(0, 1)).unflatten(0, residual.shape[:2])


def hooked(model: HookedModel, new: dict[int, torch.Tensor], first: int, tokens: torch.Tensor = TOKENS) -> torch.Tensor:
    """What `grow` and `read` should give, one hooked run per head."""
    return torch.stack(
        [model.logits(tokens, edits={layer: put_in(new[layer], [head], first)}) for layer, head in HEADS], 1
    )


@pytest.mark.parametrize(("layout", "first"), spread(HOOKED_LAYOUTS, [(first,) for first in FIRSTS]))
def test_every_head_alone(layout: str, first: int) -> None:
    model = hooked_layout(layout)
    new = replacements(model)
    recording = record_hooked_transformer(model, Continued.alone(TOKENS), first=first)
    logits, z = model.capture(TOKENS)
    assert (recording.logits - logits).abs().max() <= TOLERANCE
    assert recording.logits.dtype == torch.float32
    rows = None
    for layer in range(N_LAYERS):
        assert (recording.z[layer] - z[layer][:, first:]).abs().max() <= TOLERANCE
        rows = recording.block(layer, rows, fresh=1, edit=None, last_only=layer == N_LAYERS - 1)
    assert (read(recording, rows[:, :, 0]) - logits.unsqueeze(1)).abs().max() <= TOLERANCE
    expected = hooked(model, new, first)
    assert (read(recording, grow(recording, new)) - expected).abs().max() <= TOLERANCE
    assert (read(recording, grow(recording, new, cut=False)) - expected).abs().max() <= TOLERANCE
    assert (expected - logits.unsqueeze(1)).abs().amax(-1).min() > 1e-2


@pytest.mark.parametrize(("layout", "first"), [("gemma2", LAST), ("mixtral", 4)])
def test_rows_are_changed_again(layout: str, first: int) -> None:
    model = hooked_layout(layout)
    # Two rows: heads 0 and 1 of layer 0 and head 2 of layer 1; head 3 of layer 1 and heads 0 and 2 of layer 2.
    new = replacements(model)
    plan: list[tuple[dict[int, list[int]], int]] = [({0: [0, 1]}, 1), ({0: [2], 1: [3]}, 1), ({1: [0, 2]}, 0)]
    recording = record_hooked_transformer(model, Continued.alone(TOKENS), first=first)
    rows = None
    for layer, (changes, fresh) in enumerate(plan):

        def edit(z: torch.Tensor, layer: int = layer, changes: dict[int, list[int]] = changes) -> torch.Tensor:
            for row, heads in changes.items():
                z[:, row, :, heads] = new[layer][:, -z.shape[2] :, heads]
            return z

        rows = recording.block(layer, rows, fresh=fresh, edit=edit, last_only=layer == 2)
    assert rows is not None
    found = read(recording, rows[:, :, -1])
    for row, joint in enumerate([{0: [0, 1], 1: [2]}, {1: [3], 2: [0, 2]}]):
        edits = {layer: put_in(new[layer], heads, first) for layer, heads in joint.items()}
        assert (found[:, row] - model.logits(TOKENS, edits=edits)).abs().max() <= TOLERANCE


def test_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for layout, limit, first in (("gpt2", 1, LAST), ("gemma2", 300, 4), ("gpt_oss", 1500, LAST)):
        model = hooked_layout(layout)
        new = replacements(model)
        recording = record_hooked_transformer(model, Continued.alone(TOKENS), first=first)
        expected = grow(recording, new)
        with monkeypatch.context() as patch:
            patch.setattr(shared_attention, "_SCORES_ON_CPU", limit)
            patch.setattr(hooked_block, "_MLP_CHUNK", 5)
            assert (grow(recording, new) - expected).abs().max() <= TOLERANCE, layout


def test_some_logits() -> None:
    for layout in ("gpt2", "gemma2", "no_norms"):
        model = hooked_layout(layout)
        recording = record_hooked_transformer(model, Continued.alone(TOKENS), first=LAST)
        residual = grow(recording, replacements(model))
        ids = torch.randint(60, (3, 2), generator=torch.Generator().manual_seed(0))
        expected = read(recording, residual).gather(2, ids.unsqueeze(1).expand(-1, residual.shape[1], -1))
        for _ in range(2):
            some = recording.read_some(residual, ids)
            assert some is not None
            assert (some - expected).abs().max() <= TOLERANCE


def test_a_single_prompt_and_short_ones() -> None:
    model = hooked_layout("mistral")
    for tokens, first in ((TOKENS[:1], 4), (TOKENS[:1], LAST), (TOKENS[:, :1], 0), (TOKENS[:2, :2], 1)):
        new = replacements(model, tokens)
        recording = record_hooked_transformer(model, Continued.alone(tokens), first=first)
        difference = read(recording, grow(recording, new)) - hooked(model, new, first, tokens)
        assert difference.abs().max() <= TOLERANCE


def test_left_padding_tokenizers(monkeypatch: pytest.MonkeyPatch) -> None:
    model = HookedModel(build_hooked("gpt2"))
    monkeypatch.setattr(model.model, "tokenizer", word_tokenizer())
    monkeypatch.setattr(model.model.tokenizer, "padding_side", "left")
    tokens = TOKENS.clone()
    tokens[:, :2] = model.model.tokenizer.pad_token_id
    new = replacements(model, tokens)
    recording = record_hooked_transformer(model, Continued.alone(tokens), first=5)
    assert (read(recording, grow(recording, new)) - hooked(model, new, 5, tokens)).abs().max() <= TOLERANCE


def test_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """As near to fp32 as the model's own hooked run in bfloat16 is."""
    layout, first = "gemma3", 4
    exact = hooked_layout(layout)
    model = HookedModel(build_hooked(layout, dtype=torch.bfloat16))
    assert model.dtype == torch.bfloat16
    new = replacements(model)
    recording = record_hooked_transformer(model, Continued.alone(TOKENS), first=first)
    monkeypatch.setattr(hooked_transformer, "_READ_CHUNK", 5)
    found, own = read(recording, grow(recording, new)), hooked(model, new, first)
    truth = hooked(exact, {layer: value.float() for layer, value in new.items()}, first)
    assert found.dtype == torch.float32
    errors = [float((value - truth).square().mean().sqrt()) for value in (found, own)]
    assert errors[0] < 1.5 * errors[1]
    assert errors[1] < 0.2 * float((truth - exact.logits(TOKENS).unsqueeze(1)).square().mean().sqrt())
    ids = torch.tensor([[5, 9]] * 3)
    assert recording.read_some(grow(recording, new), ids) is not None


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
