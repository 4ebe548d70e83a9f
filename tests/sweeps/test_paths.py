"""Every path gives the numbers of plain hooks, on every architecture, and says which path it was."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES, N_HEADS, tiny_bridge
from batches import random_batch
from covering import spread
from models.replay.hooked_layouts import HOOKED_LAYOUTS, hooked_layout
from prefixes import prefixed_batch
from toys import tiny_model

from headcats.errors import HeadcatsError, ModelWarning, UnknownNameError
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


def test_the_promise_covers_fourteen_architectures() -> None:
    assert len(FAST) >= 14
    assert {*FAST, *HYBRIDS, *EITHER} == set(ARCHITECTURES)


@pytest.mark.parametrize(("name", "method", "positions", "n_prompts"), spread(FAST, CASES, per_name=4))
def test_equals_plain_hooks(name: str, method: str, positions: str, n_prompts: int, record_property: Any) -> None:
    record_property("largest differences", check(tiny_bridge(name), method, positions, n_prompts))


@pytest.mark.needs_tl3("HookedTransformer")
@pytest.mark.parametrize(("name", "method", "positions", "n_prompts"), spread(HOOKED_LAYOUTS, CASES[:5], per_name=3))
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


@pytest.mark.parametrize("positions", ["last", "all", "t7"])
@pytest.mark.parametrize("name", EITHER)
def test_alibi_is_exact_or_refused(name: str, positions: str) -> None:
    model = tiny_bridge.__wrapped__(name)  # not the shared one, which may have been warned of before
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ModelWarning)
        for n_prompts in (3, N_HEADS):
            fast, _, differences = both(model, prefixed_batch(n_prompts, 10, 4), "denoising_patch", positions)
            assert agree(differences)
    assert len(warned) == (fast.attrs["path"] == "hooked")
    assert all("ordinary hooked forwards" in str(one.message) for one in warned)


@pytest.mark.parametrize("positions", ["last", "all"])
@pytest.mark.parametrize("name", HYBRIDS)
def test_hybrids_cover_their_attention_layers(name: str, positions: str) -> None:
    model = tiny_bridge.__wrapped__(name)
    with pytest.warns(ModelWarning, match="2 of its 4 blocks"):
        ds, _, differences = both(model, prefixed_batch(3, 10, 4), "denoising_patch", positions)
    assert agree(differences)
    assert ds.attrs["path"] == "hooked"
    assert ds.layer.values.tolist() == [1, 3]
    assert not np.isnan(ds.patched.values).any()
    assert "2 of its 4 blocks" in ds.attrs["self_check"]
    assert effects(ds).max() > 1e-2


class TestPaths:
    @pytest.mark.parametrize(("path", "positions"), [("last_position", "last"), ("suffix", "all"), ("suffix", "t7")])
    def test_a_path_by_name(self, path: str, positions: str) -> None:
        model = tiny_bridge("llama")
        fast, _, differences = both(model, prefixed_batch(), "denoising_patch", positions, path=path)
        assert fast.attrs["path"] == path
        assert agree(differences)

    def test_a_path_that_cannot_be_taken(self) -> None:
        with pytest.raises(HeadcatsError, match="last_position"):
            sweep(tiny_bridge("llama"), prefixed_batch(), "denoising_patch", positions="all", path="last_position")
        with pytest.raises(HeadcatsError, match="attention"):
            sweep(tiny_bridge("bamba"), prefixed_batch(), "denoising_patch", path="last_position")

    def test_an_unknown_path(self) -> None:
        with pytest.raises(UnknownNameError, match="suffix"):
            sweep(tiny_bridge("llama"), prefixed_batch(), "denoising_patch", path="sufix")

    @pytest.mark.filterwarnings("ignore:Clean and corrupted prompts are the same")
    @pytest.mark.parametrize(("n_shared", "name"), spread([0, 1, 9, 10], [("gpt2",), ("mistral",)], per_name=2))
    def test_wherever_the_prompts_part(self, n_shared: int, name: str) -> None:
        for method in ("denoising_patch", "noising_patch", "second_corruption_patch"):
            fast, _, differences = both(tiny_bridge(name), prefixed_batch(3, 10, n_shared), method, "all")
            assert agree(differences)
            assert fast.attrs["path"] in ("suffix", "last_position")
            assert (effects(fast).max() < 1e-5) == (n_shared == 10)

    @pytest.mark.parametrize("method", ["denoising_patch", "noising_patch"])
    def test_prompts_that_part_at_different_places(self, method: str) -> None:
        early, late = prefixed_batch(3, 10, 2), prefixed_batch(3, 10, 7)
        rows = torch.tensor([False, True, False])[:, None]
        batch = replace(late, clean=torch.where(rows, early.clean, late.clean),
                        corrupted=torch.where(rows, early.corrupted, late.corrupted))  # fmt: skip
        for positions in ("all", "t1", "t4", "t8"):
            _, plain, differences = both(tiny_bridge("gemma2"), batch, method, positions)
            assert agree(differences)
            assert (effects(plain)[:, 0].max(1) > 1e-3).tolist() == {
                "all": [True] * 3, "t1": [False] * 3, "t4": [False, True, False], "t8": [True] * 3,
            }[positions]  # fmt: skip

    @pytest.mark.ci
    @pytest.mark.filterwarnings("ignore:Clean and corrupted prompts are the same")
    @pytest.mark.parametrize("name", ["gpt2", "gptj", "gemma3"])
    @pytest.mark.parametrize("n_pos", [1, 2, 3])
    @pytest.mark.parametrize("positions", ["last", "all"])
    def test_short_prompts(self, name: str, n_pos: int, positions: str) -> None:
        for method in ("denoising_patch", "zero_ablation"):
            assert agree(both(tiny_bridge(name), random_batch(2, n_pos), method, positions)[2])

    @pytest.mark.parametrize("name", ["gpt2", "mistral", "gpt_oss"])
    def test_long_prompts(self, name: str) -> None:
        for positions in ("last", "all"):
            assert agree(both(tiny_bridge(name), prefixed_batch(2, 40, 20), "denoising_patch", positions)[2])

    def test_a_role_at_the_last_token(self) -> None:
        _, _, differences = both(tiny_bridge("llama"), prefixed_batch(), "denoising_patch", "t9")
        assert agree(differences)


class TestWhenNotToTry:
    """Falls back without trying: hooks of the user's own, train mode."""

    @pytest.mark.parametrize("positions", ["last", "all"])
    def test_hooks_of_the_user_stay_in_force(self, positions: str) -> None:
        model, batch = tiny_model("llama").model, prefixed_batch()
        without = sweep(model, batch, "denoising_patch", positions=positions)
        assert without.attrs["path"] != "hooked"
        model.add_hook("blocks.1.attn.hook_z", lambda z, hook: z * 0.5)
        with pytest.warns(ModelWarning, match="own"):
            fast, _, differences = both(model, batch, "denoising_patch", positions)
        assert agree(differences)
        assert fast.attrs["path"] == "hooked"
        assert np.abs(fast.patched[0].values - without.patched[0].values).max() > 1e-2
        model.reset_hooks()
        assert sweep(model, batch, "denoising_patch", positions=positions).attrs["path"] != "hooked"

    def test_hooks_of_pytorch_stay_in_force(self) -> None:
        model, batch = tiny_model("gpt2").model, prefixed_batch()
        handle = model.blocks[1].register_forward_hook(
            lambda module, args, output: (output[0] * 1.5, *output[1:]) if isinstance(output, tuple) else output * 1.5
        )
        fast, _, differences = both(model, batch, "denoising_patch", "last")
        handle.remove()
        assert agree(differences)
        assert np.abs(fast.patched - sweep(model, batch, "denoising_patch").patched).max() > 1e-2

    def test_train_mode(self) -> None:
        model = tiny_model("llama").model
        model.train()
        with pytest.warns(ModelWarning, match="train mode"):
            fast, _, differences = both(model, prefixed_batch(), "denoising_patch", "last")
        assert agree(differences)
        assert fast.attrs["path"] == "hooked"
        assert model.training


