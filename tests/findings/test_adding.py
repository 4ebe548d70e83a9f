"""What to do to have the table of a method over the whole suite: a command that gives the plan of the folder again."""

import json

import pytest
import xarray as xr

from headcats.cli.run import run_command
from headcats.errors import OptionError
from headcats.findings.suite import joint_block
from headcats.results.declaration import registered
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
    import inspect

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
