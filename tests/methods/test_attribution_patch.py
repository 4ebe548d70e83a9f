"""The approximation as a method: a plain function, a method of a study, and labelled wherever it is shown."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from batches import ROLES, random_batch, random_role_batch
from counting import SUITE, counting_folder
from planted import planted_model, slot_batch
from toys import random_tokens, tiny_model
from typer.testing import CliRunner

import headcats as hc
from headcats import registry
from headcats.cli import app
from headcats.errors import DataError, OptionError, UnknownNameError
from headcats.methods.causal.on_task import TaskInputs
from headcats.methods.spec import MethodSpec
from headcats.metrics import metric
from headcats.models.adapter import adapt
from headcats.prompts.batch import PromptBatch
from headcats.results.declaration import approximation_label
from headcats.results.merging import merge
from headcats.study.plan import plan
from headcats.sweeps.runs import BaseRuns

IG = "attribution_patch:ig_steps=2"
METHODS = ["attribution_patch", f"{IG}@all", "denoising_patch"]
STUDY = {"suite": SUITE, "n_prompts": 12, "n_demos": 2}


@pytest.fixture(scope="module")
def toy() -> Any:
    return adapt(tiny_model("gpt2", n_layers=2).model)


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return hc.load_model(counting_folder(tmp_path_factory.mktemp("counting") / "model"), device="cpu")


@pytest.fixture(scope="module")
def folder(counting: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study of the approximation beside the exact method; never written to."""
    path = tmp_path_factory.mktemp("attribution") / "results"
    hc.run(counting, methods=METHODS, out=path, **STUDY)
    return path


