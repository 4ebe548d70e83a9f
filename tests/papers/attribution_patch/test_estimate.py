"""The approximation as a method: a plain function, a method of a study, and labelled wherever it is shown."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from batches import ROLES, random_batch, random_role_batch
from counting import SUITE
from planted import planted_model, slot_batch
from toy_cases import shared_toy
from toys import random_tokens

import headcats as hc
from headcats.base.errors import DataError, OptionError
from headcats.methods.method import TaskInputs
from headcats.metrics import metric
from headcats.models.adapter import HookedModel, adapt
from headcats.prompts.batch import PromptBatch
from headcats.results.declaration import approximation_label
from headcats.sweeps.runs import BaseRuns

IG = "attribution_patch:ig_steps=2"
STEPS = "integrated gradients, 2 steps"
METHODS = ["attribution_patch", f"{IG}@all", "denoising_patch"]


@pytest.fixture(scope="module")
def toy() -> Any:
    return adapt(shared_toy().model)


def test_heads_that_share_keys_and_values_are_named() -> None:
    batch = PromptBatch.from_tokens([[0, 10, 12, 11]], [[0, 10, 13, 11]], [20], [21])
    toy = shared_toy("llama")
    approximation = hc.methods.attribution_patch(HookedModel(toy.model, tokenizer=toy.tokenizer), batch)
    assert approximation.kv_head.values.tolist() == [[0, 0, 1, 1]] * 2


@pytest.fixture(scope="module")
def results(counting_model: Any) -> xr.DataTree:
    """A study of the approximation beside the exact method; never written to."""
    return hc.run(counting_model, methods=METHODS, suite=SUITE, tasks=["always_a", "always_b"], n_prompts=4, n_demos=2)


def of_lengths(clean: int, corrupted: int) -> PromptBatch:
    """Three prompts of these numbers of tokens, and answers of one or two tokens."""
    draws = (random_tokens(3, n, seed=n) for n in (clean, corrupted))
    return PromptBatch.from_tokens(*draws, [[3], [4, 9], [5]], [[6], [7], [8, 3]])


def by_hand(model: Any, batch: PromptBatch, layer: int) -> torch.Tensor:
    """`d logit_diff / dz (z_clean - z_corrupted)` at the last token of every prompt, one continuation at a time."""
    total = torch.zeros(len(batch), 4)
    for answers, sign in ((batch.answers, 1), (batch.distractors, -1)):
        for row in range(len(batch)):
            tokens = answers[row][answers[row] >= 0]
            clean, corrupted = (torch.cat([side[row], tokens[:-1]])[None] for side in (batch.clean, batch.corrupted))
            place = batch.corrupted.shape[1] - 1
            _, z_clean = adapt(model).capture(clean, layers=[layer])
            zeros = torch.zeros_like(adapt(model).capture(corrupted, layers=[layer])[1][layer], requires_grad=True)
            z: list[torch.Tensor] = []

            def add(value: torch.Tensor, hook: Any) -> torch.Tensor:
                z.append(value.detach())  # noqa: B023
                return value + zeros  # noqa: B023

            logits = model.run_with_hooks(corrupted, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", add)])
            log_probs = logits.log_softmax(-1)[0, place : place + len(tokens)].gather(1, tokens[:, None]).sum()
            (gradient,) = torch.autograd.grad(log_probs, zeros)
            change = z_clean[layer][0, batch.length - 1] - z[0][0, place]
            total[row] += sign * (gradient[0, place] * change).sum(-1)
    return total


class TestCall:
    @pytest.mark.both_versions
    def test_at_the_last_token_lengths_may_differ(self) -> None:
        model, batch = shared_toy("llama").model, of_lengths(7, 5)
        ds = hc.methods.attribution_patch(model, batch)
        for layer in (0, 1):
            estimated = (ds.patched - ds.corrupted).sel(metric="logit_diff", layer=layer)
            np.testing.assert_allclose(estimated, by_hand(model, batch, layer), atol=2e-4)

    def test_a_path_between_prompts_needs_equal_lengths(self, toy: Any) -> None:
        with pytest.raises(DataError, match="token by token"):
            hc.methods.attribution_patch(toy, of_lengths(7, 5), ig_steps=2)
        batch, moved = random_role_batch(3), (ROLES[1], ROLES[0], *ROLES[2:])
        of_role = {"positions": ROLES[1], "ig_steps": 2}
        assert hc.methods.attribution_patch(toy, batch, **of_role).attrs["positions"] == ROLES[1]
        with pytest.raises(DataError, match="token by token"):
            hc.methods.attribution_patch(toy, replace(batch, corrupted_labels=(moved,) * 3), **of_role)

    def test_the_result_is_that_of_a_sweep_with_its_own_provenance(self, toy: Any) -> None:
        batch, metrics = random_batch(), ["prob", "logit_diff"]
        ds = hc.methods.attribution_patch(toy, batch, metrics=metrics)
        swept = hc.sweep(toy, batch, "denoising_patch", metrics=metrics)
        assert ds.patched.dims == swept.patched.dims
        assert ds.patched.dtype == swept.patched.dtype
        # A sweep records its unpatched runs, the approximation runs them: equal up to rounding.
        xr.testing.assert_allclose(ds.drop_vars("patched"), swept.drop_vars("patched"), rtol=0, atol=1e-5)
        own = {
            "method": "attribution_patch", "path": "gradient", "approximation": "first order", "base": "corrupted",
            "positions": "last", "reference": "none",
        }  # fmt: skip
        assert {name: ds.attrs[name] for name in own} == own
        assert {key: value for key, value in ds.attrs.items() if key != "provenance"} == json.loads(
            ds.attrs["provenance"]
        )
        assert set(swept.attrs) - set(ds.attrs) == {"self_check"}

    @pytest.mark.parametrize("ig_steps", [0, 4])
    def test_the_planted_head_is_found(self, ig_steps: int) -> None:
        names = ["logit_diff", "log_prob", "kl"]
        ds = hc.methods.attribution_patch(
            planted_model({(0, 2): 1}), slot_batch(1, n=8), metrics=names, ig_steps=ig_steps
        )
        for effect in (ds.patched - ds.corrupted).mean("prompt"):
            planted = float(effect.sel(layer=0, head=2))
            assert planted > 0.05
            assert int((abs(effect) > 0.05 * planted).sum()) == 1

    def test_it_is_no_intervention(self, toy: Any) -> None:
        with pytest.raises(OptionError, match="'attribution_patch' does"):
            hc.sweep(toy, random_batch(), "attribution_patch")
        with pytest.raises(OptionError, match="attribution_patch"):
            hc.plan("gpt2", methods=["attribution_patch"], suite=["country_capital", "country_language"])
        assert repr(hc.methods.attribution_patch) == "<method attribution_patch>"

    def test_metrics_that_count_are_refused(self, toy: Any) -> None:
        @metric(smooth=False)
        def sign(logits: Any, targets: Any) -> Any:
            return (logits[:, 0] > 0).float()

        for name in ("rank", "accuracy", "sign"):
            with pytest.raises(OptionError, match=rf"'{name}' counts.* logit_diff, "):
                hc.methods.attribution_patch(toy, random_batch(), metrics=["prob", name])

    def test_other_wrong_options(self, toy: Any) -> None:
        for options, error, message in (
            ({"ig_steps": -1}, OptionError, "'ig_steps' .* got -1"),
            ({"positions": "y9"}, DataError, "'y9'"),
        ):
            with pytest.raises(error, match=message):
                hc.methods.attribution_patch(toy, random_role_batch(3), **options)


class TestStudy:
    def test_batches_of_several_lengths_are_joined_in_order(self, toy: Any) -> None:
        batches, done = (random_batch(3, 7), random_batch(2, 9, seed=4)), []
        runs = tuple(BaseRuns(toy, batch) for batch in batches)
        inputs = TaskInputs(runs, ("logit_diff", "prob"), lambda kind: pytest.fail("needs no reference"), done.append)
        joined = hc.methods.attribution_patch.on_part(inputs, "task", positions="last", ig_steps=2)
        parts = [
            hc.methods.attribution_patch(toy, batch, metrics=["logit_diff", "prob"], ig_steps=2) for batch in batches
        ]
        assert np.array_equal(joined.patched.values, np.concatenate([part.patched.values for part in parts], axis=1))
        assert joined.attrs == {**parts[0].attrs, "dropped": 0}
        assert sum(done) == 2 * 8

    def test_blocks_say_what_they_are(self, results: xr.DataTree) -> None:
        manifest = json.loads(results.attrs["manifest"])
        for label, kind in (("attribution_patch@last", "first order"), (f"{IG}@all", STEPS)):
            assert results["always_a"][label].attrs["approximation"] == kind
            assert manifest["blocks"][label]["parts"]["always_a"]["approximation"] == kind
            assert manifest["blocks"][label]["parts"]["always_a"]["path"] == "gradient"
        assert "approximation" not in results["always_a"]["denoising_patch@last"].attrs


class TestLabels:
    def members(self, results: xr.DataTree, method: str) -> xr.Dataset:
        return hc.categorize(hc.score(results, method=method), rule=hc.rules.threshold(value=0.1), min_tasks=1)

    @pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
    def test_tables_carry_the_approximation(self, results: xr.DataTree) -> None:
        for method, kind, label in (
            ("attribution_patch", "first order", "first-order approximation"),
            (IG, STEPS, f"gradient approximation ({STEPS})"),
        ):
            members = self.members(results, method)
            shared = hc.overlap(members)
            assert members.attrs["approximation"] == shared.attrs["approximation"] == kind
            assert approximation_label(shared) == label
            heads = hc.categories.head_table(shared)
            assert len(heads)
            assert set(heads.approximation) == {kind}
        exact = hc.overlap(self.members(results, "denoising_patch"))
        assert approximation_label(exact) == ""
        assert "approximation" not in hc.categories.head_table(exact)

    def test_estimates_are_not_mixed_with_exact_numbers(self, results: xr.DataTree) -> None:
        mixed = xr.DataTree.from_dict({path: node.to_dataset() for path, node in results.subtree_with_keys})
        mixed["always_b/attribution_patch@last"] = mixed["always_b/denoising_patch@last"]
        with pytest.raises(DataError, match=r"'always_a' .*'always_b' exact"):
            hc.score(mixed, method="attribution_patch")
