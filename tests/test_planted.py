"""Heads planted by hand are found, alone and with the right effect, from the sweep to the map."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr
from planted import planted_model, slot_batch

import headcats as hc
from headcats.models.adapter import adapt
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, TaskRecord
from headcats.results.stored_run import tree

Slots = Mapping[tuple[int, int], int]


def effects(ds: xr.Dataset) -> xr.DataArray:
    """(metric, prompt, layer, head): shares of the mean gap."""
    ds = ds.astype("float64")
    difference = ds.patched - ds.corrupted if ds.attrs["base"] == "corrupted" else ds.clean - ds.patched
    return difference / (ds.clean - ds.corrupted).mean("prompt")


def expect(found: xr.DataArray, slots: Slots, value: float) -> None:
    for layer in range(2):
        for head in range(4):
            expected = value if (layer, head) in slots else 0.0
            assert abs(found.sel(layer=layer, head=head) - expected).max() <= 1e-6, (layer, head)


@pytest.mark.parametrize("slots", [{(0, 2): 1}, {(1, 0): 2}], ids=["first layer", "last layer"])
class TestOneHead:
    @pytest.mark.parametrize(
        ("method", "positions"),
        [("denoising_patch", "all"), ("denoising_patch", "query"), ("noising_patch", "last"), ("noising_patch", "all")],
    )
    def test_has_the_whole_effect_and_the_others_none(self, slots: Slots, method: str, positions: str) -> None:
        ds = hc.sweep(planted_model(slots), slot_batch(*slots.values()), method, positions=positions)
        assert (ds.clean > 1).all()
        np.testing.assert_allclose(ds.clean, -ds.corrupted, rtol=1e-5)
        expect(effects(ds), slots, 1.0)

    def test_zeroed_leaves_answer_and_distractor_level(self, slots: Slots) -> None:
        # Half-way between clean and corrupted. The others only change LayerNorm's scale a little.
        ds = hc.sweep(planted_model(slots), slot_batch(*slots.values()), "zero_ablation", positions="last")
        found, ((layer, head),) = effects(ds), slots
        assert abs(found.sel(layer=layer, head=head) - 0.5).max() <= 1e-6
        assert int((abs(found) > 0.1).any("prompt").sum()) == 1

    def test_in_every_metric(self, slots: Slots) -> None:
        metrics = ["logit_diff", "log_prob", "prob", "kl", "rank", "accuracy"]
        ds = hc.sweep(planted_model(slots), slot_batch(*slots.values()), "denoising_patch", metrics=metrics)
        assert (ds.clean.sel(metric="accuracy") == 1).all()
        assert (ds.corrupted.sel(metric="accuracy") == 0).all()
        expect(effects(ds), slots, 1.0)

    def test_has_none_where_it_does_not_look_from(self, slots: Slots) -> None:
        # The head does its work at the query: its outputs at the slot are the same in both runs, or read by nobody.
        ds = hc.sweep(planted_model(slots), slot_batch(*slots.values()), "denoising_patch", positions="bos")
        expect(effects(ds), {}, 0.0)

    def test_the_mean_of_both_answers_in_turn_takes_it_away(self, slots: Slots) -> None:
        # A reference in which every prompt stands once with its answer and once with its distractor says nothing.
        batch = slot_batch(*slots.values())
        turned = hc.PromptBatch(**{**vars(batch), "clean": batch.corrupted, "corrupted": batch.clean})
        ds = hc.sweep(
            planted_model(slots), batch.select([0]), "mean_ablation", positions="last",
            reference=[batch.select([0]), turned.select([0])] * 8,
        )  # fmt: skip
        expect(effects(ds), slots, 0.5)


def test_two_heads_that_both_carry_the_answer_share_the_effect() -> None:
    slots = {(0, 1): 1, (0, 3): 2}
    for method in ("denoising_patch", "noising_patch"):
        found = effects(hc.sweep(planted_model(slots), slot_batch(1, 2), method))
        expect(found, slots, 0.5)


@pytest.fixture(scope="module")
def planted_results() -> xr.DataTree:
    """L0H1 serves Algorithmic; L0H3 serves Algorithmic and Knowledge."""
    model: Any = adapt(planted_model({(0, 1): 1, (0, 3): 2}))
    changed = {
        "reverse": ("Algorithmic", (1, 2)),
        "capitals": ("Knowledge", (2,)),
        "next_letter": ("Algorithmic", (1, 2)),
        "elements": ("Knowledge", (2,)),
    }
    blocks = {
        (task, "denoising_patch@last"): hc.sweep(model, slot_batch(*slots, seed=seed, task=task), "denoising_patch")
        for seed, (task, (_, slots)) in enumerate(changed.items())
    }
    manifest = Manifest(
        tasks={task: TaskRecord(category) for task, (category, _) in changed.items()},
        categories=(CategoryRecord("Algorithmic", "#1f77b4"), CategoryRecord("Knowledge", "#ff7f0e")),
    )
    return tree(blocks, manifest)


class TestTwoCategories:
    def test_scores(self, planted_results: xr.DataTree) -> None:
        scores = hc.score(planted_results, method="denoising_patch")
        assert scores.task.values.tolist() == ["reverse", "capitals", "next_letter", "elements"]
        assert scores.category.values.tolist() == ["Algorithmic", "Knowledge"] * 2
        expected = np.zeros((4, 2, 4))
        expected[::2, 0, 1] = expected[::2, 0, 3] = 0.5
        expected[1::2, 0, 3] = 1.0
        np.testing.assert_allclose(scores.effect.transpose("task", "layer", "head"), expected, atol=1e-6)

    @pytest.mark.parametrize(("rule", "min_tasks"), [("fdr", 2), ("threshold", "half")])
    def test_the_shared_head_has_both_and_the_other_one(
        self, planted_results: xr.DataTree, rule: str, min_tasks: Any
    ) -> None:
        rules = {"fdr": hc.rules.fdr(alpha=0.05, min_effect=0.05), "threshold": hc.rules.threshold(value=0.3)}
        scores = hc.score(planted_results, method="denoising_patch")
        overlap = hc.overlap(hc.categorize(scores, rule=rules[rule], min_tasks=min_tasks))
        expected = np.full((2, 4), "", dtype=object)
        expected[0, 1], expected[0, 3] = "Algorithmic", "Algorithmic+Knowledge"
        assert overlap.set.values.tolist() == expected.tolist()
        assert overlap.n_categories.values.tolist() == [[0, 1, 0, 2], [0, 0, 0, 0]]
        assert overlap.observed.sel(k=[1, 2]).values.tolist() == [1, 1]
        assert not overlap.undecided.any()
        assert float(overlap.jaccard.sel(category="Algorithmic", other="Knowledge")) == 0.5
        assert not (overlap.suppressing == 1).any()
        assert overlap.tasks.sel(category="Knowledge", layer=0, head=3).item() == "capitals,elements"
