"""Every path gives the numbers of plain hooks, on every architecture, and says which path it was."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES, LATENT, N_HEADS, tiny_bridge
from batches import random_batch
from covering import each_value, spread
from models.replay.hooked_layouts import HOOKED_LAYOUTS, hooked_layout
from prefixes import prefixed_batch

from headcats.base.errors import ModelWarning
from headcats.models.adapter import adapt
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.batch_sweep import sweep

METRICS = ["logit_diff", "log_prob", "kl"]
LIMITS = {"logit_diff": 1e-5, "log_prob": 1e-5, "kl": 1e-5}
FAST = (
    "gpt2", "llama", "neox", "gptj", "gemma2", "gemma3", "qwen3", "mixtral", "opt", "phi", "gpt_oss", "falcon", "olmo2",
    "mistral", "cohere", "granite",
)  # fmt: skip
HYBRIDS = ("bamba", "qwen3_next")
EITHER = ("bloom", "mpt")
"""ALiBi: replayed exactly, or refused with a warning."""

# Method, positions, prompts.
CASES = [
    ("denoising_patch", "last", 3),
    ("denoising_patch", "all", N_HEADS),  # an axis of prompts must not be taken for one of heads
    ("denoising_patch", "t7", 2),
    ("noising_patch", "last", 1),
    ("noising_patch", "all", 1),
    ("mean_ablation", "last", 2),
    ("mean_ablation", "all", 3),
    ("zero_ablation", "all", 2),
    ("resample_ablation", "all", 2),
    ("second_corruption_patch", "last", 3),
    ("second_corruption_patch", "all", 2),
    ("other_item_patch", "last", 2),
]


def both(
    model: Any, batch: PromptBatch, method: Any, positions: str, path: str = "auto"
) -> tuple[Any, Any, dict[str, float]]:
    """The dataset of `path`, the one of plain hooks, and the largest difference of each metric."""
    options: dict[str, Any] = {"metrics": METRICS, "positions": positions}
    if method in ("mean_ablation", "resample_ablation", "other_item_patch"):
        options["reference"] = random_batch(4, batch.length, seed=50)
    fast, plain = (sweep(model, batch, method, path=one, **options) for one in (path, "hooked"))
    assert plain.attrs["path"] == "hooked"
    assert fast.patched.sizes == plain.patched.sizes
    for name in ("clean", "corrupted"):
        assert np.abs(fast[name].values - plain[name].values).max() < 1e-5
    difference = np.abs(fast.patched - plain.patched).max(["prompt", "layer", "head"])
    return fast, plain, {name: float(difference.sel(metric=name)) for name in METRICS}


def agree(differences: dict[str, float]) -> bool:
    # A NaN must not pass for a small difference.
    return all(differences[name] <= LIMITS[name] for name in METRICS)


def effects(ds: Any) -> np.ndarray:
    """[prompt, layer, head], logit difference."""
    return np.abs(ds.patched - ds[ds.attrs["base"]]).sel(metric="logit_diff").values


def test_every_architecture_is_among_them() -> None:
    # Of compressed keys and values nothing is replayed: `tests/test_architectures.py` has their sweeps.
    assert {*FAST, *HYBRIDS, *EITHER, *LATENT} == set(ARCHITECTURES)


@pytest.mark.both_versions
@pytest.mark.parametrize(("name", "method", "positions", "n_prompts"), spread(FAST, CASES))
def test_equals_plain_hooks(name: str, method: str, positions: str, n_prompts: int, record_property: Any) -> None:
    record_property("largest differences", check(tiny_bridge(name), method, positions, n_prompts))


@pytest.mark.needs_tl3("HookedTransformer")
@pytest.mark.parametrize(("name", "method", "positions", "n_prompts"), spread(HOOKED_LAYOUTS, CASES[:4]))
def test_hooked_transformers(name: str, method: str, positions: str, n_prompts: int, record_property: Any) -> None:
    record_property("largest differences", check(hooked_layout(name), method, positions, n_prompts))


def check(model: Any, method: str, positions: str, n_prompts: int) -> dict[str, float]:
    """A fast path that agrees with plain hooks, on heads that all matter."""
    fast, plain, differences = both(model, prefixed_batch(n_prompts, 10, 4), method, positions)
    assert agree(differences), differences
    assert fast.attrs["path"] == ("last_position" if positions == "last" else "suffix"), fast.attrs["self_check"]
    effect = effects(plain)
    # What the last layer says at an earlier token reaches no prediction.
    reaching = effect[:, :-1] if positions.startswith("t") else effect
    assert (reaching.max(0) > 3e-5).all()
    return differences


@pytest.mark.parametrize(("name", "positions"), spread(EITHER, [("last",), ("all",)]))
def test_alibi_is_exact_or_refused(name: str, positions: str) -> None:
    model = tiny_bridge.__wrapped__(name)  # not the shared one, which may have been warned of before
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ModelWarning)
        for n_shared in (4, 3):
            fast, _, differences = both(model, prefixed_batch(N_HEADS, 10, n_shared), "denoising_patch", positions)
            assert agree(differences)
    assert len(warned) == (fast.attrs["path"] == "hooked")
    assert all("hooked" in str(one.message) for one in warned)


@pytest.mark.parametrize(("name", "positions"), spread(HYBRIDS, [("last",), ("all",)]))
def test_hybrids_cover_their_attention_layers(name: str, positions: str) -> None:
    model = tiny_bridge.__wrapped__(name)
    with pytest.warns(ModelWarning, match="2 of its 4"):
        ds, _, differences = both(model, prefixed_batch(3, 10, 4), "denoising_patch", positions)
    assert agree(differences)
    assert ds.attrs["path"] == "hooked"
    assert ds.layer.values.tolist() == [1, 3]
    assert not np.isnan(ds.patched.values).any()
    assert "2 of its 4" in ds.attrs["self_check"]
    assert effects(ds).max() > 1e-2


class TestPaths:
    @pytest.mark.parametrize(("n_shared", "name"), spread([0, 1, 9, 10], [("gpt2",), ("mistral",)]))
    def test_wherever_the_prompts_part(self, n_shared: int, name: str) -> None:
        fast, _, differences = both(tiny_bridge(name), prefixed_batch(3, 10, n_shared), "denoising_patch", "all")
        assert agree(differences)
        assert fast.attrs["path"] in ("suffix", "last_position")
        assert (effects(fast).max() < 1e-5) == (n_shared == 10)

    def test_prompts_that_part_at_different_places(self) -> None:
        early, late = prefixed_batch(3, 10, 2), prefixed_batch(3, 10, 7)
        rows = torch.tensor([False, True, False])[:, None]
        batch = replace(late, clean=torch.where(rows, early.clean, late.clean),
                        corrupted=torch.where(rows, early.corrupted, late.corrupted))  # fmt: skip
        for positions in ("all", "t4"):
            _, plain, differences = both(tiny_bridge("gemma2"), batch, "denoising_patch", positions)
            assert agree(differences)
            expected = [True] * 3 if positions == "all" else [False, True, False]
            assert (effects(plain)[:, 0].max(1) > 1e-3).tolist() == expected

    @pytest.mark.parametrize(
        ("n_pos", "name", "positions"), each_value([1, 2, 3], ["gpt2", "gptj", "gemma3"], ["last", "all"])
    )
    def test_short_prompts(self, n_pos: int, name: str, positions: str) -> None:
        for method in ("denoising_patch", "zero_ablation"):
            assert agree(both(tiny_bridge(name), random_batch(2, n_pos), method, positions)[2])


@pytest.mark.parametrize(
    ("name", "positions", "path"),
    [("gpt2", "last", "last_position"), ("gemma2", "all", "suffix"), ("gpt_oss", "all", "hooked")],
)
def test_a_sweep_leaves_the_model_as_it_was(name: str, positions: str, path: str) -> None:
    raw, batch = tiny_bridge(name), prefixed_batch()
    model = adapt(raw)
    before, weights = model.logits(batch.clean), model.weights_hash()
    for method in ("denoising_patch", "zero_ablation", "resample_ablation"):
        ran = sweep(raw, batch, method, positions=positions, path="hooked" if path == "hooked" else "auto")
        assert ran.attrs["path"] == path
    assert torch.equal(model.logits(batch.clean), before)
    assert model.weights_hash() == weights
    assert not any(hook.fwd_hooks for hook in raw.hook_dict.values())
    assert not any(block._forward_pre_hooks for block in raw.blocks)