@pytest.fixture(scope="module")
def results(folder: Path) -> xr.DataTree:
    return hc.load(folder)


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
    @pytest.mark.parametrize(("clean", "corrupted"), [(6, 6), (7, 5), (5, 7)])
    def test_at_the_last_token_lengths_may_differ(self, clean: int, corrupted: int) -> None:
        model, batch = tiny_model("llama", n_layers=2).model, of_lengths(clean, corrupted)
        ds = hc.methods.attribution_patch(model, batch)
        for layer in (0, 1):
            estimated = (ds.patched - ds.corrupted).sel(metric="logit_diff", layer=layer)
            np.testing.assert_allclose(estimated, by_hand(model, batch, layer), atol=2e-4)

    def test_a_path_between_prompts_needs_equal_lengths(self, toy: Any) -> None:
        with pytest.raises(DataError, match="do not match token by token"):
            hc.methods.attribution_patch(toy, of_lengths(7, 5), ig_steps=2)
        batch, moved = random_role_batch(3), (ROLES[1], ROLES[0], *ROLES[2:])
        of_role = {"positions": ROLES[1], "ig_steps": 2}
        assert hc.methods.attribution_patch(toy, batch, **of_role).attrs["positions"] == ROLES[1]
        with pytest.raises(DataError, match="do not match token by token"):
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

    @pytest.mark.parametrize("positions", ["last", "all", "x_query"])
    def test_steps_and_positions_are_said(self, toy: Any, positions: str) -> None:
        ds = hc.methods.attribution_patch(toy, random_role_batch(3), positions=positions, ig_steps=3)
        assert ds.attrs["approximation"] == "integrated gradients, 3 steps"
        assert ds.attrs["positions"] == positions

    @pytest.mark.parametrize("ig_steps", [0, 4])
    @pytest.mark.parametrize("name", ["logit_diff", "log_prob", "kl"])
    def test_the_planted_head_is_found(self, name: str, ig_steps: int) -> None:
        ds = hc.methods.attribution_patch(
            planted_model({(0, 2): 1}), slot_batch(1, n=8), metrics=[name], ig_steps=ig_steps
        )
        effect = (ds.patched - ds.corrupted).mean(("metric", "prompt"))
        planted = float(effect.sel(layer=0, head=2))
        assert planted > 0.05
        assert int((abs(effect) > 0.05 * planted).sum()) == 1

    def test_it_is_no_intervention(self, toy: Any) -> None:
        with pytest.raises(OptionError, match="'attribution_patch' does"):
            hc.sweep(toy, random_batch(), "attribution_patch")
        assert repr(hc.methods.attribution_patch) == "<method attribution_patch>"

    @pytest.mark.parametrize("name", ["rank", "accuracy"])
    def test_metrics_that_count_are_refused(self, toy: Any, name: str) -> None:
        with pytest.raises(OptionError, match=rf"'{name}' counts.* logit_diff, "):
            hc.methods.attribution_patch(toy, random_batch(), metrics=["prob", name])

    def test_a_metric_of_ones_own_that_says_so_is_refused_too(self, toy: Any) -> None:
        @metric(smooth=False)
        def sign(logits: Any, targets: Any) -> Any:
            return (logits[:, 0] > 0).float()

        with pytest.raises(OptionError, match="'sign' counts"):
            hc.methods.attribution_patch(toy, random_batch(), metrics=["sign"])

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            (
                {"ig_steps": -1},
                OptionError,
                "'ig_steps' of attribution_patch takes a whole number of at least 0; got -1",
            ),
            ({"ig_steps": True}, OptionError, "got True"),
            ({"metrics": "prob"}, OptionError, "metrics must be a list"),
            ({"metrics": ["probb"]}, UnknownNameError, "Did you mean 'prob'"),
            ({"positions": "y9"}, DataError, "has no role 'y9'"),
            ({"memory": "lots"}, OptionError, "memory must be"),
        ],
    )
    def test_other_wrong_options(self, toy: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            hc.methods.attribution_patch(toy, random_role_batch(3), **options)


class TestStudy:
    @pytest.mark.parametrize(
        ("text", "label"),
        [
            ("attribution_patch", "attribution_patch@last"),
            ("attribution_patch:ig_steps=0@all", "attribution_patch@all"),
            ("attribution_patch:ig_steps=08", "attribution_patch:ig_steps=8@last"),
            (" attribution_patch : ig_steps = 8 @ all ", "attribution_patch:ig_steps=8@all"),
        ],
    )
    def test_names_are_read_and_written(self, text: str, label: str) -> None:
        spec = MethodSpec.parse(text)
        assert spec.label == label
        assert MethodSpec.parse(label) == spec

    def test_bad_names(self) -> None:
        for text, message in (("ig_steps=-1", "at least 0; got -1"), ("ig_steps=a", "got 'a'"), ("ig_steps", "got ''")):
            with pytest.raises(OptionError, match=f"whole number .*{message}"):
                MethodSpec.parse(f"attribution_patch:{text}")
        with pytest.raises(UnknownNameError, match="'ig_steps'"):
            MethodSpec.parse("attribution_patch:ig_step=1")

    def test_metrics_it_cannot_use_are_refused_before_a_model_is_loaded(self) -> None:
        with pytest.raises(OptionError, match="'rank' counts"):
            plan(suite_source=SUITE, n_prompts=4, methods=["denoising_patch", IG], metrics=["logit_diff", "rank"])
        with pytest.raises(OptionError, match="'accuracy' counts"):
            hc.run("no such model", suite=SUITE, methods=["attribution_patch"], metrics=["accuracy"])

    def test_batches_of_several_lengths_are_joined_in_order(self, toy: Any) -> None:
        batches, done = (random_batch(3, 7), random_batch(2, 9, seed=4)), []
        runs = tuple(BaseRuns(toy, batch) for batch in batches)
        inputs = TaskInputs(runs, ("logit_diff", "prob"), lambda kind: pytest.fail("needs no reference"), done.append)
        joined = hc.methods.attribution_patch.on_task(inputs, positions="last", ig_steps=2)
        parts = [
            hc.methods.attribution_patch(toy, batch, metrics=["logit_diff", "prob"], ig_steps=2) for batch in batches
        ]
        assert np.array_equal(joined.patched.values, np.concatenate([part.patched.values for part in parts], axis=1))
        assert joined.attrs == {**parts[0].attrs, "dropped": 0}
        assert sum(done) == 2 * 8

    @pytest.mark.ci
    def test_blocks_say_what_they_are(self, folder: Path, results: xr.DataTree) -> None:
        manifest = json.loads(results.attrs["manifest"])
        for label, kind in (("attribution_patch@last", "first order"), (f"{IG}@all", "integrated gradients, 2 steps")):
            assert results["always_a"][label].attrs["approximation"] == kind
            assert manifest["blocks"]["always_a"][label]["approximation"] == kind
            assert manifest["blocks"]["always_a"][label]["path"] == "gradient"
        assert "approximation" not in results["always_a"]["denoising_patch@last"].attrs

    @pytest.mark.ci
    def test_a_finished_study_is_left_as_it_is(self, counting: Any, folder: Path) -> None:
        before = {path: path.read_bytes() for path in folder.rglob("*.nc")}
        assert len(before) == 10  # with the descriptors
        hc.run(counting, methods=METHODS, out=folder, **STUDY)
        assert {path: path.read_bytes() for path in folder.rglob("*.nc")} == before


class TestLabels:
    def members(self, results: xr.DataTree, method: str) -> xr.Dataset:
        return hc.categorize(hc.score(results, method=method), rule=hc.rules.threshold(value=0.1), min_tasks=1)

    @pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
    def test_tables_carry_the_approximation(self, results: xr.DataTree) -> None:
        steps = "integrated gradients, 2 steps"
        for method, kind, label in (
            ("attribution_patch", "first order", "first-order approximation"),
            (IG, steps, f"gradient approximation ({steps})"),
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

    @pytest.mark.ci
    @pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
    def test_figures_name_the_approximation(self, results: xr.DataTree) -> None:
        scores = hc.score(results, method="attribution_patch")
        shared = hc.overlap(self.members(results, "attribution_patch"))
        for drawn, table in ((hc.figures.overlap_map, shared), (hc.figures.head_grid, scores)):
            title = drawn(table).layout.title.text
            assert title == "First-order approximation"
            assert drawn(table, title="Mine").layout.title.text == f"{title}: Mine"
            assert drawn(table, title="A first-order approximation").layout.title.text == "A first-order approximation"
            hovers = [trace.hovertemplate for trace in drawn(table).data if trace.type == "heatmap"]
            assert all("<br>first-order approximation: " in hover for hover in hovers)
            assert set(hc.figures.data(drawn(table)).approximation) == {"first order"}
        exact = hc.figures.head_grid(hc.score(results, method="denoising_patch"))
        assert "approximation" not in exact.to_json().lower()
        assert "approximation" not in hc.figures.data(exact)

    def test_estimates_are_not_mixed_with_exact_numbers(self, results: xr.DataTree) -> None:
        mixed = xr.DataTree.from_dict({path: node.to_dataset() for path, node in results.subtree_with_keys})
        mixed["always_b/attribution_patch@last"] = mixed["always_b/denoising_patch@last"]
        with pytest.raises(DataError, match=r"'always_a' .*'always_b' exact"):
            hc.score(mixed, method="attribution_patch")

    @pytest.mark.ci
    def test_merging_keeps_both_kinds_apart(self, counting: Any, folder: Path, tmp_path: Path) -> None:
        hc.run(counting, methods=["zero_ablation"], out=tmp_path / "other", **STUDY)
        merged = merge([folder, tmp_path / "other"], out=tmp_path / "all")
        labels = {"attribution_patch@last", f"{IG}@all", "denoising_patch@last", "zero_ablation@all"}
        assert set(merged["always_a"].children) == labels
        kinds = {label: merged["always_a"][label].attrs.get("approximation") for label in labels}
        assert [label for label in labels if kinds[label] is None] != []
        assert kinds["attribution_patch@last"] == "first order"
        assert kinds["zero_ablation@all"] is None


class TestCommandLine:
    def said(self, *arguments: Any, capfd: Any) -> str:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == 0, done.exception
        return " ".join((done.output + capfd.readouterr().out).split())

    @pytest.mark.ci
    @pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
    def test_map_and_compare_name_the_approximation(
        self, counting: Any, folder: Path, tmp_path: Path, capfd: Any
    ) -> None:
        hc.run(counting, methods=["denoising_patch"], out=tmp_path / "exact", **STUDY)
        hc.run(counting, methods=["attribution_patch"], out=tmp_path / "attribution", **STUDY)
        said = self.said("map", tmp_path / "attribution", "--csv", capfd=capfd)
        assert "first-order approximation" in said
        assert "estimates for choosing" in said
        assert "attribution_patch, first-order" in self.said("map", tmp_path / "attribution", "--details", capfd=capfd)
        mapped = tmp_path / "attribution"
        assert "first-order approximation" in (mapped / "overlap_map.html").read_text(encoding="utf-8")
        assert (mapped / "heads.csv").read_text(encoding="utf-8").splitlines()[0].endswith(",approximation")
        hc.run(counting, methods=["denoising_patch"], out=tmp_path / "attribution", **STUDY)
        assert "heads by denoising patch" in self.said("map", tmp_path / "attribution", capfd=capfd)
        said = self.said("map", tmp_path / "exact", capfd=capfd)
        assert "approximation" not in said.replace(str(tmp_path), "")
        hc.run(counting, methods=["attribution_patch"], out=tmp_path / "only", **STUDY)
        said = self.said("compare", tmp_path / "exact", tmp_path / "only", capfd=capfd)
        assert "kinds of numbers" in said
        said = self.said("compare", tmp_path / "only", tmp_path / "only", capfd=capfd)
        assert "Both are" in said
        assert "kinds of numbers" not in self.said("compare", tmp_path / "exact", tmp_path / "exact", capfd=capfd)

    def test_a_list_of_methods_calls_it_an_approximation(self, capfd: Any) -> None:
        assert "First-order approximation of" in self.said("list", "methods", capfd=capfd)
        assert "attribution_patch" in registry.names("method")
