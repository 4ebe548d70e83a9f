"""Logits and caches of TransformerLens in the place of unpatched runs: the same numbers, and nothing computed again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from batches import random_batch
from prefixes import prefixed_batch
from toys import Toy, random_tokens

from headcats.base.errors import DataError
from headcats.models.replay.record import record
from headcats.prompts.batch import PromptBatch
from headcats.sweeps import runs
from headcats.sweeps.batch_sweep import sweep

N = 3


@contextmanager
def counted(model: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Rows of forward passes over whole prompts, and passes that were recorded."""
    seen = {"rows": 0, "recorded": 0}

    def count(module: Any, args: Any, output: torch.Tensor) -> None:
        # The checks of the model run one prompt; so does a look-up of embeddings.
        seen["rows"] += len(output) if len(output) > 1 else 0

    def recording(*args: Any, **options: Any) -> Any:
        seen["recorded"] += 1
        return record(*args, **options)

    handle = model.hook_dict["hook_embed"].register_forward_hook(count)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "record", recording)
        yield seen
    handle.remove()


def both_sides(model: Any, batch: PromptBatch, **options: Any) -> dict[str, Any]:
    return {
        "clean": model.run_with_cache(batch.clean, **options),
        "corrupted": model.run_with_cache(batch.corrupted, **options),
    }


@pytest.mark.parametrize(
    ("method", "positions", "passes"), [("denoising_patch", "last", 1), ("noising_patch", "each", 5)]
)
def test_a_fast_sweep_records_the_edited_prompts_once_a_position(
    toy: Toy, method: str, positions: str, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch = toy.model, prefixed_batch(N, 7, 2)
    options: dict[str, Any] = {"metrics": ["logit_diff", "kl"], "positions": positions}
    given = both_sides(model, batch)  # after which a bridge has hooks of its own, and its paths are checked again
    expected = sweep(model, batch, method, **options)
    with counted(model, monkeypatch) as seen:
        ds = sweep(model, batch, method, **options, **given)
    assert ds.attrs["path"] == expected.attrs["path"] != "hooked"
    assert seen == {"rows": passes * N, "recorded": passes}
    for name in ("patched", "clean", "corrupted"):
        assert float(abs(ds[name] - expected[name]).max()) < 1e-5
    assert ds.attrs["given"] == "clean, corrupted"
    assert "given" not in expected.attrs


def test_the_hooked_path_runs_patched_prompts_alone(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = toy.model, random_batch(N, 6)
    expected = sweep(model, batch, "denoising_patch", path="hooked", positions="all")
    given = both_sides(model, batch)
    with counted(model, monkeypatch) as seen:
        ds = sweep(model, batch, "denoising_patch", path="hooked", positions="all", **given)
    assert seen == {"rows": N * ds.sizes["layer"] * ds.sizes["head"], "recorded": 0}
    assert float(abs(ds.patched - expected.patched).max()) < 1e-5


@pytest.mark.parametrize("side", ["clean", "corrupted"])
def test_one_of_them(each_toy: Toy, side: str) -> None:
    batch = random_batch(N, 6)
    given = {side: both_sides(each_toy.model, batch)[side]}
    ds = sweep(each_toy.model, batch, "denoising_patch", **given)
    assert ds.attrs["given"] == side
    assert float(abs(ds.patched - sweep(each_toy.model, batch, "denoising_patch").patched).max()) < 1e-5


def test_what_was_given_is_what_is_read(toy: Toy) -> None:
    """Not computed again in secret: other head outputs give other numbers."""
    batch = random_batch(N, 6)
    given = both_sides(toy.model, batch, names_filter=lambda name: name.endswith("hook_z"))
    logits, cache = given["clean"]
    swapped = {name: z.flip(0) for name, z in cache.items()}
    ds = sweep(toy.model, batch, "denoising_patch", clean=(logits + 1, swapped))
    right = sweep(toy.model, batch, "denoising_patch", metrics=["logit_diff"])
    assert float(abs(ds.patched - right.patched).max()) > 1e-2
    np.testing.assert_allclose(ds.clean, right.clean, atol=1e-4)  # a difference of two logits


def other_tokens(batch: PromptBatch) -> torch.Tensor:
    other = batch.clean.clone()
    other[1, 3] = (other[1, 3] + 1) % 60
    return other


def of_hooks(model: Any, batch: PromptBatch, name: str, *, row: Any = ...) -> Any:
    logits, cache = model.run_with_cache(batch.clean, names_filter=lambda point: point.endswith(name))
    return logits, {point: value[row] for point, value in cache.items()}


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda m, b: {"clean": m.run_with_cache(b.clean)[1]}, r"\(logits, cache\).*ActivationCache"),
        (lambda m, b: {"clean": (None, m.run_with_cache(b.clean)[1])}, "NoneType"),
        (lambda m, b: {"clean": (m(b.clean)[:, -1], m.run_with_cache(b.clean)[1])}, r"got \(3, 60\)"),
        (lambda m, b: {"clean": m.run_with_cache(b.clean[:2])}, r"\(3, 6, 60\).*got \(2, 6, 60\)"),
        (lambda m, b: {"corrupted": m.run_with_cache(b.corrupted[:, 1:])}, r"got \(3, 5, 60\)"),
        (lambda m, b: {"clean": of_hooks(m, b, "hook_q")}, r"'blocks.0.attn.hook_z'.*names_filter"),
        (lambda m, b: {"clean": of_hooks(m, b, "hook_z", row=0)}, r"hook_z' .*\(3, 6, 4"),
        (lambda m, b: {"clean": m.run_with_cache(other_tokens(b))}, "other tokens.*1 of 3 .* 1"),
        (lambda m, b: {"corrupted": m.run_with_cache(b.clean)}, "other tokens.*corrupted"),
        # As of another model, or of the same one before a hook was added.
        (lambda m, b: {"corrupted": (m(b.corrupted) * 1.1, m.run_with_cache(b.corrupted)[1])}, "corrupted logits"),
    ],
    ids=["no pair", "no logits", "of one position", "two prompts", "five tokens", "no z", "one z", "another token",
         "the other side", "other logits"],
)  # fmt: skip
def test_other_runs_are_refused(toy: Toy, given: Any, message: str) -> None:
    batch = random_batch(N, 6)
    with pytest.raises(DataError, match=message):
        sweep(toy.model, batch, "denoising_patch", **given(toy.model, batch))


def test_answers_of_several_tokens_are_refused(toy: Toy) -> None:
    tokens = random_tokens(2, 5)
    several = PromptBatch.from_tokens(tokens, tokens.flip(0), [[5, 6], [7, 8]], [[9, 10], [11, 12]])
    with pytest.raises(DataError, match="several tokens"):
        sweep(toy.model, several, "denoising_patch", clean=toy.model.run_with_cache(tokens))
