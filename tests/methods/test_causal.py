"""What every causal method must keep to, and how a study runs one."""

import inspect
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from batches import ROLES, random_batch, random_role_batch, role_batch, with_second
from planted import planted_model, slot_batch
from toy_cases import shared_toy

import headcats as hc
from headcats.base import registry
from headcats.base.errors import HeadcatsError, OptionError
from headcats.methods.causal import CausalMethod, causal_method
from headcats.methods.method import TaskInputs
from headcats.models.adapter import adapt
from headcats.results.block_schema import worst_check
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.sources import Sources

ALL = registry.names("method")
# Their donors bring another answer than the right one, so they help by a logit difference alone; see their own tests.
CONTROLS = ("second_corruption_patch", "other_item_patch")
CAUSAL = [name for name in ALL if isinstance(registry.lookup("method", name), CausalMethod)]


@pytest.fixture(scope="module")
def model() -> Any:
    return adapt(shared_toy().model)


def difference(ds: xr.Dataset) -> xr.DataArray:
    return ds.patched - ds.corrupted if ds.attrs["base"] == "corrupted" else ds.clean - ds.patched


def test_every_method_is_the_attribute_of_its_name_and_says_where_it_comes_from() -> None:
    for name in ALL:
        method = getattr(hc.methods, name)
        assert method is registry.lookup("method", name)
        assert callable(method)
        assert not inspect.ismodule(method)
        assert method.__name__ == name
        assert str(inspect.getdoc(method)).partition("References:\n")[2].strip(), name


@pytest.mark.parametrize("name", CAUSAL)
class TestEveryCausalMethod:
    def test_is_a_plain_function_of_model_and_batch(self, name: str, model: Any) -> None:
        batch, method = with_second(random_batch()), getattr(hc.methods, name)
        ds = method(model, batch, metrics=["prob", "logit_diff"])
        assert isinstance(ds, xr.Dataset)
        assert ds.patched.dims == ("metric", "prompt", "layer", "head")
        assert ds.clean.dims == ds.corrupted.dims == ("metric", "prompt")
        shared = {"metric", "key", "item", "distractor_task", "layer", "head"}
        assert set(ds.coords) == shared | ({"second_task"} if method.intervention.uses_second else set())
        assert np.isfinite(ds.patched).all()
        assert ds.attrs["method"] == name
        assert ds.attrs["base"] in ("clean", "corrupted")
        assert ds.attrs["positions"] == getattr(hc.methods, name).positions
        assert ds.attrs["path"] == {"last": "last_position", "all": "suffix"}[ds.attrs["positions"]]
        assert ds.equals(hc.sweep(model, batch, name, metrics=["prob", "logit_diff"]))

    def test_does_something_to_every_head_at_the_positions_asked_for(self, name: str, model: Any) -> None:
        ds = getattr(hc.methods, name)(model, with_second(random_batch()), positions="last")
        assert (abs(ds.patched - ds[ds.attrs["base"]]).max("prompt") > 1e-4).all()
        ds = getattr(hc.methods, name)(model, with_second(random_role_batch(4)), positions="x1")
        assert ds.attrs["positions"] == "x1"
        base = ds[ds.attrs["base"]]
        # What the last layer says at an earlier token reaches no prediction at the last one.
        assert float(abs(ds.patched.sel(layer=1) - base).max()) < 2e-5
        assert float(abs(ds.patched.sel(layer=0) - base).max()) > 1e-4


@pytest.mark.parametrize("name", [name for name in CAUSAL if name not in CONTROLS])
def test_a_head_that_helps_has_a_positive_effect(name: str) -> None:
    # The planted head brings the answer. References hold other answers than the scored prompts.
    batch = slot_batch(1, n=8)
    ds = getattr(hc.methods, name)(
        planted_model({(0, 2): 1}), batch, metrics=["logit_diff", "log_prob", "prob", "kl"], positions="last",
        reference=hc.PromptBatch(**{**vars(slot_batch(1, n=8, seed=1)), "task": "another"}).without_roles(),
    )  # fmt: skip
    for metric, found in difference(ds).mean("prompt").groupby("metric"):
        planted = found.sel(layer=0, head=2).item()
        # A mean over other items takes the distractor away and brings no answer: in probability that is little.
        assert planted > (0.01 if (name, metric) == ("function_vector_patch", "prob") else 0.05), metric
        assert int((abs(found) > 0.05 * planted).sum()) == 1, metric


