"""Attention for some rows of a block alone: the others bring the head outputs that were recorded."""

from typing import Any

import pytest
import torch
from toys import Toy, random_tokens

from headcats.models.adapter import HookedModel, adapt
from headcats.models.continued import Continued
from headcats.models.hooks import hook_z
from headcats.models.replay.bridge import record_bridge
from headcats.models.replay.row_layout import RowLayout, with_fresh

PROMPTS, LENGTH, FIRST = 3, 10, 6
TOKENS = random_tokens(PROMPTS, LENGTH)
LAYER = 1


@pytest.fixture
def model(toy: Toy) -> HookedModel:
    return adapt(toy.model)


def shapes_of(model: HookedModel, hook: str, seen: list[tuple[int, ...]]) -> Any:
    return model.model.hook_dict[hook].register_forward_hook(lambda module, args, output: seen.append(output.shape[:2]))


def test_spread_and_gather_are_the_reverse_of_each_other() -> None:
    rows = torch.arange(2 * 4 * 3 * 5).view(2, 4, 3, 5)
    for one_sequence, shape in ((False, (8, 3, 5)), (True, (2, 12, 5))):
        row_layout = RowLayout(prompts=2, width=3, one_sequence=one_sequence)
        gathered = row_layout.gather(rows)
        assert gathered.shape == shape
        assert torch.equal(row_layout.spread(gathered), rows)


def test_fresh_rows_come_last() -> None:
    changed, unpatched = torch.ones(2, 1, 3, 4), torch.zeros(2, 3, 4)
    assert with_fresh(changed, unpatched, 2).sum((0, 2, 3)).tolist() == [24, 0, 0]
    assert with_fresh(changed, unpatched, 0) is changed


@pytest.mark.parametrize(
    ("first", "last_only", "changed"), [(LENGTH - 1, False, 2), (FIRST, False, 0), (FIRST, True, 2)]
)
def test_attention_is_run_for_changed_rows_alone(model: HookedModel, first: int, last_only: bool, changed: int) -> None:
    """And the MLP for all of them, whose numbers are those of rows that all go through the attention."""
    recording = record_bridge(model, Continued.alone(TOKENS), first=first)
    base, fresh = recording.entering(LAYER), 3
    draws = torch.Generator().manual_seed(0)
    noise = torch.randn(PROMPTS, changed, *base.shape[1:], generator=draws)
    rows = base[:, None] + noise
    width = 1 if last_only else LENGTH - first

    def zeroes(z: torch.Tensor) -> torch.Tensor:
        assert z.shape[:3] == (PROMPTS, changed + fresh, width)
        z[:, :, :, 1] = 0
        return z

    queries: list[tuple[int, ...]] = []
    hidden: list[tuple[int, ...]] = []
    handles = [shapes_of(model, f"blocks.{LAYER}.attn.hook_q", queries)]
    handles.append(shapes_of(model, f"blocks.{LAYER}.mlp.hook_out", hidden))
    try:
        found = recording.block(LAYER, rows, fresh=fresh, edit=zeroes, last_only=last_only)
    finally:
        for handle in handles:
            handle.remove()
    assert {of_rows * positions for of_rows, positions in queries[-1:]} == {PROMPTS * max(1, changed) * width}
    assert {of_rows * positions for of_rows, positions in hidden} == {PROMPTS * (changed + fresh) * width}
    every_row = torch.cat([rows, base[:, None].expand(-1, fresh, -1, -1)], 1)
    expected = recording.block(LAYER, every_row, fresh=0, edit=zeroes, last_only=last_only)
    assert (found - expected).abs().max() < 1e-5


def test_no_hook_is_left(model: HookedModel) -> None:
    recording = record_bridge(model, Continued.alone(TOKENS), first=FIRST)
    rows = recording.entering(LAYER)[:, None]

    def edit(z: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("broken")

    before = [len(module._forward_pre_hooks) for module in model.model.modules()]
    with pytest.raises(RuntimeError, match="broken"):
        recording.block(LAYER, rows, fresh=1, edit=edit, last_only=False)
    assert [len(module._forward_pre_hooks) for module in model.model.modules()] == before
    assert not model.model.hook_dict[hook_z(LAYER)].fwd_hooks
