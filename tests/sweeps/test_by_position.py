"""Position x head: the numbers of plain hooks and of TransformerLens, and which of them are not computed at all."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from architectures import tiny_bridge
from batches import random_batch, role_batch
from covering import ALL, some, spread
from models.replay.hooked_layouts import HOOKED_LAYOUTS, hooked_layout
from prefixes import prefixed_batch
from toys import tiny_model, word_tokenizer

import headcats as hc
from headcats.base.errors import DataError, ModelWarning, OptionError
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.replay.bridge import BridgeRecording
from headcats.prompts.batch import PromptBatch
from headcats.prompts.pair import Span
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.joint import joint_sweep

METRICS = ["logit_diff", "kl"]
FAST = ("gpt2", "gemma2", "gpt_oss", "neox", "gptj", "mistral", "llama", "olmo2", "granite", "falcon", "mixtral")
METHODS = [("denoising_patch", 3), ("noising_patch", 1), ("zero_ablation", 2), ("mean_ablation", 3),
           ("second_corruption_patch", 2), ("resample_ablation", 2)]  # fmt: skip
# Zero ablation of folded weights warns.
RAW = [case for case in METHODS if case[0] in ("denoising_patch", "noising_patch", "mean_ablation")]
HALVED = Intervention("halved", "clean", lambda sources: sources.clean / 2)


def both(model: Any, batch: PromptBatch, method: Any, **options: Any) -> tuple[Any, Any]:
    """Of the fast path and of plain hooks."""
    fast, plain = (
        sweep(model, batch, method, metrics=METRICS, positions="each", path=path, **options)
        for path in ("auto", "hooked")
    )
    assert plain.attrs["path"] == "hooked"
    assert fast.patched.dims == ("metric", "prompt", "position", "layer", "head")
    return fast, plain


def check(model: Any, batch: PromptBatch, method: Any, **options: Any) -> None:
    fast, plain = both(model, batch, method, **options)
    assert fast.attrs["path"] == "suffix; last_position", fast.attrs["self_check"]
    assert fast.attrs["self_check"].startswith("passed")
    assert float(abs(fast.patched - plain.patched).max()) < 1e-5
    effect = abs(plain.patched - plain[plain.attrs["base"]]).sel(metric="logit_diff").max("prompt")
    # Every head matters somewhere, and at every position from where both runs part some head does.
    assert bool((effect.max("position") > 1e-4).all())
    parts = {"zero_ablation": 0, "mean_ablation": 1, "resample_ablation": 1}  # all prompts have one first token
    first = parts.get(method, int((batch.clean != batch.corrupted).any(0).nonzero()[0]))
    assert bool((effect[first:].max(("layer", "head")) > 1e-4).all())


@pytest.mark.both_versions
@pytest.mark.parametrize(("name", "method", "n_prompts"), spread(some(FAST, len(METHODS)), METHODS))
def test_equals_plain_hooks(name: str, method: str, n_prompts: int) -> None:
    check(tiny_bridge(name), prefixed_batch(n_prompts, 5, 2), method)


@pytest.mark.needs_tl3("HookedTransformer")
@pytest.mark.parametrize(("name", "method", "n_prompts"), spread(HOOKED_LAYOUTS if ALL else HOOKED_LAYOUTS[::5], RAW))
def test_equals_plain_hooks_on_a_hooked_transformer(name: str, method: str, n_prompts: int) -> None:
    check(hooked_layout(name), prefixed_batch(n_prompts, 5, 2), method)


@pytest.mark.needs_tl4("per-prompt values of transformer_lens.patching")
def test_equals_transformer_lens() -> None:
    from transformer_lens import patching

    model, batch = tiny_bridge("gpt2"), prefixed_batch(2, 5, 2)

    def logit_diff(logits: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(len(logits))
        return logits[rows, -1, batch.answer] - logits[rows, -1, batch.distractor]

    _, cache = model.run_with_cache(batch.clean)
    theirs = patching.get_act_patch_attn_head_out_by_pos(
        model, batch.corrupted, cache, logit_diff, reduce="none", baseline=True
    )
    ours = sweep(model, batch, "denoising_patch", positions="each")
    expected = theirs.values.permute(3, 1, 0, 2).detach()
    assert theirs.axis_names == ["layer", "pos", "head"]
    assert np.abs(ours.patched[0].values - expected.numpy()).max() < 1e-5
    assert float(theirs.effect().abs().max()) > 0.1


class TestWhatIsNotComputed:
    def test_has_the_number_of_the_unpatched_run(self) -> None:
        fast, plain = both(tiny_bridge("gpt2"), prefixed_batch(3, 6, 3), "denoising_patch")
        for ds in (fast, plain):
            assert bool((ds.patched[:, :, :3] == ds.corrupted).all())
        before_last = fast.patched.isel(position=slice(3, 5), layer=-1)
        assert bool((before_last == fast.corrupted).all())
        assert bool((fast.patched.isel(position=5, layer=-1) != fast.corrupted).any())

    def test_one_forward_pass_of_each_run_and_of_each_position_after_the_first(self) -> None:
        model, batch = tiny_model("gpt2").model, prefixed_batch(3, 5, 2)
        sweep(model, batch, "denoising_patch", positions="each")  # with its checks
        rows: list[int] = []
        handle = model.hook_dict["hook_embed"].register_forward_hook(lambda *args: rows.append(len(args[2])))
        sweep(model, batch, "denoising_patch", positions="each")
        handle.remove()
        assert [n for n in rows if n > 1] == [3, 3, 3, 3]  # beside the checks of the model, on one token


def test_each_position_is_that_of_its_role() -> None:
    model, batch = tiny_bridge("gemma2"), prefixed_batch(2, 6, 2)
    ds = sweep(model, batch, HALVED, positions="each")
    for place in (3, 5):
        alone = sweep(model, batch, HALVED, positions=f"t{place}")
        assert float(abs(ds.patched.sel(position=place) - alone.patched).max()) < 1e-5
    assert ds.attrs["positions"] == "each"


def test_what_no_window_carries_to_the_end_has_no_effect() -> None:
    batch = prefixed_batch(2, 9, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # the check of the first position is empty
        fast, plain = both(tiny_bridge.__wrapped__("mistral"), batch, "zero_ablation")
    assert fast.attrs["path"] == "hooked; suffix; last_position"
    assert float(abs(fast.patched - plain.patched).max()) < 1e-5
    effect = abs(plain.patched - plain.clean)[0].max(("prompt", "layer", "head"))
    assert (effect < 1e-6).values.tolist() == [True, True] + [False] * 7


class TestNames:
    def test_of_positions(self) -> None:
        batch = prefixed_batch(2, 6, 2)
        model = HookedModel(tiny_bridge("gpt2"), tokenizer=word_tokenizer())
        ds = sweep(model, batch, "denoising_patch", positions="each")
        assert ds.position.values.tolist() == list(range(6))
        assert ds.role.values.tolist() == [f"t{place}" for place in range(6)]
        assert ds.token.dims == ("prompt", "position")
        assert ds.token.values.tolist() == [
            [model.tokenizer.decode([token]) for token in row] for row in batch.corrupted.tolist()
        ]

    def test_roles_that_differ_between_prompts_have_none(self) -> None:
        batch = role_batch([[0, 9, 8], [0, 7, 6]], [["bos", "x", "end"], ["bos", "y", "end"]],
                           corrupted=[[0, 5, 8], [0, 5, 6]])  # fmt: skip
        ds = sweep(tiny_bridge("gpt2"), batch, "noising_patch", positions="each")
        assert ds.role.values.tolist() == ["bos", "", "end"]

    def test_a_model_without_a_tokenizer_shows_ids(self) -> None:
        batch, model = random_batch(2, 4), HookedModel(tiny_bridge("gpt2"))
        model.tokenizer = None
        ds = sweep(model, batch, "noising_patch", positions="each")
        assert ds.token.values.tolist() == [list(map(str, row)) for row in batch.clean.tolist()]
        assert "role" not in ds.coords


class TestPromptsOfTwoLengths:
    def test_with_roles_in_both_z_comes_from_the_role(self) -> None:
        batch = role_batch(
            [[0, 9, 8, 7, 6]] * 2, [["bos", "a", "b", "c", "end"]] * 2,
            corrupted=[[0, 19, 11, 18, 17, 16]] * 2, corrupted_labels=[["bos", "a", "new", "b", "c", "end"]] * 2,
        )  # fmt: skip
        fast, plain = both(tiny_bridge("llama"), batch, "noising_patch")
        assert fast.sizes["position"] == 5
        assert float(abs(fast.patched - plain.patched).max()) < 1e-5
        with pytest.raises(DataError, match=r"token 2 .* 'new'"):
            sweep(tiny_bridge("llama"), batch, "denoising_patch", positions="each")

    def test_without_roles_they_are_refused(self) -> None:
        batch = PromptBatch.from_tokens([[0, 9, 8]], [[0, 9, 8, 7]], [5], [6])
        with pytest.raises(DataError, match="3 and 4 tokens"):
            sweep(tiny_bridge("llama"), batch, "noising_patch", positions="each")


def test_answers_of_several_tokens() -> None:
    plain_answers = prefixed_batch(3, 5, 2).without_roles()
    batch = PromptBatch.from_tokens(
        plain_answers.clean, plain_answers.corrupted, [[5, 6], [7], [8, 9, 10]], [[11], [12, 13], [14, 15]]
    )
    fast, plain = both(tiny_bridge("gpt_oss"), batch, "denoising_patch")
    assert fast.attrs["path"] == "suffix; last_position"
    assert fast.sizes["position"] == 5  # of the prompt: what follows it has none of its own
    assert float(abs(fast.patched - plain.patched).max()) < 1e-5
    assert bool((abs(fast.patched - fast.corrupted)[0].max(("prompt", "layer", "head"))[2:] > 1e-4).all())


class TestPaths:
    def test_a_wrong_start_of_rows_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model, batch = tiny_model("llama").model, prefixed_batch(2, 5, 2)
        monkeypatch.setattr(BridgeRecording, "entering", lambda self, layer: self._arguments[layer].residual * 1.01)
        with pytest.warns(ModelWarning, match="hooked"):
            fallen = sweep(model, batch, "denoising_patch", positions="each")
        assert fallen.attrs["path"] == "hooked; last_position"  # nothing comes after the last one
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            everywhere = sweep(model, batch, "denoising_patch", positions="all")
        assert everywhere.attrs["path"] == "suffix"  # which starts rows in another way


def test_16_bits_mark_what_is_below_their_noise() -> None:
    model, batch = tiny_model("gpt2", n_layers=2).model.to(torch.bfloat16), prefixed_batch(3, 6, 2)
    ds = sweep(model, batch, "denoising_patch", positions="each")
    assert ds.noise.dims == ("metric",)
    assert ds.below_noise.dims == ("metric", "position", "layer", "head")
    assert bool(ds.below_noise[0, :2].all())  # nothing changes there
    assert not bool(ds.below_noise[0, 2:].all())


def test_what_takes_one_place_refuses_each() -> None:
    batch = prefixed_batch(2, 6, 2)
    with pytest.raises(OptionError, match=r"hc\.sweep"):
        joint_sweep(tiny_bridge("gpt2"), batch, "denoising_patch", [["L0H0"]], positions="each")
    with pytest.raises(OptionError, match=r"hc\.sweep"):
        MethodSpec.parse("denoising_patch@each")
    with pytest.raises(DataError, match="no role 'each'"):
        hc.methods.attribution_patch(tiny_bridge("gpt2"), batch, positions="each")
    with pytest.raises(DataError, match="'each'"):
        replace(hc.PromptPair("a", "a", "x y", "z y", " b", " c"), roles={"each": (Span(0, 1), Span(0, 1))})
