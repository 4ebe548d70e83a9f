"""The function-vector patch beside its definition, written once more with plain hooks and loops."""

from typing import Any

import numpy as np
import pytest
import torch
from batches import role_batch
from toy_cases import shared_toy
from toys import LAYOUTS, random_tokens, tiny_model

import headcats as hc
from headcats.methods.method import TaskInputs
from headcats.models.adapter import adapt
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

TOLERANCE = 1e-5
ROLES = ("bos", "before", "x_query", "between_query")


def hook(layer: int) -> str:
    return f"blocks.{layer}.attn.hook_z"


@torch.no_grad()
def prob(model: Any, tokens: torch.Tensor, answer: int, *, layer: int = -1, head: int = 0, z: Any = None) -> float:
    """P(answer) after one prompt, with one head's z at the last position set to a vector."""

    def put(value: torch.Tensor, hook: Any) -> torch.Tensor:
        value[:, -1, head] = z
        return value

    hooks = [] if z is None else [(hook(layer), put)]
    logits = model.run_with_hooks(tokens[None], fwd_hooks=hooks, return_type="logits")
    return float(logits[0, -1].float().softmax(-1)[answer])


@torch.no_grad()
def mean_z(model: Any, prompts: list[torch.Tensor], n_layers: int) -> list[torch.Tensor]:
    """Layer by layer, the mean over prompts, one at a time, of z `[head, d_head]` at the last position."""
    seen: list[list[torch.Tensor]] = [[] for _ in range(n_layers)]

    def keep(layer: int) -> Any:
        return lambda z, hook: seen[layer].append(z[0, -1].clone())

    for tokens in prompts:
        model.run_with_hooks(tokens[None], fwd_hooks=[(hook(layer), keep(layer)) for layer in range(n_layers)])
    return [torch.stack(values).double().mean(0).float() for values in seen]


def literal(model: Any, batches: list[PromptBatch], reference: list[PromptBatch], shape: tuple[int, int]) -> np.ndarray:
    """`P_patched(answer) - P_corrupted(answer)`, `[prompt, layer, head]`."""
    clean = [row for batch in reference for row in batch.clean]
    scored = [pair for batch in batches for pair in zip(batch.corrupted, batch.answer.tolist(), strict=True)]
    found = np.zeros((len(scored), *shape))
    for layer, means in enumerate(mean_z(model, clean, shape[0])):
        for row, (tokens, answer) in enumerate(scored):
            corrupted = prob(model, tokens, answer)
            for head in range(shape[1]):
                found[row, layer, head] = prob(model, tokens, answer, layer=layer, head=head, z=means[head]) - corrupted
    return found


def differences(block: Any) -> np.ndarray:
    return (block.patched - block.corrupted).sel(metric="prob").transpose("prompt", "layer", "head").values


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equals_its_definition_on_prompts_of_several_lengths(layout: Any) -> None:
    model = tiny_model(layout, n_layers=2).model
    # The same roles at the end, whatever stands before: the reference has two lengths, and neither is the scored one.
    scored = role_batch(
        random_tokens(3, 5).tolist(), [("bos", "before[0/2]", "before[1/2]", *ROLES[2:])] * 3,
        corrupted=random_tokens(3, 5, seed=1).tolist(), task="t",
    )  # fmt: skip
    short = role_batch(random_tokens(20, 4, seed=2).tolist(), [ROLES] * 20, task="t")
    long = role_batch(
        random_tokens(7, 6, seed=3).tolist(), [("bos", *(f"before[{i}/3]" for i in range(3)), *ROLES[2:])] * 7, task="t"
    )
    reference = Reference([short, long], name="task")
    inputs = TaskInputs((BaseRuns(adapt(model), scored),), ("prob",), lambda kind: reference)
    block = hc.methods.function_vector_patch.on_part(inputs, "task", positions="last")
    assert (block.attrs["path"], block.attrs["base"], block.attrs["reference"]) == (
        "last_position",
        "corrupted",
        "task",
    )
    expected = literal(model, [scored], [short, long], (2, 4))
    assert np.abs(expected).max() > 1e-3
    assert np.abs(differences(block) - expected).max() < TOLERANCE
    by_hooks = hc.sweep(
        model, scored, "function_vector_patch", metrics=["prob"], path="hooked", reference=[short, long]
    )
    assert np.abs(differences(by_hooks) - differences(block)).max() < TOLERANCE


def test_nothing_is_left_out_where_both_runs_agree() -> None:
    # The last tokens are the same in both runs: a method that only moved differences would patch nothing here.
    model, tokens = shared_toy("llama").model, random_tokens(3, 5)
    batch = PromptBatch.from_tokens(tokens, tokens, [5, 6, 7], [8, 9, 10])
    block = hc.methods.function_vector_patch(model, batch, metrics=["prob"])
    assert np.abs(differences(block) - literal(model, [batch], [batch], (2, 4))).max() < TOLERANCE
    assert np.abs(differences(block)).max() > 1e-4
