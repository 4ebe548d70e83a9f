"""The sweep against two oracles: TransformerLens' own patching, and plain transformers with a hook of our own."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from batches import ROLES, random_batch, random_role_batch, with_second
from covering import spread
from toys import Toy, random_tokens, tiny_model

from headcats import registry
from headcats.errors import ModelWarning
from headcats.models.adapter import HookedModel, adapt
from headcats.models.continued import Continued
from headcats.prompts.batch import PromptBatch
from headcats.sweeps import engine, hooked, memory
from headcats.sweeps.batch_sweep import sweep, sweep_runs
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

METRICS = ["logit_diff", "log_prob"]
N_HEADS = 4


class Plain:
    """Plain transformers: read or replace the input of a layer's output projection, which is z of all heads."""

    def __init__(self, oracle: Any) -> None:
        self.oracle = oracle
        gpt2 = oracle.config.model_type == "gpt2"
        blocks = oracle.transformer.h if gpt2 else oracle.model.layers
        self.projections = [block.attn.c_proj if gpt2 else block.self_attn.o_proj for block in blocks]

    @contextmanager
    def hooked(self, layer: int, function: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
        def before(_: Any, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            return (function(args[0].unflatten(-1, (N_HEADS, -1)).clone()).flatten(-2),)

        handle = self.projections[layer].register_forward_pre_hook(before)
        try:
            yield
        finally:
            handle.remove()

    def log_probs(self, tokens: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return self.oracle(tokens).logits[:, -1].log_softmax(-1)

    def z(self, layer: int, tokens: torch.Tensor) -> torch.Tensor:
        seen = []
        with self.hooked(layer, lambda z: seen.append(z) or z):
            self.log_probs(tokens)
        return seen[0]

    def replaced(self, layer: int, head: int, tokens: torch.Tensor, value: torch.Tensor, where: Any) -> torch.Tensor:
        def replace(z: torch.Tensor) -> torch.Tensor:
            z[:, where, head] = value[:, where, head]
            return z

        with self.hooked(layer, replace):
            return self.log_probs(tokens)


def numbers(log_probs: torch.Tensor, batch: PromptBatch) -> np.ndarray:
    """[metric, prompt]: `METRICS`, written once more."""
    rows = range(len(batch))
    answer = torch.stack([log_probs[row, batch.answer[row]] for row in rows])
    distractor = torch.stack([log_probs[row, batch.distractor[row]] for row in rows])
    return torch.stack([answer - distractor, answer]).numpy()


# (method, positions) -> run that is edited, and where a head's new value comes from.
CASES = {
    ("denoising_patch", "last"): ("corrupted", lambda plain, layer, batch, ref: plain.z(layer, batch.clean)),
    ("denoising_patch", "all"): ("corrupted", lambda plain, layer, batch, ref: plain.z(layer, batch.clean)),
    ("noising_patch", "last"): ("clean", lambda plain, layer, batch, ref: plain.z(layer, batch.corrupted)),
    ("noising_patch", "all"): ("clean", lambda plain, layer, batch, ref: plain.z(layer, batch.corrupted)),
    ("zero_ablation", "all"): ("clean", lambda plain, layer, batch, ref: 0 * plain.z(layer, batch.clean)),
    ("mean_ablation", "all"): (
        "clean",
        lambda plain, layer, batch, ref: plain.z(layer, ref.clean).mean(0).expand(len(batch), -1, -1, -1),
    ),
    ("mean_ablation", "last"): (
        "clean",
        lambda plain, layer, batch, ref: plain.z(layer, ref.clean).mean(0).expand(len(batch), -1, -1, -1),
    ),
    # With a reference of one prompt the donor is known.
    ("resample_ablation", "all"): (
        "clean",
        lambda plain, layer, batch, ref: plain.z(layer, ref.clean[:1]).expand(len(batch), -1, -1, -1),
    ),
    ("other_item_patch", "last"): (
        "corrupted",
        lambda plain, layer, batch, ref: plain.z(layer, ref.clean[:1]).expand(len(batch), -1, -1, -1),
    ),
    ("second_corruption_patch", "last"): ("corrupted", lambda plain, layer, batch, ref: plain.z(layer, batch.second)),
    ("second_corruption_patch", "all"): ("corrupted", lambda plain, layer, batch, ref: plain.z(layer, batch.second)),
}


@pytest.mark.parametrize(("method", "positions"), CASES)
def test_equals_plain_transformers(toy: Toy, method: str, positions: str, record_property: Any) -> None:
    batch = with_second(random_batch(3, 7))
    reference = dataclasses.replace(random_batch(5, 7, seed=50), items=tuple(f"held out {i}" for i in range(5)))
    base, value_of = CASES[method, positions]
    plain, tokens = Plain(toy.oracle), getattr(batch, base)
    where = slice(None) if positions == "all" else [-1]
    given = reference.select([0]) if method in ("resample_ablation", "other_item_patch") else reference
    ds = sweep(toy.model, batch, method, metrics=METRICS, positions=positions, reference=given)
    clean, corrupted = (numbers(plain.log_probs(ids), batch) for ids in (batch.clean, batch.corrupted))
    assert np.abs(ds.clean - clean).max() < 2e-5
    assert np.abs(ds.corrupted - corrupted).max() < 2e-5
    differences = []
    for layer in range(2):
        value = value_of(plain, layer, batch, reference)
        for head in range(N_HEADS):
            expected = numbers(plain.replaced(layer, head, tokens, value, where), batch)
            assert np.abs(expected - {"clean": clean, "corrupted": corrupted}[base]).max() > 1e-3  # the head matters
            differences.append(np.abs(ds.patched.sel(layer=layer, head=head).values - expected).max())
    record_property("largest difference", float(max(differences)))
    assert max(differences) < 2e-5


@pytest.mark.needs_tl4("transformer_lens.patching has no per-prompt values before 4")
@pytest.mark.parametrize("n_prompts", [1, 4])
def test_equals_the_patching_of_transformer_lens(layout: Any, n_prompts: int, record_property: Any) -> None:
    from transformer_lens import patching

    model, batch = tiny_model(layout).model, random_batch(n_prompts, 7)
    rows = torch.arange(n_prompts)

    def logit_diff(logits: torch.Tensor) -> torch.Tensor:
        return logits[rows, -1, batch.answer] - logits[rows, -1, batch.distractor]

    with torch.no_grad():
        clean_logits, cache = model.run_with_cache(batch.clean)
        theirs = patching.get_act_patch_attn_head_out_all_pos(
            model, batch.corrupted, cache, logit_diff, reduce="none", baseline=True
        )
    ds = sweep(model, batch, "denoising_patch", positions="all")
    ours = ds.patched.sel(metric="logit_diff").transpose("layer", "head", "prompt").values
    assert theirs.values.shape == ours.shape
    assert theirs.effect().abs().max() > 0.1
    difference = np.abs(theirs.values.numpy() - ours).max()
    record_property("largest difference", float(difference))
    assert difference < 1e-5
    assert np.abs(theirs.baseline.numpy() - ds.corrupted[0].values).max() < 1e-5
    assert np.abs(logit_diff(clean_logits).numpy() - ds.clean[0].values).max() < 1e-5


@pytest.mark.parametrize(
    ("method", "prompts", "rows", "forwards"),
    spread(
        ["denoising_patch", "mean_ablation", "resample_ablation"],
        [(1, 1, 24), (3, 3, 3), (2, 3, 6), (3, 8, 1)],
        per_name=4,
    ),
)
def test_the_number_of_heads_and_prompts_in_a_forward_does_not_matter(
    toy: Toy, method: str, prompts: int, rows: int, forwards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, model = random_batch(3, 7), adapt(toy.model)
    together = sweep(model, batch, method, metrics=METRICS, path="hooked")
    whole, seen = memory.plan, []

    def cut(*args: Any, **options: Any) -> memory.MemoryPlan:
        return dataclasses.replace(whole(*args, **options), prompts=prompts, rows=rows)

    def counted(model: HookedModel, continued: Continued, *args: Any, **options: Any) -> torch.Tensor:
        seen.append(len(continued))
        return hooked.hooked(model, continued, *args, **options)

    monkeypatch.setattr(memory, "plan", cut)
    monkeypatch.setattr(engine, "hooked", counted)
    apart = sweep(model, batch, method, metrics=METRICS, path="hooked")
    assert len(seen) == forwards
    assert max(seen) == prompts
    assert float(abs(together.patched - apart.patched).max()) < 2e-5


@pytest.mark.parametrize("path", ["auto", "hooked"])
@pytest.mark.parametrize("positions", ["last", "all"])
def test_progress_counts_every_head_once(toy: Toy, path: str, positions: str) -> None:
    seen: list[int] = []
    batch = random_batch()
    sweep_runs(
        BaseRuns(adapt(toy.model), batch),
        registry.lookup("method", "denoising_patch").intervention,
        metrics=("logit_diff",),
        positions=positions,
        reference=Reference(batch),
        path=path,
        advance=seen.append,
    )
    assert sum(seen) == 8


class TestInvariants:
    @pytest.mark.parametrize("method", ["denoising_patch", "noising_patch", "mean_ablation", "zero_ablation"])
    def test_the_order_of_prompts(self, toy: Toy, method: str) -> None:
        batch, order = random_batch(5), [3, 0, 4, 1, 2]
        straight = sweep(toy.model, batch, method, metrics=METRICS)
        turned = sweep(toy.model, batch.select(order), method, metrics=METRICS)
        assert turned.key.values.tolist() == [batch.keys[i] for i in order]
        for name in ("patched", "clean", "corrupted"):
            assert np.abs(turned[name].values - straight[name].isel(prompt=order).values).max() < 2e-5

    @pytest.mark.parametrize("method", ["denoising_patch", "noising_patch", "zero_ablation"])
    def test_prompts_do_not_see_each_other(self, toy: Toy, method: str) -> None:
        batch = random_batch(5)
        together = sweep(toy.model, batch, method).patched
        alone = sweep(toy.model, batch.select([2]), method).patched
        assert np.abs(together[:, [2]].values - alone.values).max() < 2e-5

    def test_several_metrics_are_those_of_separate_sweeps(self, toy: Toy) -> None:
        names, batch = ["rank", "logit_diff", "kl", "prob", "accuracy", "log_prob"], random_batch()
        together = sweep(toy.model, batch, "denoising_patch", metrics=names)
        assert together.metric.values.tolist() == names
        for name in names:
            alone = sweep(toy.model, batch, "denoising_patch", metrics=[name])
            for part in ("patched", "clean", "corrupted"):
                assert np.abs(alone[part].values - together[part].sel(metric=[name]).values).max() < 1e-5

    def test_denoising_and_noising_are_one_with_the_runs_exchanged(self, toy: Toy) -> None:
        batch = random_batch()
        exchanged = PromptBatch.from_tokens(batch.corrupted, batch.clean, batch.answer, batch.distractor)
        denoised = sweep(toy.model, batch, "denoising_patch", positions="all")
        noised = sweep(toy.model, exchanged, "noising_patch", positions="all")
        assert np.array_equal(denoised.patched.values, noised.patched.values)
        assert np.array_equal(denoised.clean.values, noised.corrupted.values)


class TestPositions:
    def test_a_role_by_name(self, toy: Toy) -> None:
        batch, plain = random_role_batch(3), Plain(toy.oracle)
        ds = sweep(toy.model, batch, "denoising_patch", positions="x1", metrics=METRICS)
        assert ds.attrs["positions"] == "x1"
        expected = plain.replaced(0, 2, batch.corrupted, plain.z(0, batch.clean), [ROLES.index("x1")])
        assert np.abs(ds.patched.sel(layer=0, head=2).values - numbers(expected, batch)).max() < 2e-5
        # What the last layer says at an earlier token reaches no prediction at the last one.
        assert np.abs(ds.patched.sel(layer=1).values - ds.corrupted.values[..., None]).max() < 2e-5
        assert np.abs(ds.patched.sel(layer=0).values - ds.corrupted.values[..., None]).max() > 1e-3

    def test_a_role_of_several_tokens_takes_all_of_them(self, toy: Toy) -> None:
        one = random_role_batch(3)
        labels = (("bos", "x1[0/2]", "x1[1/2]", "between1", "x_query", "last"),) * 3
        several = PromptBatch(**{**vars(one), "labels": labels, "corrupted_labels": labels})
        plain = Plain(toy.oracle)
        expected = plain.replaced(0, 1, one.corrupted, plain.z(0, one.clean), [1, 2])
        ds = sweep(toy.model, several, "denoising_patch", positions="x1", metrics=METRICS)
        assert np.abs(ds.patched.sel(layer=0, head=1).values - numbers(expected, one)).max() < 2e-5

    def test_roles_may_stand_elsewhere_in_each_prompt(self, toy: Toy) -> None:
        batch = random_role_batch(2)
        labels = (ROLES, ("bos", "y1", "x1", "between1", "x_query", "last"))
        mixed = PromptBatch(**{**vars(batch), "labels": labels, "corrupted_labels": labels})
        ds = sweep(toy.model, mixed, "denoising_patch", positions="x1")
        alone = sweep(toy.model, batch, "denoising_patch", positions="x1")
        other = sweep(toy.model, batch, "denoising_patch", positions="y1")
        assert np.abs(ds.patched[:, 0].values - alone.patched[:, 0].values).max() < 2e-5
        assert np.abs(ds.patched[:, 1].values - other.patched[:, 1].values).max() < 2e-5


class TestUnequalLayers:
    @pytest.mark.parametrize("kept", [[0, 2], [1, 2], [2]])
    def test_layers_without_heads_keep_their_number(self, kept: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        raw, batch = tiny_model("gpt2", n_layers=3).model, random_batch()
        whole = sweep(raw, batch, "denoising_patch", path="hooked")
        hidden = {f"blocks.{layer}.attn.hook_z" for layer in range(3) if layer not in kept}
        hooks = {name: hook for name, hook in raw.hook_dict.items() if name not in hidden}
        monkeypatch.setattr(type(raw), "hook_dict", property(lambda self: hooks))
        with pytest.warns(ModelWarning, match=" of its 3 blocks"):
            hybrid = sweep(raw, batch, "denoising_patch")
        assert hybrid.attrs["path"] == "hooked"
        assert hybrid.layer.values.tolist() == kept
        assert np.array_equal(hybrid.patched.values, whole.patched.sel(layer=kept).values)

    def test_heads_that_a_layer_does_not_have_are_nan(self) -> None:
        class Uneven(HookedModel):
            n_heads = {0: 4, 1: 2, 2: 3}  # noqa: RUF012 - replaces a property

            def capture_last(self, *args: Any, **options: Any) -> Any:
                logits, z = super().capture_last(*args, **options)
                return logits, {layer: value[:, :, : self.n_heads[layer]] for layer, value in z.items()}

        raw, batch = tiny_model("gpt2", n_layers=3).model, random_batch()
        whole, uneven = (sweep(model, batch, "denoising_patch", path="hooked").patched for model in (raw, Uneven(raw)))
        exists = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]], dtype=bool)
        assert np.isnan(uneven.values[..., ~exists]).all()
        assert np.abs(uneven.values[..., exists] - whole.values[..., exists]).max() < 2e-5


def test_a_sweep_leaves_the_model_as_it_was(toy: Toy) -> None:
    tokens = random_tokens()
    model = adapt(toy.model)
    before, hash_before = model.logits(tokens), model.weights_hash()
    for method in ("denoising_patch", "zero_ablation", "resample_ablation"):
        sweep(model, random_batch(), method, metrics=METRICS)
    assert torch.equal(model.logits(tokens), before)
    assert model.weights_hash() == hash_before
    assert not any(hook.fwd_hooks for hook in toy.model.hook_dict.values())
