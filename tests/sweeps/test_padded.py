"""Prompts of several lengths in one batch have the numbers that they have alone, on every architecture."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES, bridge_of, hf_architecture, tiny_bridge
from toys import D_VOCAB, random_tokens, tiny_model

from headcats.base.errors import DataError, ModelWarning
from headcats.models.adapter import adapt
from headcats.models.checks import takes_padding
from headcats.models.continued import PADDING
from headcats.models.replay.bridge_block import BlockArguments
from headcats.prompts.batch import PromptBatch
from headcats.prompts.padding import in_order, keys_of, padded_together
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.reference import Reference

SHAPES = [(2, 7, 8, 0), (1, 8, 7, 1), (1, 7, 9, 2), (2, 7, 6, 1)]
"""Prompts, tokens of clean and corrupted ones, tokens of answers after the first."""
# In plain transformers its logits in fp32 are 1.2e-4 from those in fp64, and padding moves them by 3.4e-5 (on a Xeon).
ROUNDING = {"qwen3_next": 5e-5}


def batch_of(number: int, n: int, clean: int, corrupted: int, steps: int) -> PromptBatch:
    """Random tokens with a second corruption, and roles that only the last tokens share."""
    ids = torch.randperm(D_VOCAB, generator=torch.Generator().manual_seed(number)).tolist()
    batch = PromptBatch.from_tokens(
        random_tokens(n, clean, seed=number),
        random_tokens(n, corrupted, seed=number + 20),
        [ids[place : place + 1 + steps] for place in range(n)],
        [ids[10 + place : 11 + place + steps] for place in range(n)],
        second=random_tokens(n, corrupted + 1, seed=number + 40),
    )
    keys = tuple(f"{number}/{prompt}" for prompt in range(n))
    labels = [((*(f"t{place}" for place in range(length - 1)), "end"),) * n for length in (clean, corrupted)]
    return replace(batch, keys=keys, items=keys, labels=labels[0], corrupted_labels=labels[1], second_labels=None)


@pytest.fixture(scope="module")
def apart() -> list[PromptBatch]:
    """Batches of one length each."""
    batches = [batch_of(number, *shape) for number, shape in enumerate(SHAPES)]
    return [
        replace(batch, second_labels=tuple(("bos", *labels) for labels in batch.corrupted_labels)) for batch in batches
    ]


def test_all_prompts_are_there_once_with_what_is_theirs(apart: list[PromptBatch]) -> None:
    together = padded_together(apart)
    assert [(len(batch), batch.steps) for batch in together] == [(2, 0), (3, 1), (1, 2)]
    keys = keys_of(together)
    assert sorted(keys) == sorted(keys_of(apart))
    for batch in together:
        for row, key in enumerate(batch.keys):
            number, prompt = map(int, key.split("/"))
            alone = apart[number]
            for side in ("clean", "corrupted", "second"):
                tokens, own = getattr(batch, side)[row], getattr(alone, side)[prompt]
                assert tokens.tolist() == [PADDING] * (len(tokens) - len(own)) + own.tolist()
                assert batch.roles_of(side)[row][-len(own) :] == alone.roles_of(side)[prompt]
            assert batch.answers[row][: 1 + alone.steps].tolist() == alone.answers[prompt].tolist()
            assert (batch.answers[row][1 + alone.steps :] == -1).all()
    assert [keys[place] for place in in_order(keys, keys_of(apart))] == keys_of(apart)


def test_long_prompts_and_long_answers_are_not_mixed_with_short_ones() -> None:
    lengths = [(1, 8, 8, 0), (1, 9, 9, 0), (1, 30, 30, 0), (1, 9, 9, 5), (1, 9, 9, 6)]
    together = padded_together([batch_of(number, *shape) for number, shape in enumerate(lengths)])
    assert [(len(batch), batch.length, batch.steps) for batch in together] == [(2, 9, 0), (1, 30, 0), (2, 9, 6)]


def test_no_prompt_becomes_longer_than_the_context_for_the_answer_of_another() -> None:
    batches = [batch_of(0, 1, 15, 15, 2), batch_of(1, 1, 13, 13, 3)]
    assert len(padded_together(batches)) == 1
    for n_ctx in (16, 17):
        assert [batch.length for batch in padded_together(batches, n_ctx=n_ctx)] == [13, 15]


def test_a_replay_that_mixes_up_prompts_of_several_lengths_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_for_all(arguments: BlockArguments, name: str, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)(first_for_all(arguments, name, part) for part in value)
        per_prompt = isinstance(value, torch.Tensor) and name in ("attention_mask", "position_embeddings")
        return value[:1] if per_prompt else value

    apart = [batch_of(0, 3, 7, 7, 0), batch_of(1, 3, 8, 8, 0)]
    model = adapt(bridge_of(hf_architecture("llama")))
    (together,) = padded_together(apart)
    assert sweep(model, apart[1], "denoising_patch").attrs["path"] == "last_position"
    monkeypatch.setattr(BlockArguments, "_shared", first_for_all)
    with pytest.warns(ModelWarning, match="differs from the hooked path"):
        assert sweep(model, together, "denoising_patch").attrs["path"] == "hooked"


@pytest.mark.parametrize("method", ["other_item_patch", "resample_ablation"])
@pytest.mark.parametrize("with_roles", [True, False])
def test_donors_are_the_same_however_prompts_are_put_together(method: str, with_roles: bool) -> None:
    def of_task(task: str, seed: int) -> list[PromptBatch]:
        made = [batch_of(seed + number, 3, length, length, 0) for number, length in enumerate((7, 8))]
        return [replace(each if with_roles else each.without_roles(), task=task) for each in made]

    model, apart = adapt(tiny_bridge("gpt2")), of_task("a", 0)
    reference = [*of_task("a", 4), *of_task("b", 8)]
    together = padded_together(apart)
    joined = [batch for task in "ab" for batch in padded_together([each for each in reference if each.task == task])]
    order = in_order(keys_of(together), keys_of(apart))
    found = []
    for batches, of in ((apart, reference), (together, joined)):
        given = Reference(of)
        found.append(
            np.concatenate(
                [sweep(model, batch, method, positions="last", reference=given).patched for batch in batches], axis=1
            )
        )
    np.testing.assert_allclose(found[1][:, order], found[0], atol=2e-5, rtol=2e-5)


def test_without_roles_prompts_of_several_lengths_have_no_mean_by_place() -> None:
    model = adapt(tiny_bridge("gpt2"))
    (together,) = padded_together([batch_of(0, 3, 7, 7, 0).without_roles(), batch_of(1, 3, 8, 8, 0).without_roles()])
    scored = batch_of(2, 2, 8, 8, 0).without_roles()
    with pytest.raises(DataError, match=r"\[7, 8\]"):
        sweep(model, scored, "mean_ablation", positions="all", reference=Reference(together))


@pytest.mark.filterwarnings("ignore::headcats.base.errors.ModelWarning")
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_numbers_are_those_of_each_length_apart(name: str, apart: list[PromptBatch]) -> None:
    model, together = adapt(tiny_bridge(name)), padded_together(apart)
    assert all(takes_padding(model, getattr(batch, side)) for batch in together for side in ("clean", "corrupted"))
    order = in_order(keys_of(together), keys_of(apart))
    for method, positions, path in [
        ("denoising_patch", "last", "auto"),
        ("noising_patch", "answer", "auto"),
        ("second_corruption_patch", "last", "hooked"),
    ]:
        expected, found = (
            np.concatenate(
                [
                    sweep(
                        model, batch, method, positions=positions, path=path, metrics=["logit_diff", "log_prob"]
                    ).patched
                    for batch in batches
                ],
                axis=1,
            )
            for batches in (apart, together)
        )
        np.testing.assert_allclose(found[:, order], expected, atol=ROUNDING.get(name, 2e-5), rtol=2e-5)


def test_a_hooked_transformer_takes_no_padding(apart: list[PromptBatch]) -> None:
    try:
        model = adapt(tiny_model("gpt2", "hooked").model)
    except (ImportError, RuntimeError):
        pytest.skip("transformer-lens 4 has no HookedTransformer")
    assert not takes_padding(model, padded_together(apart)[1].clean)


def test_a_model_that_sees_what_stands_in_front_takes_no_padding(
    monkeypatch: pytest.MonkeyPatch, apart: list[PromptBatch]
) -> None:
    monkeypatch.setattr("headcats.models.hooks.PADDING", -7)  # no mask is made
    monkeypatch.setattr("headcats.models.checks._padded", {})
    for dtype in (torch.float32, torch.bfloat16):  # of 16 bits the rounding alone is large
        model = adapt(bridge_of(hf_architecture("llama").to(dtype)))
        assert not takes_padding(model, padded_together(apart)[1].clean)


def test_a_model_in_16_bits_takes_padding(apart: list[PromptBatch]) -> None:
    model = adapt(bridge_of(hf_architecture("llama").to(torch.bfloat16)))
    assert takes_padding(model, padded_together(apart)[1].clean)
