"""Numbers of a notebook as a block: axes, signs and sizes, and the results of TransformerLens' own patching."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from architectures import tiny_bridge
from batches import random_batch
from simulated import block

from headcats.base.errors import DataError, OptionError
from headcats.scores.array_block import as_block
from headcats.scores.scoring import score
from headcats.sweeps.batch_sweep import sweep

N, LAYERS, HEADS = 5, 3, 4


@pytest.fixture(autouse=True)
def _unchecked(unchecked_types: None) -> None:
    """What is refused here, CI's type checks would refuse first."""


def values() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, LAYERS, HEADS))


CLEAN, CORRUPTED = np.linspace(3, 4, N), np.linspace(0, 1, N)


class TestArrays:
    @pytest.mark.parametrize("kind", [np.asarray, torch.tensor, lambda x: x.tolist()], ids=["numpy", "torch", "lists"])
    def test_of_any_kind(self, kind: Any) -> None:
        found = as_block(kind(values()), clean=kind(CLEAN), corrupted=kind(CORRUPTED))
        assert found.patched.dims == ("metric", "prompt", "layer", "head")
        np.testing.assert_allclose(found.patched[0], values())
        np.testing.assert_allclose(found.clean[0], CLEAN)
        assert found.layer.values.tolist() == list(range(LAYERS))
        assert found.item.values.tolist() == [f"prompt {number}" for number in range(N)]

    @pytest.mark.parametrize("base", ["clean", "corrupted"])
    def test_the_effects_are_those_of_a_block(self, base: str) -> None:
        expected = block(values(), items=np.arange(N) // 2, base=base)
        found = as_block(
            expected.patched[0].values, clean=expected.clean[0], corrupted=expected.corrupted[0], base=base,
            items=expected.item.values, task="mine",
        )  # fmt: skip
        scores = score(found)
        assert scores.task.values.tolist() == ["mine"]
        np.testing.assert_allclose(scores.effect, score(expected).effect)
        np.testing.assert_allclose(scores.n_items, 3)

    def test_named_axes_in_any_order(self) -> None:
        array = xr.DataArray(values(), dims=("prompt", "layer", "head"), coords={"layer": [1, 3, 5]})
        found = as_block(array.transpose("head", "layer", "prompt"), clean=CLEAN, corrupted=CORRUPTED)
        np.testing.assert_allclose(found.patched[0], values())
        assert found.layer.values.tolist() == [1, 3, 5]

    def test_a_number_per_layer_is_a_layer_of_one_head(self) -> None:
        found = as_block(values()[..., 0], clean=CLEAN, corrupted=CORRUPTED)
        assert dict(found.patched.sizes) == {"metric": 1, "prompt": N, "layer": LAYERS, "head": 1}
        assert score(found).effect.shape == (1, LAYERS, 1)

    def test_positions_and_metrics(self) -> None:
        by_position = np.stack([values(), values() + 1], 1)
        found = as_block(by_position, clean=CLEAN, corrupted=CORRUPTED)
        assert found.patched.dims == ("metric", "prompt", "position", "layer", "head")
        assert found.position.values.tolist() == [0, 1]
        array = xr.DataArray(np.stack([values()] * 2), dims=("metric", "prompt", "layer", "head"),
                             coords={"metric": ["a", "b"]})  # fmt: skip
        both = as_block(array, clean=[CLEAN, CLEAN], corrupted=[CORRUPTED, CORRUPTED])
        assert score(both, metric="b").attrs["metric"] == "b"

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"values": np.moveaxis(values(), 0, -1)}, r"\(prompt 3, layer 4"),
            ({"clean": CLEAN[:2]}, r"clean .*got shape \(2,\)"),
            ({"clean": 3.0}, r"got shape"),
            ({"clean": None}, "unpatched clean prompts"),
            ({"corrupted": None}, "unpatched corrupted prompts"),
            ({"values": np.zeros(3)}, r"\[prompt, layer, head\]"),
            ({"values": xr.DataArray(np.zeros((2, 3)), dims=("layer", "head"))}, "lack prompt"),
            ({"values": "text"}, "got a str"),
            ({"items": ["a"]}, "prompts; got 1"),
            (
                {"values": np.where(np.arange(60).reshape(N, LAYERS, HEADS) == 6, np.nan, values())},
                r"1 of 12 .*\(1, 2\)",
            ),
            ({"values": np.where(np.arange(12).reshape(LAYERS, HEADS) == 6, np.inf, values())}, r"1 of 12 .*\(1, 2\)"),
            ({"clean": [1.0, 2.0, np.nan, 4.0, 5.0]}, "clean holds NaN"),
        ],
    )
    def test_what_does_not_fit(self, changes: dict[str, Any], message: str) -> None:
        given = {"values": values(), "clean": CLEAN, "corrupted": CORRUPTED, **changes}
        with pytest.raises(DataError, match=message):
            as_block(given.pop("values"), **given)

    def test_a_head_without_any_number_is_one_that_a_layer_lacks(self) -> None:
        found = as_block(
            np.where(np.arange(12).reshape(LAYERS, HEADS) == 6, np.nan, values()), clean=CLEAN, corrupted=CORRUPTED
        )
        assert int(score(found).effect.isnull().sum()) == 1

    def test_another_base(self) -> None:
        with pytest.raises(OptionError, match="'clean' or 'corrupted'"):
            as_block(values(), clean=CLEAN, corrupted=CORRUPTED, base="patched")


