"""How to make results again: the command, or the call, that their manifest stands for."""

import json
from collections.abc import Sequence

from headcats.methods.spec import MethodSpec
from headcats.registry import names
from headcats.results.declaration import default_methods, suite_methods
from headcats.results.manifest import Manifest
from headcats.results.records import ModelRecord
from headcats.study.defaults import DEFAULTS, OF_STUDY, OF_SUITE
from headcats.tasks.suites import suite


def command_of(manifest: Manifest) -> str:
    """The command that makes results again, without a folder for them.

    Args:
        manifest: That of the results.

    Returns:
        `headcats run ...` with the options that are not the default. A model, a suite or a task that has no name
        which a command could take, such as a model from a local folder, gives the call instead: `hc.run(model, ...)`,
        where the model is the reader's to load.
    """
    plan, asked, methods = manifest.plan, tasks_of(manifest), list(manifest.methods)
    every = [task.name for task in suite(plan.suite).tasks] if plan.suite in names("suite") else []
    tasks = None if asked in (set(), set(every)) else [name for name in every if name in asked]
    if not asked <= set(every) or not can_be_named(manifest.model):
        own = [name for name in asked if name not in every]
        return _call(manifest, methods=methods, tasks=None if tasks is None or not every else [*tasks, *sorted(own)])
    usual = suite_methods(plan.suite) or _default_labels()
    return f"headcats run{options_of(manifest, methods=None if _same(methods, usual) else methods, tasks=tasks)}"


def _default_labels() -> list[str]:
    """The methods of a run that names none, as results list them."""
    return [MethodSpec.parse(name).label for name in default_methods()]


def _call(manifest: Manifest, *, methods: list[str], tasks: list[str] | None) -> str:
    """The same in Python."""
    usual, methods_named = DEFAULTS | OF_STUDY, None if _same(methods, _default_labels()) else methods
    asked = manifest.plan.complete() | {"methods": methods_named, "tasks": tasks}
    differ = {key: value for key, value in asked.items() if value is not None and value != usual.get(key)}
    return f"hc.run({', '.join(['model', *(f'{key}={json.dumps(value)}' for key, value in differ.items())])})"


def _same(methods: Sequence[str], usual: Sequence[str]) -> bool:
    """The first is the one that is mapped where none is named; the order of the others says nothing."""
    return set(methods) == set(usual) and list(methods[:1]) == list(usual[:1])


def can_be_named(model: ModelRecord) -> bool:
    """Whether the name of a model is enough to load it: a bundled one, or one of the hub, whose commit is known."""
    return model.revision is not None or model.name in {some["model"] for some in OF_SUITE.values()}


def tasks_of(manifest: Manifest) -> set[str]:
    """Names of the tasks that a run was asked for."""
    joint = (task for record in manifest.joint_blocks.values() for task in record.tasks)
    return {*manifest.tasks, *manifest.asked, *joint}


def options_of(manifest: Manifest, *, methods: Sequence[str] | None = None, tasks: Sequence[str] | None = None) -> str:
    """The options of the command line that give a run again, where they are not the default.

    Args:
        manifest: That of the results.
        methods: Methods to name; None for none.
        tasks: Tasks to name; None for none.
    """
    plan, model = manifest.plan, manifest.model
    usual = DEFAULTS | OF_STUDY | OF_SUITE.get(plan.suite, {})
    backend = "hooked" if model.model_class == "HookedTransformer" else DEFAULTS["backend"]
    loading = {"revision": model.revision, "dtype": model.dtype or None, "backend": backend}
    asked = {"model": model.name} | plan.complete() | loading | {"tasks": tasks, "methods": methods}
    differ = {key: value for key, value in asked.items() if value is not None and value != usual.get(key)}
    texts = {key: ",".join(value) if isinstance(value, list) else value for key, value in differ.items()}
    return "".join(f" --{key.replace('_', '-')} {value}" for key, value in texts.items())
