"""The other-item patch: a donor of the same task brings the task and not the item."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from batches import random_role_batch
from planted import planted_model, slot_batch
from toy_cases import shared_toy

import headcats as hc
from headcats.base.errors import DataError
from headcats.methods.causal.on_task import TaskInputs
from headcats.models.adapter import adapt
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

METHOD = "other_item_patch"


@pytest.fixture(scope="module")
def model() -> Any:
    return adapt(shared_toy().model)


def share(ds: Any) -> np.ndarray:
    return ((ds.patched - ds.corrupted) / (ds.clean - ds.corrupted).mean("prompt")).squeeze("metric").values


def on_task(model: Any, batch: hc.PromptBatch, reference: hc.PromptBatch) -> Any:
    inputs = TaskInputs((BaseRuns(adapt(model), batch),), ("logit_diff",), lambda kind: Reference(reference, name=kind))
    return hc.methods.other_item_patch.on_task(inputs, positions="last")


def donors_of(tokens: list[int], *, n: int, task: str = "t") -> hc.PromptBatch:
    """Held-out prompts of one other item, all with the same tokens."""
    batch = slot_batch(1, n=n, task=task)
    return replace(batch, clean=torch.tensor([tokens] * n), items=("elsewhere",) * n)


def test_a_head_that_moves_the_answer_moves_that_of_the_donor() -> None:
    # The donor's answer is neither of the two: level, half of the gap; a head about the item alone has no more.
    batch = slot_batch(1, n=20, task="t")
    used = {int(token) for token in torch.cat([batch.answer, batch.distractor])}
    free = next(token for token in range(3, 24) if token not in used or token == 23)
    rows = [row for row in range(20) if free not in (int(batch.answer[row]), int(batch.distractor[row]))]
    ds = on_task(planted_model({(0, 2): 1}), batch.select(rows), donors_of([0, free, 2, 1], n=3))
    expected = np.zeros((len(rows), 2, 4))
    expected[:, 0, 2] = 0.5
    assert np.abs(share(ds) - expected).max() < 1e-6
    assert ds.attrs["reference"] == "other_items"
    assert ds.attrs["base"] == "corrupted"


def test_a_donor_with_the_same_answer_has_the_whole_effect() -> None:
    batch = slot_batch(1, n=1, task="t")
    ds = on_task(planted_model({(1, 3): 1}), batch, donors_of(batch.clean[0].tolist(), n=2))
    assert abs(share(ds)[0, 1, 3] - 1) < 1e-6


def test_prompts_of_the_donors_item_are_dropped_and_counted(model: Any) -> None:
    scored = replace(random_role_batch(5, task="t"), items=("a", "b", "c", "d", "e"))
    held_out = replace(random_role_batch(6, seed=9, task="t"), items=("b",) * 6)
    found = on_task(model, scored, held_out)
    assert found.key.values.tolist() == ["t 0", "t 2", "t 3", "t 4"]
    assert found.attrs["dropped"] == 1
    with pytest.raises(DataError, match="no reference prompt"):
        on_task(model, replace(scored, items=("b",) * 5), held_out)
    with pytest.raises(DataError, match=r"5 of 5 prompts"):
        on_task(model, scored, replace(held_out, task="another"))
    assert "second" not in hc.methods.other_item_patch.why_dropped


def test_on_tokens_of_a_script_the_donors_are_other_prompts_of_the_batch(model: Any) -> None:
    clean = [[0, 10 + n, 30, 31] for n in range(6)]
    corrupted = [[0, 40 + n, 30, 31] for n in range(6)]
    batch = hc.PromptBatch.from_tokens(clean, corrupted, [5] * 6, [6] * 6, items=list("ababab"))
    ds = hc.sweep(model, batch, METHOD)
    z = model.capture(batch.clean)[1]
    for prompt in range(6):
        possible = []
        for donor in range(1 - prompt % 2, 6, 2):  # those with the other item
            row = batch.corrupted[[prompt]]

            def edit(value: torch.Tensor, donor: int = donor) -> torch.Tensor:
                value = value.clone()
                value[:, -1, 2] = z[0][donor, -1, 2]
                return value

            logits = model.logits(row, edits={0: edit})[0]
            possible.append(float(logits[5] - logits[6]))
        found = float(ds.patched.sel(layer=0, head=2).isel(metric=0, prompt=prompt))
        assert min(abs(found - one) for one in possible) < 1e-5
    assert hc.sweep(model, batch, METHOD).identical(ds)
