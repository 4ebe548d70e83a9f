"""Commands that produce a missing result, or repeat a run."""

import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr

from headcats.cli.run import run_command
from headcats.errors import OptionError, UnknownNameError
from headcats.methods.spec import MethodSpec
from headcats.reports.text.joint_blocks import joint_block
from headcats.reports.text.suggestions import check_scored, quoted_figure_commands, repeat_command
from headcats.results.declaration import default_methods, registered
from headcats.results.manifest import Manifest
from headcats.results.records import ModelRecord, PlanRecord, TaskRecord
from headcats.study.defaults import DEFAULT_PROMPTS
from headcats.study.plan import plan
from headcats.tasks.suites import suite


def advice(method, *, tasks=None, model=None, of="icl", **changed):
    """What is said where results of a run hold no such method."""
    known = plan(n_prompts=DEFAULT_PROMPTS).record().complete() | {"suite": of} | changed
    names = [task.name for task in suite("icl").tasks] if tasks is None else tasks
    about = {"name": "mini", "revision": None, "model_class": "TransformerBridge", "dtype": "float32"}
    results = xr.DataTree()
    results.attrs["manifest"] = json.dumps(
        {
            "plan": known,
            "model": about | (model or {}),
            "tasks": {name: {} for name in names[1:]},
            "blocks": {"_suite": {"ov_relation": {"parts": {}, "tasks": dict.fromkeys(names[:1], "x")}}},
        }
    )
    with pytest.raises(OptionError, match=f"These results hold no {method}: ") as found:
        joint_block(results, registered(method).figure)
    return str(found.value).partition(": ")[2]


def test_the_command_has_the_plan_of_the_folder():
    assert advice("head_gating") == "`headcats run --methods head_gating --out DIR` adds it to the folder DIR."
    changed = {"n_prompts": 12, "metrics": ["prob", "logit_diff"], "n_demos": 3}
    assert advice("head_gating", **changed) == (
        "`headcats run --methods head_gating --metrics prob,logit_diff --n-prompts 12 --n-demos 3 --out DIR` adds it "
        "to the folder DIR."
    )


def test_the_command_has_the_model_of_the_folder():
    model = {"name": "gpt2", "revision": "607a30d", "model_class": "HookedTransformer", "dtype": "bfloat16"}
    assert advice("head_gating", model=model) == (
        "`headcats run --methods head_gating --model gpt2 --revision 607a30d --dtype bfloat16 --backend hooked "
        "--out DIR` adds it to the folder DIR."
    )


def test_the_command_has_the_tasks_of_the_folder():
    assert "--tasks successor,plural --out DIR" in advice("head_gating", tasks=["plural", "successor"])
    spoken = [task.name for task in suite("sentences").tasks if task.exact]
    said = advice("token_probe", tasks=spoken[:1], of="sentences", model={"name": "mini-cognitive"}, n_demos=0)
    assert said == (
        f"`headcats run --methods token_probe --suite sentences --tasks {spoken[0]} --out DIR` adds it to the folder "
        "DIR."
    )


def test_every_option_that_is_named_is_one_of_run():
    model = {"name": "gpt2", "revision": "6", "model_class": "HookedTransformer", "dtype": "float16"}
    changed = {"n_prompts": 3, "metrics": ["prob"], "n_demos": 2, "template": "question", "seed": 1}
    said = advice("head_gating", model=model, corruption="shuffled_labels", tasks=["plural"], **changed)
    named = [word.removeprefix("--").replace("-", "_") for word in said.split("`")[1].split() if word.startswith("--")]
    assert {*named} - {"out"} <= set(inspect.signature(run_command).parameters)
    assert len(named) == 13


@pytest.mark.parametrize("changed", [{"model": {"name": "my-folder"}}, {"of": "mine"}, {"tasks": ["mine", "plural"]}])
def test_what_no_command_can_name_is_not_named(changed):
    """A model of a local folder, a suite or a task of a notebook."""
    assert advice("head_gating", **changed) == (
        "repeat the run that made them with --methods head_gating (methods=['head_gating']) and the same folder to "
        "add it."
    )


def test_a_suite_without_the_tasks_that_a_method_needs():
    assert advice("token_probe") == (
        "it needs tasks that are answered in sentences, and suite 'icl' has none. `headcats run --suite sentences "
        "--methods token_probe --out NEW_DIR` makes results with it."
    )
    assert "suite 'sentences' has none. `headcats run --suite cognitive --methods function_probe" in advice(
        "function_probe", of="sentences", tasks=["say_sum"]
    )


def test_a_run_without_the_tasks_that_a_method_needs():
    assert advice("function_probe", tasks=["plural"]) == (
        "it needs tasks of at least two categories, which this run had not; with all tasks of the suite, `headcats run "
        "--methods function_probe --out DIR` adds it to the folder DIR."
    )


FOLDER = Path("r")
RELATIONS = "`headcats figure ov_map r --method ov_relation --out ov_map.html`"
PROBE = "`headcats figure importance_grid r --method function_probe --out importance_grid.html`"


