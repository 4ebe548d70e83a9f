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

from headcats.errors import DataError
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
    ("method", "positions", "passes"),
    [
        ("denoising_patch", "last", 1),
        ("denoising_patch", "all", 1),
        ("noising_patch", "each", 1),
        ("mean_ablation", "all", 1),
        ("resample_ablation", "all", 1),
    ],
)
def test_a_fast_sweep_runs_the_edited_prompts_once(
    toy: Toy, method: str, positions: str, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch = toy.model, prefixed_batch(N, 7, 2)
    options: dict[str, Any] = {"metrics": ["logit_diff", "kl"], "positions": positions}
    given = both_sides(model, batch)  # after which a bridge has hooks of its own, and its paths are checked again
    expected = sweep(model, batch, method, **options)
    with counted(model, monkeypatch) as seen:
        ds = sweep(model, batch, method, **options, **given)
    assert ds.attrs["path"] == expected.attrs["path"] != "hooked"
    assert seen["recorded"] == passes
    if type(model).__name__ == "TransformerBridge":  # a HookedTransformer is recorded from its weights
        assert seen["rows"] == N * passes
    for name in ("patched", "clean", "corrupted"):
        assert float(abs(ds[name] - expected[name]).max()) < 1e-5
    assert ds.attrs["given"] == "clean, corrupted"
    assert "given" not in expected.attrs


@pytest.mark.parametrize("method", ["denoising_patch", "mean_ablation", "resample_ablation"])
def test_the_hooked_path_runs_patched_prompts_alone(toy: Toy, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = toy.model, random_batch(N, 6)
    expected = sweep(model, batch, method, path="hooked", positions="all")
    given = both_sides(model, batch)
    with counted(model, monkeypatch) as seen:
        ds = sweep(model, batch, method, path="hooked", positions="all", **given)
    assert seen == {"rows": N * ds.sizes["layer"] * ds.sizes["head"], "recorded": 0}
    assert float(abs(ds.patched - expected.patched).max()) < 1e-5


@pytest.mark.parametrize("side", ["clean", "corrupted"])
def test_one_of_them(toy: Toy, side: str) -> None:
    batch = random_batch(N, 6)
    given = {side: both_sides(toy.model, batch)[side]}
    ds = sweep(toy.model, batch, "denoising_patch", **given)
    assert ds.attrs["given"] == side
    assert float(abs(ds.patched - sweep(toy.model, batch, "denoising_patch").patched).max()) < 1e-5


def test_z_alone_will_do(toy: Toy) -> None:
    batch = random_batch(N, 6)
    given = both_sides(toy.model, batch, names_filter=lambda name: name.endswith("hook_z"))
    ds = sweep(toy.model, batch, "noising_patch", **given)
    assert float(abs(ds.patched - sweep(toy.model, batch, "noising_patch").patched).max()) < 1e-5


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


class TestRefused:
    @pytest.fixture
    def batch(self) -> PromptBatch:
        return random_batch(N, 6)

    def check(self, toy: Toy, batch: PromptBatch, message: str, **given: Any) -> None:
        with pytest.raises(DataError, match=message):
            sweep(toy.model, batch, "denoising_patch", **given)

    @pytest.mark.usefixtures("unchecked_types")
    def test_no_pair(self, toy: Toy, batch: PromptBatch) -> None:
        _, cache = toy.model.run_with_cache(batch.clean)
        self.check(toy, batch, r"a pair \(logits, cache\).*got a ActivationCache", clean=cache)

    @pytest.mark.usefixtures("unchecked_types")
    def test_no_logits(self, toy: Toy, batch: PromptBatch) -> None:
        logits, cache = toy.model.run_with_cache(batch.clean)
        self.check(toy, batch, r"clean logits must be \[prompt, pos, d_vocab\].*got NoneType", clean=(None, cache))
        self.check(toy, batch, r"got \(3, 60\)", clean=(logits[:, -1], cache))

    def test_prompts_of_another_shape(self, toy: Toy, batch: PromptBatch) -> None:
        self.check(toy, batch, r"\(3, 6, 60\).*got \(2, 6, 60\)", clean=toy.model.run_with_cache(batch.clean[:2]))
        self.check(toy, batch, r"got \(3, 5, 60\)", corrupted=toy.model.run_with_cache(batch.corrupted[:, 1:]))

    def test_a_cache_without_z_or_its_axis_of_prompts(self, toy: Toy, batch: PromptBatch) -> None:
        logits, cache = toy.model.run_with_cache(batch.clean, names_filter=lambda name: name.endswith("hook_q"))
        self.check(toy, batch, r"lacks 'blocks.0.attn.hook_z'.*names_filter", clean=(logits, cache))
        _, cache = toy.model.run_with_cache(batch.clean)
        cut = {name: value[0] for name, value in cache.items() if name.endswith("hook_z")}
        self.check(toy, batch, r"hook_z' of the clean cache must be \(3, 6, 4", clean=(logits, cut))

    def test_other_tokens(self, toy: Toy, batch: PromptBatch) -> None:
        other = batch.clean.clone()
        other[1, 3] = (other[1, 3] + 1) % 60
        self.check(toy, batch, r"other tokens.*1 of 3 prompts, prompt 1", clean=toy.model.run_with_cache(other))
        self.check(toy, batch, "other tokens.*corrupted", corrupted=toy.model.run_with_cache(batch.clean))

    def test_other_logits_of_the_edited_prompts(self, toy: Toy, batch: PromptBatch) -> None:
        """As of another model, or of the same one before a hook was added."""
        logits, cache = toy.model.run_with_cache(batch.corrupted)
        self.check(toy, batch, "corrupted logits.*differ by", corrupted=(logits * 1.1, cache))

    def test_answers_of_several_tokens(self, toy: Toy) -> None:
        tokens = random_tokens(2, 5)
        several = PromptBatch.from_tokens(tokens, tokens.flip(0), [[5, 6], [7, 8]], [[9, 10], [11, 12]])
        self.check(toy, several, "answers of several tokens", clean=toy.model.run_with_cache(tokens))
