"""The command, or the call, that makes results again."""

from dataclasses import replace

import pytest

from headcats.findings.repeating import command_of
from headcats.methods.spec import MethodSpec
from headcats.results.declaration import default_methods
from headcats.results.manifest import Manifest
from headcats.results.records import ModelRecord, PlanRecord, TaskRecord
from headcats.tasks.suites import suite

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
    assert command_of(made) == command