def held_results(*whole, scored=()):
    """Results that hold these methods over the whole suite, and these method@positions of one task."""
    blocks = {f"/_suite/{label}": xr.Dataset(attrs={"label": label, "model": "toy"}) for label in whole}
    blocks |= {f"/plural/{label}": xr.Dataset() for label in scored}
    made = xr.DataTree.from_dict(blocks)
    made.attrs["manifest"] = json.dumps({"methods": [*whole, *scored]})
    return made


def message(error, *arguments):
    with pytest.raises(error) as found:
        check_scored(*arguments, by="A map")
    return str(found.value)


@pytest.mark.parametrize(
    ("held", "command"),
    [
        ("ov_relation", RELATIONS),
        ("function_probe", PROBE),
        ("token_probe", "`headcats figure layer_token r --method token_probe --out layer_token.html`"),
    ],
)
def test_results_without_a_scored_task_name_what_they_hold(held, command):
    reads = f"A map reads scores of tasks, and these results hold none, only {held}. To look at that: {command}."
    assert message(OptionError, held_results(held), FOLDER, None) == reads
    misspelt = message(UnknownNameError, held_results(held), FOLDER, "mean_ablaton")
    assert misspelt.startswith("Unknown method 'mean_ablaton'. Did you mean 'mean_ablation'")
    assert misspelt.endswith(reads)


def test_a_method_over_the_whole_suite_names_the_figure_that_draws_it():
    of_suite = "ov_relation judges heads over the whole suite, so it has no scores of tasks"
    assert (
        message(OptionError, held_results("ov_relation"), FOLDER, "ov_relation") == f"{of_suite}; {RELATIONS} draws it."
    )
    both = held_results("ov_relation", scored=["mean_ablation@last"])
    choose = "A map reads scores of tasks: choose one of mean_ablation@last with --method."
    assert message(OptionError, both, FOLDER, "ov_relation@last") == f"{of_suite}; {RELATIONS} draws it. {choose}"
    absent = message(OptionError, held_results("function_probe"), FOLDER, "ov_relation")
    assert absent == f"{of_suite}. These results hold function_probe. To look at that: {PROBE}."


def test_scored_tasks_and_empty_results_are_let_pass():
    check_scored(held_results("ov_relation", scored=["mean_ablation@last"]), FOLDER, None, by="A map")
    check_scored(held_results("ov_relation", scored=["mean_ablation@last"]), FOLDER, "mean_ablation", by="A map")
    check_scored(held_results(), FOLDER, None, by="A map")


def test_methods_of_another_package_have_no_command():
    held = held_results("lengths", "ov_relation", "function_probe")
    assert quoted_figure_commands(held, FOLDER) == f"{RELATIONS} or {PROBE}"
    assert quoted_figure_commands(held, FOLDER, "lengths") == ""
    assert message(OptionError, held, FOLDER, "lengths").endswith(
        f"These results hold lengths and ov_relation and function_probe. To look at that: {RELATIONS} or {PROBE}."
    )


ICL = [task.name for task in suite("icl").tasks]
PLAN = PlanRecord("icl", ("logit_diff",), 64, 5, "arrow", "other_task", 0)


LABELS = [MethodSpec.parse(name).label for name in default_methods()]


def manifest(*, tasks=ICL, methods=LABELS, model=None, **changed):
    return Manifest(
        plan=replace(PLAN, **changed),
        model=ModelRecord(**{"name": "mini", "model_class": "TransformerBridge", "dtype": "float32"} | (model or {})),
        methods=tuple(methods),
        tasks={task: TaskRecord() for task in tasks},
    )


@pytest.mark.parametrize(
    ("made", "command"),
    [
        (manifest(), "headcats run"),
        (manifest(methods=[LABELS[0], *reversed(LABELS[1:])]), "headcats run"),
        (manifest(methods=LABELS[1:]), f"headcats run --methods {','.join(LABELS[1:])}"),
        (
            manifest(methods=["mean_ablation@all", *LABELS[:3]]),
            f"headcats run --methods mean_ablation@all,{','.join(LABELS[:3])}",
        ),
        (
            manifest(tasks=["plural", "successor"], n_prompts=8, metrics=("prob", "kl"), methods=["ov_relation"]),
            "headcats run --metrics prob,kl --n-prompts 8 --tasks successor,plural --methods ov_relation",
        ),
        (
            manifest(suite="sentences", tasks=[], methods=["token_probe"], model={"name": "mini-cognitive"}, n_demos=0),
            "headcats run --suite sentences",
        ),
        (
            manifest(model={"name": "gpt2", "revision": "607a30d", "dtype": "bfloat16"}),
            "headcats run --model gpt2 --revision 607a30d --dtype bfloat16",
        ),
        (manifest(model={"name": "my-folder"}, seed=3), "hc.run(model, seed=3)"),
        (manifest(suite="mine", tasks=["a"]), 'hc.run(model, suite="mine")'),
        (
            manifest(tasks=["plural", "mine"], methods=["ov_relation"]),
            'hc.run(model, methods=["ov_relation"], tasks=["plural", "mine"])',
        ),
    ],
)
def test_what_is_not_the_default_is_named(made, command):
    assert repeat_command(made) == command
