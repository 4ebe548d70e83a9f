"""Layer x role views against plain hooks, transformer_lens.patching and planted heads."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from batches import role_batch
from planted import planted_model, slot_batch
from toy_cases import TOYS, shared_toy
from toys import random_tokens, tiny_model

from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.models.adapter import adapt
from headcats.papers.token_probe.role_patching import patching_by_role
from headcats.prompts.batch import PromptBatch

LABELS = ("bos", "x1[0/2]", "x1[1/2]", "y1", "x_query", "last")


def diff(logits: torch.Tensor, batch: PromptBatch) -> torch.Tensor:
    rows = torch.arange(len(batch))
    return logits[rows, batch.answer] - logits[rows, batch.distractor]


def gapped(model: Any, labels: tuple[str, ...] = LABELS, n: int = 12) -> PromptBatch:
    """Random prompts whose answer is what the model says, and whose distractor what it says of the corrupted ones."""
    clean, corrupted = random_tokens(n, len(labels), seed=1), random_tokens(n, len(labels), seed=2)
    gap = adapt(model).logits(clean) - adapt(model).logits(corrupted)
    batch = role_batch(clean.tolist(), [labels] * n, corrupted=corrupted.tolist())
    return replace(batch, answer=gap.argmax(-1), distractor=gap.argmin(-1))


@pytest.mark.parametrize("quantity", ["resid", "attn_out"])
@pytest.mark.parametrize(("layout", "backend"), TOYS)
def test_effects_are_those_of_one_hook_at_a_time(layout: Any, backend: Any, quantity: str) -> None:
    model = tiny_model(layout, backend, n_layers=2).model
    batch = gapped(model)
    found = patching_by_role(model, batch, quantity=quantity)
    assert found.role.values.tolist() == ["bos", "x1", "y1", "x_query", "last"]
    places = {"bos": [0], "x1": [1, 2], "y1": [3], "x_query": [4], "last": [5]}
    hook = {"resid": "hook_resid_pre", "attn_out": "hook_attn_out"}[quantity]
    gap = (diff(adapt(model).logits(batch.clean), batch) - diff(adapt(model).logits(batch.corrupted), batch)).mean()
    for layer in (0, 1):
        name = f"blocks.{layer}.{hook}"
        seen: list[torch.Tensor] = []
        model.run_with_hooks(batch.clean, fwd_hooks=[(name, lambda x, hook: seen.append(x.detach().clone()))])  # noqa: B023
        for role, at in places.items():

            def patch(x: torch.Tensor, hook: Any) -> torch.Tensor:
                x = x.clone()
                x[:, at] = seen[0][:, at]  # noqa: B023
                return x

            with torch.no_grad():
                patched = model.run_with_hooks(batch.corrupted, fwd_hooks=[(name, patch)])[:, -1]
            change = (diff(patched, batch) - diff(adapt(model).logits(batch.corrupted), batch)).mean()
            cell = found.sel(layer=layer, role=role)
            assert abs(float(cell.effect) - float(change / gap)) < 1e-4
            assert cell.low <= cell.effect <= cell.high
    assert abs(found.gap - float(gap)).max() < 1e-4
    assert float(abs(found.effect).max()) > 0.05


def test_a_planted_head_is_seen_where_it_reads_and_where_it_writes() -> None:
    model = planted_model({(1, 2): 1})
    batch = slot_batch(1, n=20, task="t")
    resid = patching_by_role(model, batch).effect
    assert abs(resid.sel(layer=0, role="slot1") - 1) < 1e-5
    assert abs(resid.sel(layer=1, role="slot1") - 1) < 1e-5
    assert abs(resid.sel(role="query")).max() < 1e-5  # both layers are read before the head has moved it
    out = patching_by_role(model, batch, quantity="attn_out").effect
    assert abs(out.sel(layer=1, role="query") - 1) < 1e-5
    assert abs(out.drop_sel(role="query")).max() < 1e-5


def test_batches_of_different_length_are_aligned_by_role() -> None:
    model = planted_model({(0, 1): 2})
    short = slot_batch(2, n=8, seed=1, task="t")
    long = slot_batch(2, n=12, seed=2, task="t")
    padded = torch.full((12, 1), 2)
    labels = (("bos", "slot1", "slot2", "extra", "query"),) * 12

    def longer(tokens: torch.Tensor) -> torch.Tensor:
        return torch.cat([tokens[:, :3], padded, tokens[:, 3:]], 1)

    long = replace(
        long, clean=longer(long.clean), corrupted=longer(long.corrupted), second=None, second_tasks=None,
        labels=labels, corrupted_labels=labels, keys=tuple(f"long {n}" for n in range(12)),
    )  # fmt: skip
    both = patching_by_role(model, [short, long])
    assert both.role.values.tolist() == ["bos", "slot1", "slot2", "query"]
    assert both.attrs["left_out"] == "extra"
    assert both.attrs["task"] == "t"
    assert patching_by_role(model, [short, replace(short, task="u")]).attrs["task"] == "t, u"
    assert "task" not in patching_by_role(model, replace(short, task="")).attrs
    assert both.n.values.tolist() == [20] * 4
    assert both.n_items.values.tolist() == [12] * 4  # the items of both have the same names
    one, other = (patching_by_role(model, batch, roles=["slot2"]) for batch in (short, long))
    assert one.identical(patching_by_role(model, short, roles="slot2"))
    together = (8 * one.effect * one.gap + 12 * other.effect * other.gap) / (20 * both.gap.sel(role=["slot2"]))
    assert abs(both.effect.sel(role=["slot2"]) - together).max() < 1e-6


def test_prompts_go_through_the_model_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model = planted_model({(1, 2): 1})
    batch = slot_batch(1, n=8, task="t")
    whole = patching_by_role(model, batch)
    monkeypatch.setattr(PromptBatch, "in_parts", functools.partialmethod(PromptBatch.in_parts, max_tokens=12))
    assert abs(patching_by_role(model, batch).effect - whole.effect).max() < 1e-6


def test_prompts_without_roles_have_their_end() -> None:
    batch = slot_batch(1, n=8).without_roles()
    model = planted_model({(1, 2): 1})
    found = patching_by_role(model, batch)
    assert found["role"].values.tolist() == ["other", "end"]
    at_last = patching_by_role(model, batch, roles=["last"])
    np.testing.assert_array_equal(found.effect.sel(role="end"), at_last.effect.sel(role="last"))


def test_bad_input_is_refused() -> None:
    model = shared_toy(n_layers=1).model
    batch = gapped(model)
    without = replace(batch, corrupted_labels=(tuple("abcdef"),) * 12)
    for batches, options, error, message in (
        (batch, {"quantity": "mlp"}, OptionError, "'resid' or 'attn_out'; .*'mlp'"),
        (batch, {"metric": "logit_dif"}, UnknownNameError, "'logit_diff'"),
        (batch, {"roles": ["y7"]}, DataError, "'y7'"),
        (replace(batch, corrupted=batch.clean), {}, DataError, "clear gap"),
        (without, {"roles": ["y1"]}, DataError, "corrupted .* 'y1'"),
        (without, {}, DataError, "No role"),
        ([], {}, DataError, "PromptBatch"),
    ):
        with pytest.raises(error, match=message):
            patching_by_role(model, batches, **options)


def test_prompts_of_unequal_length_are_matched_by_role() -> None:
    """`x1` has two tokens in half of the clean prompts, and one in all corrupted ones: it is patched in the others."""
    model = shared_toy("llama").model
    longer = random_tokens(4, 6, seed=6)
    corrupted, names = random_tokens(4, 5, seed=1), ("bos", "x1", "y1", "x_query", "last")
    two = ("bos", "x1[0/2]", "x1[1/2]", "y1", "x_query", "last")
    short = role_batch(longer[:, 1:].tolist(), [names] * 4, corrupted=corrupted.tolist(), task="t")
    long = role_batch(longer.tolist(), [two] * 4, corrupted=corrupted.tolist(), corrupted_labels=[names] * 4, task="t")
    logits = {side: adapt(model).logits(getattr(long, side)) for side in ("clean", "corrupted")}
    gap = logits["clean"] - logits["corrupted"]
    short, long = (
        replace(batch, answer=gap.argmax(-1), distractor=gap.argmin(-1), keys=tuple(f"{n} {k}" for k in range(4)))
        for n, batch in enumerate((short, long))
    )
    mixed, alone = (patching_by_role(model, batches, roles=["y1", "x1"]) for batches in ([long, short], [short]))
    assert mixed.n.sel(role="y1") == 8
    assert mixed.n.sel(role="x1") == 4
    np.testing.assert_allclose(mixed.effect.sel(role="x1"), alone.effect.sel(role="x1"), atol=1e-5)
    hook, seen = "hook_resid_pre", []
    model.run_with_hooks(long.clean, fwd_hooks=[(f"blocks.1.{hook}", lambda x, hook: seen.append(x.detach().clone()))])

    def patch(x: torch.Tensor, hook: Any) -> torch.Tensor:
        x[:, 2] = seen[0][:, 3]
        return x

    with torch.no_grad():
        patched = model.run_with_hooks(long.corrupted, fwd_hooks=[(f"blocks.1.{hook}", patch)])[:, -1]
    alone = patching_by_role(model, long, roles=["y1"])
    change = (diff(patched, long) - diff(logits["corrupted"], long)).mean()
    assert abs(float(alone.effect.sel(layer=1, role="y1") * alone.gap[0]) - float(change)) < 1e-4
