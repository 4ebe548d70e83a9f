"""Commands that produce a missing result, or repeat a run."""

import json
from dataclasses import replace

import pytest
import xarray as xr

from headcats.base.errors import OptionError
from headcats.methods.spec import MethodSpec
from headcats.reports.text.suggestions import check_scored, joint_block, repeat_command
from headcats.results.declaration import Declaration, default_methods, registered
from headcats.results.manifest import Manifest
from headcats.results.records import DropCounts, ModelRecord, PlanRecord, TaskRecord
from headcats.results.run_results import RunResults
from headcats.tasks.suites import suite

pytestmark = pytest.mark.usefixtures("joint_methods")


def test_a_block_is_drawn_by_the_figure_of_its_method():
    declared = Declaration("lengths", kind="joint", figure="head_scores")
    block = xr.Dataset({"score": 1.0}, attrs={"declaration": declared.as_text()})
    results = RunResults(xr.DataTree.from_dict({"/_suite/lengths": block}))
    assert joint_block(results, "head_scores").identical(block)
    assert joint_block(results, "head_grid") is None


def test_results_without_a_method_say_how_to_add_it():
    with pytest.raises(OptionError, match=r"no made_gates: .*--methods made_gates \(methods=\['made_gates'\]\)"):
        joint_block(held_results("word_weights"), registered("made_gates").figure)


RELATIONS = "`headcats figure head_scores results --method word_weights --out head_scores.html`"
PROBE = "`headcats figure probe_scores results --method class_probe --out probe_scores.html`"


def held_results(*whole, scored=()):
    """Results that hold these joint methods, and these method@positions of one task."""
    blocks = {f"/_suite/{label}": xr.Dataset(attrs={"label": label, "model": "toy"}) for label in whole}
    blocks |= {f"/plural/{label}": xr.Dataset() for label in scored}
    made = xr.DataTree.from_dict(blocks)
    made.attrs["manifest"] = json.dumps({"methods": [*whole, *scored]})
    return RunResults(made)


def message(error, *arguments):
    with pytest.raises(error) as found:
        check_scored(*arguments, by="A map")
    return str(found.value)


def test_results_without_a_scored_task_name_what_they_hold():
    refusal = message(OptionError, held_results("word_weights"), None)
    assert refusal.startswith("A map reads")
    assert "only word_weights. " in refusal
    assert refusal.endswith(f": {RELATIONS}.")


def test_a_joint_method_names_what_is_there_instead():
    refusal = message(OptionError, held_results("word_weights"), "word_weights")
    assert ": word_weights is a joint" in refusal
    assert RELATIONS in refusal
    both = held_results("word_weights", scored=["mean_ablation@last"])
    assert "mean_ablation@last with --method." in message(OptionError, both, "word_weights@last")
    absent = message(OptionError, held_results("class_probe"), "word_weights")
    assert absent.endswith(f": {PROBE}.")


def test_scored_tasks_and_empty_results_are_let_pass():
    check_scored(held_results("word_weights", scored=["mean_ablation@last"]), None, by="A map")
    check_scored(held_results("word_weights", scored=["mean_ablation@last"]), "mean_ablation", by="A map")
    check_scored(held_results(), None, by="A map")


ICL = [task.name for task in suite("icl").tasks]
PLAN = PlanRecord(suite="icl", metrics=("logit_diff",), template="arrow")


LABELS = [MethodSpec.parse(name).label for name in default_methods()]


def manifest(*, tasks=ICL, methods=LABELS, model=None, suite_source=None, **changed):
    return Manifest(
        suite_source=changed.get("suite", "icl") if suite_source is None else suite_source,
        plan=replace(PLAN, **changed),
        model=ModelRecord(**{"source": "mini", "model_class": "TransformerBridge", "dtype": "float32"} | (model or {})),
        methods=tuple(methods),
        tasks={task: TaskRecord(word_pairs=DropCounts(8)) for task in tasks},
    )


REPEATED = [
    (manifest(), "headcats run"),
    (manifest(methods=[LABELS[0], *reversed(LABELS[1:])]), "headcats run"),
    (manifest(methods=LABELS[1:]), f"headcats run --methods {','.join(LABELS[1:])}"),
    (
        manifest(tasks=["plural", "successor"], n_prompts=8, metrics=("prob", "kl"), methods=["word_weights"]),
        "headcats run --metrics prob,kl --n-prompts 8 --tasks successor,plural --methods word_weights",
    ),
    (
        manifest(suite="spoken", tasks=[], methods=["spoken_probe"], model={"source": "mini"}),
        "headcats run --suite spoken",
    ),
    (
        manifest(model={"source": "gpt2", "revision": "607a30d", "dtype": "bfloat16"}),
        "headcats run --model gpt2 --revision 607a30d --dtype bfloat16",
    ),
    (manifest(model={"source": ""}, seed=3), "hc.run(model, seed=3)"),
    (manifest(suite_source="", tasks=["b", "a"]), 'hc.run(model, suite=your_suite, tasks=["a", "b"])'),
    (
        manifest(suite="mine", tasks=["b", "a"], suite_source="/my files/own.py:mine"),
        "headcats run --suite ./own.py:mine --tasks a,b",
    ),
    (
        manifest(tasks=["plural", "mine"], methods=["word_weights"]),
        'hc.run(model, tasks=["plural", "mine"], methods=["word_weights"])',
    ),
]


def test_what_is_not_the_default_is_named():
    for made, command in REPEATED:
        assert repeat_command(made) == command