@pytest.mark.parametrize(("positions", "path"), [("last", "last_position"), ("all", "suffix")])
@pytest.mark.parametrize("name", ["gpt2", "gemma2", "gpt_oss"])
def test_a_fast_sweep_leaves_the_model_as_it_was(name: str, positions: str, path: str) -> None:
    raw, batch = tiny_bridge(name), prefixed_batch()
    model = adapt(raw)
    before, weights = model.logits(batch.clean), model.weights_hash()
    for method in ("denoising_patch", "zero_ablation"):
        assert sweep(raw, batch, method, positions=positions).attrs["path"] == path
    assert torch.equal(model.logits(batch.clean), before)
    assert model.weights_hash() == weights
    assert not any(hook.fwd_hooks for hook in raw.hook_dict.values())
    assert not any(block._forward_pre_hooks for block in raw.blocks)


@pytest.mark.parametrize("positions", ["last", "all"])
def test_all_metrics_are_those_of_separate_sweeps(positions: str) -> None:
    names = ["rank", "logit_diff", "kl", "prob", "accuracy", "log_prob"]
    model, batch = tiny_bridge("granite"), prefixed_batch()
    together = sweep(model, batch, "denoising_patch", metrics=names, positions=positions)
    plain = sweep(model, batch, "denoising_patch", metrics=names, positions=positions, path="hooked")
    assert together.metric.values.tolist() == names
    assert np.abs(together.patched - plain.patched).max() < 1e-5
    for name in names:
        alone = sweep(model, batch, "denoising_patch", metrics=[name], positions=positions)
        assert np.abs(alone.patched - together.patched.sel(metric=[name])).max() < 1e-5


@pytest.mark.parametrize("positions", ["last", "all"])
def test_equals_plain_hooks_of_transformers(positions: str) -> None:
    """Without TransformerLens in between: see `architectures.plain_logits`."""
    from architectures import hf_architecture, plain_logits, plain_z

    batch, where = prefixed_batch(3, 10, 4), slice(None) if positions == "all" else -1
    for name in ("gemma2", "gpt_oss", "granite", "falcon", "neox"):
        twin, ds = hf_architecture(name), sweep(tiny_bridge(name), batch, "denoising_patch", positions=positions)
        clean = plain_z(twin, batch.clean)
        for layer, head in ((0, 1), (1, 3), (2, 0)):

            def edit(z: torch.Tensor, layer: int = layer, head: int = head, clean: Any = clean) -> torch.Tensor:
                z[:, where, head] = clean[layer][:, where, head]
                return z

            logits = plain_logits(twin, batch.corrupted, edits={layer: edit})
            rows = torch.arange(3)
            expected = logits[rows, batch.answer] - logits[rows, batch.distractor]
            found = ds.patched.sel(metric="logit_diff", layer=layer, head=head).values
            assert np.abs(found - expected.numpy()).max() < 2e-5
