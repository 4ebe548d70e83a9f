"""What to do to have the table of a method that results do not hold."""

from collections.abc import Callable, Sequence

from headcats.findings.repeating import can_be_named, options_of, tasks_of
from headcats.registry import names
from headcats.results.declaration import registered
from headcats.results.manifest import Manifest
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite, suite

_Check = Callable[[Suite, Sequence[Task]], bool]
# What a method may need (see `Declaration.needs`) -> in words, and whether tasks of a suite have it.
_NEEDS: dict[str, tuple[str, _Check]] = {
    "": ("", lambda of, tasks: True),
    "exact answers": ("tasks that are answered in sentences", lambda of, tasks: any(task.exact for task in tasks)),
    "two categories": (
        "tasks of at least two categories",
        lambda of, tasks: len({of.category_of(task).name for task in tasks}) > 1,
    ),
}


def how_to_get(name: str, manifest: Manifest) -> str:
    """What to do to have the table of a method over the whole suite, as a sentence without its beginning.

    A command that goes on in the folder, or one that makes another folder.

    Args:
        name: The method.
        manifest: That of the results.
    """
    plan = manifest.plan
    if plan.suite not in names("suite"):
        return _the_same_run(name)
    of, asked = suite(plan.suite), tasks_of(manifest)
    about = registered(name)
    needed, met = _NEEDS.get(about.needs, _NEEDS[""])
    if not met(of, of.tasks):
        return (
            f"it needs {needed}, and suite {plan.suite!r} has none. `headcats run --suite {about.suite} --methods "
            f"{name} --out NEW_DIR` makes results with it."
        )
    if not can_be_named(manifest.model) or not asked <= {task.name for task in of.tasks}:
        return _the_same_run(name)
    all_needed = not met(of, [task for task in of.tasks if task.name in asked])
    tasks = [] if all_needed else [task.name for task in of.tasks if task.name in asked]
    why = f"it needs {needed}, which this run had not; with all tasks of the suite, " if all_needed else ""
    options = options_of(manifest, tasks=None if len(tasks) in (0, len(of.tasks)) else tasks)
    return f"{why}`headcats run --methods {name}{options} --out DIR` adds it to the folder DIR."


def _the_same_run(name: str) -> str:
    """Where the model or the tasks have no name that a command could take."""
    return f"repeat the run that made them with --methods {name} (methods=[{name!r}]) and the same folder to add it."
