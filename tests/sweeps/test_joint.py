"""Several heads at once against two oracles: hooks of the model, and plain transformers with hooks of our own."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from architectures import hf_architecture, plain_logits, plain_z, tiny_bridge
from batches import random_batch
from covering import pairwise, spread
from prefixes import prefixed_batch
from toys import Toy

from headcats.errors import DataError, HeadcatsError, ModelWarning
from headcats.models.adapter import HookedModel, adapt
from headcats.models.head import Head
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.joint import cumulative, joint_sweep

METRICS = ["logit_diff", "log_prob"]
SETS = [["L0H1"], ["L0H1", "L2H3"], ["L1H0", "L1H2"], ["L0H0", "L0H1", "L1H3", "L2H0"], ["L2H3", "L2H0"], ["L1H0"]]
SHORT = [["L0H1"], ["L0H1", "L1H3"], ["L1H0", "L1H2"], ["L0H0", "L0H1", "L1H3"], ["L0H1", "L1H2"]]


def edits_of(
    heads: list[str], values: Mapping[int, torch.Tensor], where: Any
) -> dict[int, Callable[[torch.Tensor], torch.Tensor]]:
    """Layer -> edit that sets these heads of the layer to `values` at some positions."""
    by_layer: dict[int, list[int]] = {}
    for head in map(Head.parse, heads):
        by_layer.setdefault(head.layer, []).append(head.head)

    def edit_of(layer: int, chosen: list[int]) -> Callable[[torch.Tensor], torch.Tensor]:
        def edit(z: torch.Tensor) -> torch.Tensor:
            z = z.clone()
            for head in chosen:
                z[:, where, head] = values[layer][:, where, head]
            return z

        return edit

    return {layer: edit_of(layer, chosen) for layer, chosen in by_layer.items()}


def numbers(logits: torch.Tensor, batch: PromptBatch) -> np.ndarray:
    """[metric, prompt]: `METRICS`, written once more."""
    log_probs = logits.log_softmax(-1)
    rows = range(len(batch))
    answer = torch.stack([log_probs[row, batch.answer[row]] for row in rows])
    distractor = torch.stack([log_probs[row, batch.distractor[row]] for row in rows])
    return torch.stack([answer - distractor, answer]).numpy()


def values_for(method: str, clean: Mapping[int, Any], corrupted: Mapping[int, Any]) -> Mapping[int, torch.Tensor]:
    return {
        "denoising_patch": clean,
        "noising_patch": corrupted,
        "zero_ablation": {layer: torch.zeros_like(z) for layer, z in clean.items()},
    }[method]


@pytest.mark.parametrize(
    ("method", "positions"),
    spread(["denoising_patch", "noising_patch", "zero_ablation"], [("last",), ("all",), ("t4",)], per_name=3),
)
def test_equals_hooks_of_the_model(toy: Toy, method: str, positions: str) -> None:
    batch, model = prefixed_batch(3, 8, 2), adapt(toy.model)
    where = {"last": [-1], "all": slice(None), "t4": [4]}[positions]
    ds = joint_sweep(toy.model, batch, method, SHORT, metrics=METRICS, positions=positions)
    assert ds.set.values.tolist() == ["+".join(heads) for heads in SHORT]
    assert ds.attrs["path"] == ("last_position" if positions == "last" else "suffix")
    tokens = batch.corrupted if method == "denoising_patch" else batch.clean
    values = values_for(method, model.capture(batch.clean)[1], model.capture(batch.corrupted)[1])
    for place, heads in enumerate(SHORT):
        expected = numbers(model.logits(tokens, edits=edits_of(heads, values, where)), batch)
        assert np.abs(ds.patched.isel(set=place).values - expected).max() < 1e-5


@pytest.mark.parametrize(
    ("name", "positions", "method", "path"),
    pairwise(
        ["gpt2", "gemma2", "gpt_oss", "neox", "granite", "mixtral"],
        ["last", "all"],
        ["denoising_patch", "noising_patch", "zero_ablation"],
        ["auto", "hooked"],
    ),
)
def test_equals_plain_transformers(name: str, positions: str, method: str, path: str) -> None:
    batch, twin = prefixed_batch(3, 10, 4), hf_architecture(name)
    where = [-1] if positions == "last" else slice(None)
    ds = joint_sweep(tiny_bridge(name), batch, method, SETS, metrics=METRICS, positions=positions, path=path)
    assert (ds.attrs["path"] == "hooked") == (path == "hooked")
    values = values_for(method, plain_z(twin, batch.clean), plain_z(twin, batch.corrupted))
    tokens = batch.corrupted if method == "denoising_patch" else batch.clean
    single = {heads[0]: numbers(_plain(twin, tokens, heads, values, where), batch) for heads in SETS if len(heads) == 1}
    for place, heads in enumerate(SETS):
        expected = numbers(_plain(twin, tokens, heads, values, where), batch)
        assert np.abs(ds.patched.isel(set=place).values - expected).max() < 2e-5
        if len(heads) > 1:  # the second head of the set matters
            others = single.get(heads[0], numbers(plain_logits(twin, tokens), batch))
            assert np.abs(expected - others).max() > 1e-3


def _plain(twin: Any, tokens: torch.Tensor, heads: list[str], values: Mapping[int, Any], where: Any) -> torch.Tensor:
    return plain_logits(twin, tokens, edits=edits_of(heads, values, where))


@pytest.mark.parametrize("method", ["mean_ablation", "resample_ablation"])
@pytest.mark.parametrize("positions", ["last", "all"])
def test_replacements_from_reference_prompts(method: str, positions: str) -> None:
    batch, reference = random_batch(3, 8), random_batch(4, 8, seed=50)
    options: dict[str, Any] = {"metrics": METRICS, "positions": positions, "reference": reference}
    fast, plain = (joint_sweep(tiny_bridge("llama"), batch, method, SETS, path=one, **options)
                   for one in ("auto", "hooked"))  # fmt: skip
    assert fast.attrs["path"] != "hooked"
    assert np.abs(fast.patched - plain.patched).max() < 1e-5
    assert np.abs(fast.patched - fast.clean).max() > 1e-2


class TestWhatASetIs:
    def test_three_ways_to_write_a_head(self) -> None:
        sets: list[Any] = [["L0H1", "L2H3"], [Head(0, 1), Head(2, 3)], [(0, 1), (2, 3)], [(2, 3), "L0H1"]]
        for written in sets:
            ds = joint_sweep(tiny_bridge("gpt2"), random_batch(2, 6), "denoising_patch", [written])
            # As they were given: a growing set ends with the head that is new in it.
            assert ds.set.values.tolist() == ["L0H1+L2H3" if written is not sets[-1] else "L2H3+L0H1"]

    def test_a_head_that_is_named_twice_is_one_head(self) -> None:
        ds = joint_sweep(tiny_bridge("gpt2"), random_batch(2, 6), "denoising_patch", [["L0H1"], ["L0H1", (0, 1)]])
        assert np.array_equal(ds.patched[..., 0].values, ds.patched[..., 1].values)

    @pytest.mark.parametrize("wrong", ["L3H0", "L0H4", "L0H-1", "9"])
    def test_a_head_that_does_not_exist_is_refused(self, wrong: str) -> None:
        with pytest.raises(HeadcatsError, match=wrong.replace("-", ".")):
            joint_sweep(tiny_bridge("gpt2"), random_batch(2, 6), "denoising_patch", [["L0H1"], [wrong]])

    def test_heads_of_layers_without_attention_are_refused(self) -> None:
        with pytest.raises(HeadcatsError, match="L0H1"):
            joint_sweep(tiny_bridge("bamba"), random_batch(2, 6), "denoising_patch", [["L0H1"]])

    def test_an_empty_set_is_the_unpatched_run(self) -> None:
        ds = joint_sweep(tiny_bridge("gpt2"), random_batch(2, 6), "denoising_patch", [[], ["L0H1"]], metrics=METRICS)
        assert ds.set.values.tolist() == ["none", "L0H1"]
        assert ds["size"].values.tolist() == [0, 1]
        assert np.array_equal(ds.patched[..., 0].values, ds.corrupted.values)

    def test_no_sets_are_refused(self) -> None:
        with pytest.raises(HeadcatsError):
            joint_sweep(tiny_bridge("gpt2"), random_batch(2, 6), "denoising_patch", [])

    def test_sets_on_a_hybrid_run_hooked(self) -> None:
        batch, model = random_batch(2, 7), HookedModel(tiny_bridge("bamba"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            ds = joint_sweep(
                model, batch, "zero_ablation", [["L1H1"], ["L1H1", "L3H0"]], metrics=METRICS, positions="all"
            )
        assert ds.attrs["path"] == "hooked"
        values = {layer: torch.zeros_like(z) for layer, z in model.capture(batch.clean)[1].items()}
        edits = edits_of(["L1H1", "L3H0"], values, slice(None))
        assert np.abs(ds.patched[..., 1].values - numbers(model.logits(batch.clean, edits=edits), batch)).max() < 1e-5


@pytest.mark.parametrize("positions", ["last", "all"])
def test_growing_sets(positions: str) -> None:
    """The curve that a validation draws: one head more at each point, in an order of its own."""
    order = ["L2H1", "L0H3", "L1H1", "L0H0", "L2H2", "L1H3"]
    sets = cumulative(order)
    assert [str(head) for head in sets[0]] == ["L2H1"]
    assert len(sets) == len(order)
    model, batch = adapt(tiny_bridge("llama")), prefixed_batch(2, 9, 3)
    ds = joint_sweep(model, batch, "noising_patch", sets, metrics=METRICS, positions=positions)
    assert ds.attrs["path"] != "hooked"
    assert ds.set.values.tolist() == ["+".join(order[: size + 1]) for size in range(6)]
    corrupted = model.capture(batch.corrupted)[1]
    where = [-1] if positions == "last" else slice(None)
    for place in range(6):
        edits = edits_of(order[: place + 1], corrupted, where)
        assert (
            np.abs(ds.patched[..., place].values - numbers(model.logits(batch.clean, edits=edits), batch)).max() < 1e-5
        )


def test_growing_sets_of_a_head_twice_or_of_a_name_are_refused() -> None:
    with pytest.raises(DataError, match="Head L0H1 comes twice"):
        cumulative(["L0H1", "L1H0", (0, 1)])
    with pytest.raises(DataError, match=r"list of heads.* got 'L0H1'"):
        cumulative("L0H1")