class TestOnTask:
    def inputs(self, model: Any, *, asked: list[str] | None = None, done: list[int] | None = None) -> TaskInputs:
        batches = (random_batch(3, 7), random_batch(2, 9, seed=4))
        held_out = {"suite": 60, "task": 61, "corrupted": 62, "other_tasks": 63, "other_items": 64}

        def reference(name: str) -> Reference:
            if asked is not None:
                asked.append(name)
            task = "scored" if name == "other_items" else "other"
            prompts = replace(random_role_batch(20, seed=held_out[name]), task=task, items=("held out",) * 20)
            return Reference(prompts, name=name)

        runs = tuple(BaseRuns(model, batch) for batch in batches)
        return TaskInputs(runs, ("logit_diff", "prob"), reference, (done if done is not None else []).append)

    @pytest.mark.parametrize("name", ["denoising_patch", "zero_ablation"])
    def test_batches_of_several_lengths_are_joined_in_order(self, name: str, model: Any) -> None:
        method, done = getattr(hc.methods, name), []
        inputs = self.inputs(model, done=done)
        joined = method.on_part(inputs, "task", positions="last")
        assert dict(joined.sizes) == {"metric": 2, "prompt": 5, "layer": 2, "head": 4}
        parts = [method(model, runs.batch, metrics=["logit_diff", "prob"], positions="last") for runs in inputs.runs]
        for variable in ("patched", "clean", "corrupted"):
            expected = np.concatenate([part[variable].values for part in parts], axis=1)
            assert np.array_equal(joined[variable].values, expected)
        assert joined.key.values.tolist() == [key for runs in inputs.runs for key in runs.batch.keys]
        assert joined.item.dims == joined.distractor_task.dims == ("prompt",)
        assert joined.layer.values.tolist() == [0, 1]
        told = {**parts[0].attrs, "dropped": 0, "self_check": worst_check(part.attrs["self_check"] for part in parts)}
        assert json.loads(joined.attrs["provenance"]) | {"dropped": 0, "provenance": told["provenance"]} == told
        assert {**joined.attrs, "provenance": told["provenance"]} == told
        assert sum(done) == 2 * 8

    @pytest.mark.parametrize("name", ["mean_ablation", "resample_ablation"])
    def test_the_few_prompts_with_rare_roles_are_dropped_and_counted(self, name: str, model: Any) -> None:
        rare = [*ROLES[:2], "rare", *ROLES[3:]]
        whole = random_role_batch(4, task="scored")
        tokens = {"clean": whole.clean.tolist(), "corrupted": whole.corrupted.tolist(), "task": "scored"}
        for labels, kept in (([ROLES, rare, ROLES, ROLES], [0, 2, 3]), ([rare, rare, rare, ROLES], None)):
            runs = (
                BaseRuns(model, role_batch(tokens["clean"], labels, **{k: tokens[k] for k in ("corrupted", "task")})),
            )
            inputs = TaskInputs(
                runs, ("logit_diff",), lambda kind: Reference(random_role_batch(20, seed=5, task="other"))
            )
            if kept is None:
                with pytest.raises(HeadcatsError, match=r"'scored 0'.*3 of 4 prompts"):
                    getattr(hc.methods, name).on_part(inputs, "task", positions="all")
                continue
            found = getattr(hc.methods, name).on_part(inputs, "task", positions="all")
            assert found.key.values.tolist() == [f"scored {prompt}" for prompt in kept]
            assert found.attrs["dropped"] == 1
            everything = TaskInputs((BaseRuns(model, whole.select(kept)),), ("logit_diff",), inputs.reference)
            expected = getattr(hc.methods, name).on_part(everything, "task", positions="all")
            assert np.array_equal(found.patched.values, expected.patched.values)

    @pytest.mark.parametrize("name", ["mean_ablation", "other_item_patch"])
    def test_nothing_is_swept_of_a_task_that_is_refused(self, name: str, model: Any) -> None:
        """The prompts that could be swept come first."""
        rare = [*ROLES[:2], "rare", *ROLES[3:]]
        matched, unmatched = random_role_batch(2, task="scored"), random_role_batch(3, task="scored")
        tokens = {"corrupted": unmatched.corrupted.tolist(), "task": "scored"}
        runs = (BaseRuns(model, matched), BaseRuns(model, role_batch(unmatched.clean.tolist(), [rare] * 3, **tokens)))
        reference, done = Reference(random_role_batch(20, seed=5, task="scored")), []
        inputs = TaskInputs(runs, ("logit_diff",), lambda kind: reference, done.append)
        with pytest.raises(HeadcatsError, match="3 of 5 prompts"):
            getattr(hc.methods, name).on_part(inputs, "task", positions="all")
        assert done == []

    @pytest.mark.parametrize("name", CAUSAL)
    def test_the_reference_is_the_one_chosen_or_the_first(self, name: str, model: Any) -> None:
        method, asked = getattr(hc.methods, name), []
        batch = with_second(random_role_batch(3, task="scored"))
        inputs = TaskInputs((BaseRuns(model, batch),), ("logit_diff",), self.inputs(model, asked=asked).reference)
        choices = method.options.get("reference", ())
        found = [method.on_part(inputs, "task", positions="all", reference=choice) for choice in (None, *choices)]
        assert asked == [*choices[:1], *choices]
        assert [ds.attrs["reference"] for ds in found] == ([*choices[:1], *choices] or ["none"])
        if choices:
            assert found[0].identical(found[1])
            values = [ds.patched.values for ds in found[1:]]
            assert all(np.abs(a - b).max() > 1e-4 for i, a in enumerate(values) for b in values[:i])


class TestDecorator:
    @pytest.fixture(autouse=True)
    def own_registry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(registry._tables, "method", dict(registry._tables["method"]))

    def test_a_method_of_ones_own(self, model: Any) -> None:
        @causal_method(base="clean", positions="x_query", references=("task",))
        def halved_ablation(sources: Sources) -> torch.Tensor:
            """Half of z.

            References:
                None.
            """
            return sources.clean / 2

        assert hc.methods.halved_ablation is halved_ablation
        assert repr(halved_ablation) == "<method halved_ablation>"
        assert halved_ablation.__doc__.startswith("Half of z.")
        assert halved_ablation.options == {"reference": ("task",), "unit": ("head", "kv_group")}
        ds = hc.sweep(model, random_role_batch(3), "halved_ablation")
        assert (ds.attrs["positions"], ds.attrs["base"]) == ("x_query", "clean")
        assert float(abs(difference(ds)).max()) > 1e-4

    def test_an_unknown_one(self) -> None:
        with pytest.raises(AttributeError, match="mean 'zero_ablation'"):
            hc.methods.zero_ablate  # noqa: B018


def test_a_base_that_does_not_exist_is_refused_where_it_is_written() -> None:
    for options, named in (
        ({"base": "cleen", "positions": "last"}, "'cleen'"),
        ({"base": "clean", "positions": ""}, "''"),
    ):
        with pytest.raises(OptionError, match=named):
            hc.methods.causal_method(**options)