@pytest.fixture(scope="module")
def notebook() -> dict[str, Any]:
    """What a notebook has at hand: a model with keys and values that query heads share."""
    model, batch = tiny_bridge("llama"), random_batch(4, 6)
    with torch.no_grad():
        gained = (model(batch.clean) - model(batch.corrupted))[:, -1]
    # Answers with a clear gap, and so with effects.
    batch = replace(batch, answer=gained.argmax(-1), distractor=gained.argmin(-1))

    def logit_diff(logits: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(len(logits))
        return logits[rows, -1, batch.answer] - logits[rows, -1, batch.distractor]

    with torch.no_grad():
        logits, cache = model.run_with_cache(batch.clean)
    return {
        "given": (model, batch.corrupted, cache, logit_diff), "clean": logit_diff(logits), "batch": batch,
        "model": model,
    }  # fmt: skip


@pytest.mark.needs_tl4("PatchingResult")
class TestTransformerLens:
    def result(self, notebook: dict[str, Any], name: str, **options: Any) -> Any:
        from transformer_lens import patching

        with torch.no_grad():
            return getattr(patching, f"get_act_patch_{name}")(
                *notebook["given"], **{"reduce": "none", "baseline": True, **options}
            )

    def test_head_outputs_are_those_of_a_sweep(self, notebook: dict[str, Any]) -> None:
        found = as_block(self.result(notebook, "attn_head_out_all_pos"), clean=notebook["clean"])
        ours = sweep(notebook["model"], notebook["batch"], "denoising_patch", positions="all")
        for name in ("patched", "clean", "corrupted"):
            np.testing.assert_allclose(found[name], ours[name], atol=1e-5)
        np.testing.assert_allclose(score(found).effect, score(ours).effect, atol=1e-5)

    @pytest.mark.parametrize(
        ("name", "dims"),
        [
            ("attn_head_q_all_pos", {"prompt": 4, "layer": 3, "head": 4}),
            ("attn_head_v_all_pos", {"prompt": 4, "layer": 3, "head": 2}),
            ("attn_head_out_by_pos", {"prompt": 4, "position": 6, "layer": 3, "head": 4}),
            ("mlp_out", {"prompt": 4, "position": 6, "layer": 3, "head": 1}),
        ],
    )
    def test_axes(self, notebook: dict[str, Any], name: str, dims: dict[str, int]) -> None:
        result = self.result(notebook, name)
        found = as_block(result, clean=notebook["clean"], items=["a", "a", "b", "b"])
        assert dict(found.patched[0].sizes) == dims
        cell = {"layer": 1, **{dim: 1 for dim in dims if dim in ("position", "head") and dims[dim] > 1}}
        index = tuple(cell[{"pos": "position"}.get(axis, axis)] for axis in result.axis_names)
        np.testing.assert_allclose(found.patched[0].sel(cell).squeeze(), result.values[index], atol=1e-6)
        np.testing.assert_allclose(found.corrupted[0], result.baseline)

    def test_every_kind_at_once_without_what_fills_up(self, notebook: dict[str, Any]) -> None:
        found = as_block(self.result(notebook, "attn_head_all_pos_every"), clean=notebook["clean"])
        assert found.patch_type.values.tolist() == ["out", "q", "k", "v", "pattern"]
        lacking = found.patched[0].isnull().all(["prompt", "layer"])
        assert lacking.sel(patch_type="k").values.tolist() == [False, False, True, True]
        assert lacking.sum() == 4
        scores = score({str(kind): found.sel(patch_type=kind) for kind in found.patch_type.values})
        assert scores.task.values.tolist() == found.patch_type.values.tolist()
        assert int(scores.effect.isnull().sum()) == 4 * 3

    def test_several_metrics_and_chosen_cells(self, notebook: dict[str, Any]) -> None:
        import pandas as pd
        from transformer_lens import patching

        metric = notebook["given"][3]
        with torch.no_grad():
            result = patching.get_act_patch_attn_head_out_all_pos(
                *notebook["given"][:3], {"one": metric, "twice": lambda logits: 2 * metric(logits)},
                index_axis_names=None, index_df=pd.DataFrame({"layer": [0, 2], "head": [1, 3]}),
                reduce="none", baseline=True,
            )  # fmt: skip
        clean = torch.stack([notebook["clean"], 2 * notebook["clean"]])
        found = as_block(result, clean=clean)
        assert found.metric.values.tolist() == ["one", "twice"]
        np.testing.assert_allclose(found.patched.sel(layer=2, head=3), result.values[:, 1])
        assert int(found.patched[0, 0].notnull().sum()) == 2
        np.testing.assert_allclose(found.patched[1], 2 * found.patched[0], rtol=1e-6)

    def test_means_and_axes_without_a_place(self, notebook: dict[str, Any]) -> None:
        with pytest.raises(DataError, match="reduce='none', baseline=True"):
            as_block(self.result(notebook, "attn_head_out_all_pos", reduce="mean"), clean=notebook["clean"])
        result = self.result(notebook, "attn_head_out_all_pos", baseline=False)
        with pytest.raises(DataError, match="baseline=True"):
            as_block(result, clean=notebook["clean"])
        by_source = replace(result, axis_names=["layer", "src_pos"])
        with pytest.raises(DataError, match="no axis 'src_pos'"):
            as_block(by_source, clean=notebook["clean"])
