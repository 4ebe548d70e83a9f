"""Finished prompts of one's own, without roles and of several lengths: every method at the last position, evidence, and
a suite that results hold."""

import json
from dataclasses import replace

import pytest

import headcats as hc
from headcats.base.errors import OptionError, PlanError
from headcats.methods.spec import MethodSpec
from headcats.results.declaration import default_methods
from headcats.results.run_results import RunResults
from headcats.study.plan import plan
from headcats.study.preparation import Preparation

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
SOURCE = """
import headcats as hc


def finished(name, category, right, wrong):
    def make(n, *, seed):
        return [
            hc.PromptPair(
                key=f"w{i}, {n_lines} lines",
                item=f"w{i}",
                clean="".join(f"w{(i + k) % 24} → {right}\\n" for k in range(1, 1 + n_lines)) + f"w{i} →",
                corrupted="".join(f"w{(i + k + 5) % 24} → {wrong}\\n" for k in range(1, 1 + n_lines)) + f"w{i} →",
                answer=f" {right}",
                distractor=f" {wrong}",
                second=hc.SecondCorruption("w30 → w47\\n" * n_lines + f"w{i} →", "always w47"),
            )
            for n_lines in (1, 2, 3)
            for i in range(24)
        ]

    return hc.Task(name, category, "made up", make)


tasks = [finished("a", "one", "w40", "w41"), finished("b", "one", "w41", "w42")]
tasks += [finished("c", "two", "w42", "w43"), finished("d", "two", "w43", "w40")]
mine = hc.make_suite(tasks, name="mine")
"""
METHODS = [f"{name}@last" for name in default_methods()]
QUICK = {"n_prompts": 8, "relabellings": 19}


@pytest.fixture(scope="module")
def model(model_folder):
    """A model of these tests alone: the self-check that results record depends on the longest prompt of a model."""
    return hc.load_model(model_folder, device="cpu")


@pytest.fixture
def own(tmp_path):
    """The file that holds the suite."""
    path = tmp_path / "own.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def run(model, suite, **options):
    return hc.run(model, suite=suite, **{"n_prompts": 24, "methods": METHODS[:1], "progress": False} | options)


def test_every_default_method_runs_at_the_last_position(model, own):
    suite = hc.suite(f"{own}:mine")
    prepared = Preparation(model, plan(suite=suite, n_prompts=24)).of("a")
    lengths = [{batch.length for batch in batches} for batches in (prepared.scored, prepared.reference)]
    assert lengths[0].isdisjoint(lengths[1])
    results = run(model, suite, tasks=["a"], methods=[*METHODS, "mean_ablation@end"])
    assert set(results["a"].children) == {*METHODS, "mean_ablation@end"}
    assert all(block.attrs["dropped"] == 0 for block in results["a"].children.values())
    last, end = (results["a"][f"mean_ablation@{positions}"].patched for positions in ("last", "end"))
    assert abs(end - last).max() == 0


def test_elsewhere_it_is_refused_beside_a_task_of_pairs_that_keeps_its_roles(model, options, own):
    suite = options["suite"].with_tasks(*hc.suite(f"{own}:mine").tasks)
    methods = ["mean_ablation", "mean_ablation@last"]
    results = run(model, suite, tasks=["always_a", "a"], n_prompts=8, n_demos=2, methods=methods)
    assert set(results["always_a"].children) == {"mean_ablation@all", "mean_ablation@last"}
    assert set(results["a"].children) == {"mean_ablation@last"}
    refusal = RunResults(results).manifest.blocks["mean_ablation@all"].parts["a"].refusal
    assert "positions='last'" in refusal
    assert "roles" in refusal
    assert "demonstration" not in refusal


def test_results_hold_a_suite_of_python(model, own):
    tasks = list(hc.suite(f"{own}:mine").tasks)
    results = run(model, tasks)
    assert RunResults(results).manifest.suite_source == ""
    evidence = hc.run_evidence(model, results, **QUICK)
    assert json.loads(evidence.attrs["left_out"]) == {}
    assert (evidence["specificity"]["heads"].sel(category=["one", "two"]) != "").any()
    assert evidence["relabelling"]["damaged"].notnull().all()
    for changed, named in (
        (tasks[:3], "missing: d"),
        ([*tasks, "plural"], "new: plural"),
        ([*tasks[:3], replace(tasks[3], category="one")], "d .*'one', not 'two'"),
    ):
        with pytest.raises(PlanError, match=named):
            hc.run_evidence(model, results, suite=changed, **QUICK)


def test_prompts_without_demonstrations_need_no_number_of_them(own):
    suite = hc.suite(f"{own}:mine")
    assert plan(suite=suite, n_prompts=8, n_demos=0).n_demos == 0
    with pytest.raises(OptionError, match="n_demos"):
        plan(suite=suite.with_tasks("plural"), n_prompts=8, n_demos=0)
    assert plan(suite=suite.with_tasks("plural"), tasks=["a"], n_prompts=8, n_demos=0).methods == tuple(
        MethodSpec.parse(name) for name in default_methods()
    )
