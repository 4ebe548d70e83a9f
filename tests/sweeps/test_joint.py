"""Several heads at once against two oracles: hooks of the model, and plain transformers with hooks of our own."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from architectures import head_edits, hf_architecture, plain_logits, plain_z, tiny_bridge
from batches import numbers, random_batch
from covering import each_value
from prefixes import prefixed_batch

from headcats.base.errors import DataError, HeadcatsError
from headcats.models.head import Head
from headcats.sweeps.joint import joint_sweep

METRICS = ["logit_diff", "log_prob"]
SETS = [["L0H1"], ["L0H1", "L2H3"], ["L1H0", "L1H2"], ["L0H0", "L0H1", "L1H3", "L2H0"], ["L2H3", "L2H0"], ["L1H0"]]
EARLY = [["L0H1"], ["L0H1", "L1H3"], ["L1H0", "L1H2"], ["L0H0", "L0H1", "L1H3"], ["L0H1", "L1H2"]]


def values_for(method: str, clean: Mapping[int, Any], corrupted: Mapping[int, Any]) -> Mapping[int, torch.Tensor]:
    return {
        "denoising_patch": clean,
        "noising_patch": corrupted,
        "zero_ablation": {layer: torch.zeros_like(z) for layer, z in clean.items()},
    }[method]


@pytest.mark.parametrize(
    ("name", "positions", "method", "path"),
    each_value(
        ["gpt2", "gemma2", "gpt_oss", "neox", "granite", "mixtral", "falcon"],
        ["last", "all", "t7"],
        ["denoising_patch", "noising_patch", "zero_ablation"],
        ["auto", "hooked"],
    ),
)
def test_equals_plain_transformers(name: str, positions: str, method: str, path: str) -> None:
    batch, twin = prefixed_batch(3, 10, 4), hf_architecture(name)
    where = {"last": [-1], "all": slice(None), "t7": [7]}[positions]
    sets = EARLY if positions == "t7" else SETS  # what the last layer says at an earlier token reaches no prediction
    ds = joint_sweep(tiny_bridge(name), batch, method, sets, metrics=METRICS, positions=positions, path=path)
    assert (ds.attrs["path"] == "hooked") == (path == "hooked")
    values = values_for(method, plain_z(twin, batch.clean), plain_z(twin, batch.corrupted))
    tokens = batch.corrupted if method == "denoising_patch" else batch.clean

    def exact(heads: list[str]) -> np.ndarray:
        pairs = [(head.layer, head.head) for head in map(Head.parse, heads)]
        return numbers(plain_logits(twin, tokens, edits=head_edits(pairs, values, where)), batch)

    for place, heads in enumerate(sets):
        expected = exact(heads)
        assert np.abs(ds.patched.isel(set=place).values - expected).max() < 2e-5
        if len(heads) > 1:  # the second head of the set matters
            assert np.abs(expected - exact(heads[:1])).max() > 1e-3


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

    def test_heads_and_sets_that_do_not_exist_are_refused(self) -> None:
        batch = random_batch(2, 6)
        for wrong in ("L3H0", "L0H4", "L0H-1", "9"):
            with pytest.raises(HeadcatsError, match=wrong):
                joint_sweep(tiny_bridge("gpt2"), batch, "denoising_patch", [["L0H1"], [wrong]])
        with pytest.raises(HeadcatsError, match="L0H1"):  # a layer without attention
            joint_sweep(tiny_bridge("bamba"), batch, "denoising_patch", [["L0H1"]])
        for sets in (["L0H1"], ["L0H1", ["L1H1"]]):
            with pytest.raises(DataError, match="sets of heads"):
                joint_sweep(tiny_bridge("gpt2"), batch, "denoising_patch", sets)
        with pytest.raises(HeadcatsError):
            joint_sweep(tiny_bridge("gpt2"), batch, "denoising_patch", [])

    def test_an_empty_set_is_the_unpatched_run(self) -> None:
        ds = joint_sweep(tiny_bridge("gpt2"), random_batch(2, 6), "denoising_patch", [[], ["L0H1"]], metrics=METRICS)
        assert ds.set.values.tolist() == ["none", "L0H1"]
        assert ds["size"].values.tolist() == [0, 1]
        assert np.array_equal(ds.patched[..., 0].values, ds.corrupted.values)
