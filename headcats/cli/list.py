"""`headcats list`."""

import inspect
from typing import Annotated, Any

import typer

from headcats.base.errors import OptionError, UnknownNameError, unknown_name_message
from headcats.base.registry import Kind, lookup, names
from headcats.cli.answer import put
from headcats.cli.arguments import AsJson
from headcats.cli.console import tell
from headcats.results.declaration import registered_declarations
from headcats.results.finding import table
from headcats.tasks.suites import suite

# As they are written after `headcats list` -> as the registry takes them.
KINDS: dict[str, Kind] = {
    "tasks": "task",
    "suites": "suite",
    "methods": "method",
    "rules": "rule",
    "metrics": "metric",
    "figures": "figure",
    "presets": "preset",
}


def list_command(
    kind: Annotated[str | None, typer.Argument(help=f"{', '.join(KINDS)}; none names the kinds.")] = None,
    of_suite: Annotated[str | None, typer.Option("--suite", help="Only the tasks of this suite.")] = None,
    as_json: AsJson = False,
) -> None:
    """List everything of one kind by name, with one line on each; without a kind, the kinds.

    Examples:
    - `headcats list`
    - `headcats list tasks`
    - `headcats list tasks --suite sentences`
    - `headcats list methods --json`

    Keys of `--json`, of every entry: `name`, `what` (of a kind `name` and `n`, how many there are); of a task also
    `category` and `suite` (null for none); of a method also `kind` ("task" if it scores task by task, "joint" if it
    judges heads over all tasks at once), `paper` and `cost`.
    """
    if kind is None:
        _list_kinds(as_json)
        return
    if kind not in KINDS:
        raise UnknownNameError(unknown_name_message("kind", kind, KINDS))
    if of_suite is not None and kind != "tasks":
        raise OptionError(f"--suite chooses among tasks: headcats list tasks --suite {of_suite}.")
    entries = [_entry(KINDS[kind], name) for name in names(KINDS[kind])]
    if kind == "tasks":
        entries = _by_suite(entries, of_suite)
    if as_json:
        put(entries)
        return
    columns = [column for column in entries[0] if column != "suite"]
    if kind == "tasks":
        entries = [entry | {"category": f"{entry['category']} ({entry['suite'] or 'no suite'})"} for entry in entries]
    tell([table("text.untitled", columns, [[entry[column] for column in columns] for entry in entries])])


def _list_kinds(as_json: bool) -> None:
    counts = {plural: len(names(kind)) for plural, kind in KINDS.items()}
    if as_json:
        put([{"name": name, "n": n} for name, n in counts.items()])
        return
    rows = [[name, str(n), f"headcats list {name}"] for name, n in counts.items()]
    tell([table("text.untitled", ["kind", "n", "command"], rows, numeric=["n"])])


def _by_suite(entries: list[dict[str, Any]], of_suite: str | None) -> list[dict[str, Any]]:
    """The tasks suite after suite, those of none last; or those of one suite alone."""
    if of_suite is not None:
        tasks = [task.name for task in suite(of_suite).tasks]
        return [entry for entry in entries if entry["name"] in tasks]
    order = names("suite")
    return sorted(entries, key=lambda entry: order.index(entry["suite"]) if entry["suite"] in order else len(order))


def _entry(kind: Any, name: str) -> dict[str, Any]:
    item = lookup(kind, name)
    entry = {"name": name}
    if kind == "task":
        entry |= {"category": item.category, "suite": item.suite}
    if kind == "method":
        declaration = registered_declarations()[name]
        entry |= {key: getattr(declaration, key) for key in ("kind", "paper", "cost")}
    text = inspect.getdoc(item) or ""
    return entry | {"what": text.split("\n\n")[0].replace("\n", " ").replace("**", "")}
