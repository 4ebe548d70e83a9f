"""`headcats list`, and what `--version` prints."""

import importlib.metadata
import inspect
from typing import Annotated, Any

import typer

from headcats import __version__
from headcats.cli import completion
from headcats.cli.arguments import AsJson
from headcats.cli.as_json import put
from headcats.cli.completion import KINDS
from headcats.cli.console import tell
from headcats.errors import OptionError, UnknownNameError
from headcats.registry import lookup, names, unknown_name_message
from headcats.reports.text.finding import table


def version_text() -> str:
    """headcats, transformer-lens and torch with their versions, without importing them."""
    lines = [f"headcats {__version__}"]
    for package in ("transformer-lens", "torch"):
        try:
            lines.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            lines.append(f"{package} is not installed")
    return "\n".join(lines)


def list_command(
    kind: Annotated[
        str,
        typer.Argument(
            help="tasks, suites, methods, rules, metrics, figures or presets.", autocompletion=completion.kinds
        ),
    ],
    of_suite: Annotated[
        str | None,
        typer.Option("--suite", help="Only the tasks of this suite.", autocompletion=completion.suites),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Everything of one kind that can be named, with one line on each.

    Examples:
    - `headcats list tasks`
    - `headcats list tasks --suite sentences`
    - `headcats list methods --json`

    Keys of `--json`, of every entry: `name`, `what`; of a task also `category` and `suite` (null for none).
    """
    if kind not in KINDS:
        raise UnknownNameError(unknown_name_message("kind", kind, KINDS))
    if of_suite is not None and kind != "tasks":
        raise OptionError(f"--suite chooses among tasks: headcats list tasks --suite {of_suite}.")
    entries = _tasks(of_suite) if kind == "tasks" else [_entry(KINDS[kind], name) for name in names(KINDS[kind])]
    if as_json:
        put(entries)
        return
    columns = ["name", "category", "what"] if kind == "tasks" else ["name", "what"]
    shown = [
        entry | {"category": f"{entry['category']} ({entry['suite'] or 'no suite'})"} if kind == "tasks" else entry
        for entry in entries
    ]
    tell([table("text.untitled", columns, [[entry[column] for column in columns] for entry in shown])])


def _tasks(of_suite: str | None) -> list[dict[str, Any]]:
    """Suite after suite, those of none last."""
    from headcats.tasks.suites import suite

    if of_suite is not None:
        chosen = [task.name for task in suite(of_suite).tasks]
        return [entry for entry in _tasks(None) if entry["name"] in chosen]
    order = names("suite")
    every = [
        {**_entry("task", name), "category": task.category, "suite": task.suite}
        for name, task in ((name, lookup("task", name)) for name in names("task"))
    ]
    return sorted(every, key=lambda entry: order.index(entry["suite"]) if entry["suite"] in order else len(order))


def _entry(kind: Any, name: str) -> dict[str, Any]:
    text = inspect.getdoc(lookup(kind, name)) or ""
    return {"name": name, "what": text.split("\n\n")[0].replace("\n", " ").replace("**", "")}
