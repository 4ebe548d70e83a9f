"""The controls of the denoising patch: what their donors do, worked out by hand, and prompts that have none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from batches import random_batch, random_role_batch, with_second
from planted import planted_model, slot_batch
from toy_cases import shared_toy
from toys import tiny_model

import headcats as hc
from headcats.base.errors import DataError
from headcats.methods.method import TaskInputs
from headcats.models.adapter import adapt
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

SECOND = "second_corruption_patch"


@pytest.fixture(scope="module")
def model() -> Any:
    return adapt(shared_toy().model)


# ---------------------------------------------------------------------------------------------- second corruption
def study(model: Any, *batches: hc.PromptBatch) -> TaskInputs:
    return TaskInputs(tuple(BaseRuns(model, batch) for batch in batches), ("logit_diff",), lambda kind: None)


def share(ds: Any) -> np.ndarray:
    """[prompt, layer, head], shares of the mean gap."""
    return ((ds.patched - ds.corrupted) / (ds.clean - ds.corrupted).mean("prompt")).squeeze("metric").values


def test_a_head_that_moves_a_token_moves_the_third_one_and_no_other() -> None:
    # Clean: the answer's logit is s. Corrupted: the distractor's. With the donor the third token's, and both are level:
    # half of the gap, where the clean donor gives all of it.
    ds = hc.sweep(planted_model({(0, 2): 1}), slot_batch(1), SECOND)
    found, expected = share(ds), np.zeros((20, 2, 4))
    expected[:, 0, 2] = 0.5
    assert np.abs(found - expected).max() < 1e-6
    assert set(ds.second_task.values) == {"third"}
    batch = slot_batch(1)
    for tokens, whole in ((batch.corrupted, 0.0), (batch.clean, 1.0)):  # the distractor or the answer once more
        ds = hc.sweep(planted_model({(1, 0): 1}), replace(batch, second=tokens), SECOND)
        assert np.abs(share(ds)[:, 1, 0] - whole).max() < 1e-6


def test_joint_sweeps_read_it_too(model: Any) -> None:
    batch = with_second(random_batch(3, 7))
    fast, plain = (
        hc.evidence.joint_sweep(model, batch, SECOND, [["L0H1", "L1H2"], ["L0H1"]], path=p) for p in ("auto", "hooked")
    )
    assert fast.attrs["path"] == "last_position"
    assert np.abs(fast.patched - plain.patched).max() < 1e-5
    single = hc.sweep(model, batch, SECOND).patched.sel(layer=0, head=1)
    assert np.abs(fast.patched.isel(set=1) - single).max() < 1e-5
    assert fast.second_task.values.tolist() == ["wrong 0", "wrong 1", "wrong 0"]


def test_other_methods_do_not_notice_it(model: Any) -> None:
    for name in ("denoising_patch", "zero_ablation"):
        without, beside = (
            hc.sweep(model, batch, name) for batch in (random_batch(3, 7), with_second(random_batch(3, 7)))
        )
        for variable in ("patched", "clean", "corrupted"):
            assert np.array_equal(beside[variable].values, without[variable].values)
        assert "second_task" not in beside.coords


class TestPromptsWithout:
    def test_a_study_leaves_them_out_and_counts_them(self, model: Any) -> None:
        whole, other = with_second(random_batch(5, 7), lacking=[1, 3]), with_second(random_batch(3, 9), lacking=[0])
        method = hc.methods.second_corruption_patch
        found = method.on_part(study(model, whole, other, random_batch(4, 8)), "task", positions="last")
        kept = [whole.select([0, 2, 4]), other.select([1, 2])]
        assert found.key.values.tolist() == [key for batch in kept for key in batch.keys]
        assert found.attrs["dropped"] == 3 + 4  # no prompt of the third batch has one
        parts = [hc.sweep(model, batch, SECOND) for batch in kept]
        expected = np.concatenate([part.patched.values for part in parts], axis=1)
        assert np.abs(found.patched.values - expected).max() < 1e-5
        assert found.second_task.values.tolist() == [name for batch in kept for name in batch.second_tasks]
        assert "second" in method.why_dropped
        with pytest.raises(DataError, match="of the 7"):
            method.on_part(study(model, random_batch(4, 7), random_batch(3, 8)), "task", positions="last")

    def test_a_sweep_refuses_them_by_name(self, model: Any) -> None:
        for sweep in (hc.sweep, lambda *args: hc.evidence.joint_sweep(*args, [["L0H0"]])):
            with pytest.raises(DataError, match=r"'prompt 1' .*2 of 4 "):
                sweep(model, with_second(random_batch(4), lacking=[1, 3]), SECOND)
            with pytest.raises(DataError, match=r"\(4 of 4 prompts\)"):
                sweep(model, random_batch(4), SECOND)

    def test_ids_outside_the_vocabulary_are_refused(self, model: Any) -> None:
        batch = with_second(random_batch(4))
        with pytest.raises(DataError, match="second prompts"):
            hc.sweep(model, replace(batch, second=batch.second + 1000), SECOND)


def test_in_16_bits_the_noise_is_that_of_the_prompts_that_stay() -> None:
    short = adapt(tiny_model("gpt2", n_layers=2).model.to(torch.bfloat16))
    found = hc.methods.second_corruption_patch.on_part(
        study(short, with_second(random_batch(5, 7), lacking=[1])), "task", positions="last"
    )
    change = abs((found.patched - found.corrupted).mean("prompt"))
    assert bool((found.below_noise == (change < 2 * found.noise)).all())


# ------------------------------------- another item: a donor of the same task brings the task and not the item
def on_task(model: Any, batch: hc.PromptBatch, reference: hc.PromptBatch) -> Any:
    inputs = TaskInputs((BaseRuns(adapt(model), batch),), ("logit_diff",), lambda kind: Reference(reference, name=kind))
    return hc.methods.other_item_patch.on_part(inputs, "task", positions="last")


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
    ds = hc.sweep(model, batch, "other_item_patch")
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
    assert hc.sweep(model, batch, "other_item_patch").identical(ds)
