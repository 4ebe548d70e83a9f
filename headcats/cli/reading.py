"""Commands that read saved results or name what there is; none of them loads torch (but `list methods|metrics`)."""

import importlib.metadata
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import xarray as xr

from headcats import __version__
from headcats.cli.console import out, table, warn
from headcats.cli.settings import DEFAULT_RULE
from headcats.errors import OptionError, UnknownNameError
from headcats.registry import lookup, names, unknown_name_message
from headcats.wording import counted

Folder = Annotated[Path, typer.Argument(help="A results folder.")]
Method = Annotated[str | None, typer.Option("--method", help="Method to map; default: the first exact one of the run.")]
Positions = Annotated[str | None, typer.Option("--positions", help="Positions, where the method was run at several.")]
Metric = Annotated[str | None, typer.Option("--metric", help="Metric to map; default: the first of the run.")]
RuleText = Annotated[str, typer.Option("--rule", help="Rule as name:option=value,...")]
Effect = Annotated[str, typer.Option("--effect", help="total, or task_specific (denoising_patch beside its control).")]
Sign = Annotated[str, typer.Option("--sign", help="Whose map: helping (the default) or suppressing heads.")]
MinTasks = Annotated[str, typer.Option("--min-tasks", help="'half' or how many tasks of a category must agree.")]
# Options of the scores that a map is made of, and what they are if not given.
SCORING = {
    "positions": None,
    "metric": None,
    "effect": "total",
    "rule": DEFAULT_RULE,
    "min_tasks": "half",
    "sign": "helping",
}
KINDS = {
    "tasks": "task",
    "suites": "suite",
    "methods": "method",
    "rules": "rule",
    "metrics": "metric",
    "figures": "figure",
    "presets": "preset",
}


def version_text() -> str:
    """headcats, transformer-lens and torch with their versions, without importing them."""
    lines = [f"headcats {__version__}"]
    for package in ("transformer-lens", "torch"):
        try:
            lines.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            lines.append(f"{package} is not installed")
    return "\n".join(lines)


def map_command(
    folder: Folder,
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    effect: Effect = "total",
    rule: RuleText = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    sign: Sign = "helping",
    csv: Annotated[
        bool,
        typer.Option("--csv", help="Write the head list to DIR/heads.csv (what is not the default is in the name)."),
    ] = False,
) -> None:
    """The heads of every category, and the overlap map as a page in DIR.

    Examples: [bold]headcats map results/mini-icl --csv[/] ·
    [bold]headcats map results/mini-icl --method mean_ablation --rule fdr:alpha=0.01,min_effect=0.1[/] ·
    [bold]headcats map results/mini-icl --effect task_specific --sign suppressing[/]
    """
    from headcats.cli.instead import check_scored
    from headcats.cli.map_tables import print_map
    from headcats.cli.mapping import categories_tried, default_method, file_of, of_run, tables, title, write_heads
    from headcats.cli.suite_tables import METHOD_OF, SUITE_METHODS, figure_commands, suite_table
    from headcats.figures.figure import write
    from headcats.figures.overlap_map import overlap_map
    from headcats.results import load, suite_blocks, task_nodes

    check_names(rule, min_tasks, effect, sign)
    chosen: dict[str, Any] = {
        "positions": positions,
        "metric": metric,
        "effect": effect,
        "rule": rule,
        "min_tasks": min_tasks,
        "sign": sign,
    }
    results = of_run(load(folder))
    note_unfinished(results)
    named = (method or next(iter(suite_blocks(results)), "")) if method or not task_nodes(results) else ""
    if named.partition(":")[0] in SUITE_METHODS:
        table_of = {name: key for key, name in METHOD_OF.items()}[named.partition(":")[0]]
        if table_of != "relations":
            drawn = " or ".join(f"`{line}`" for line in figure_commands(results, folder, named))
            raise OptionError(
                f"{named} sorts no heads into categories, so there is no map of it"
                + (f"; {drawn} draws it." if drawn else ", and these results hold no such method either.")
            )
        block = suite_table(results, table_of, method=named)
        from headcats.cli.relation_tables import map_relations

        # One relation of a category is enough: so the method is defined.
        met = {"rule"} | ({"min_tasks"} if min_tasks == "1" else set())
        refuse_unused({name: value for name, value in chosen.items() if name not in met}, by=f"The map of {named}")
        tried = categories_tried(results, str(block.attrs["label"]))
        map_relations(block, folder, rule=rule, csv=csv, tried=tried)
        return
    check_scored(results, folder, method, by="A map")
    note_control(method or default_method(results)[0])
    found = tables(results, method=method, undecided=True, **chosen)
    print_map(found, rule=rule, min_tasks=min_tasks)
    page = write(
        overlap_map(found["overlap"], title=title(found)), folder / file_of("overlap_map", "html", found, results)
    )
    out.print(f"\nMap: [bold]{page}[/]")
    if csv:
        out.print(f"Head list: [bold]{write_heads(found, results, folder)}[/]")


def check_names(rule: str, min_tasks: str, effect: str, sign: str) -> None:
    """A misspelt name should not wait for the scores."""
    from headcats.cli.mapping import EFFECTS, SIGNS, check_choice, parse_min_tasks, parse_rule

    parse_rule(rule), parse_min_tasks(min_tasks)
    check_choice("--effect", effect, EFFECTS)
    check_choice("--sign", sign, SIGNS)


def refuse_unused(given: Mapping[str, str | None], *, by: str) -> None:
    """An option that would change nothing must not look as if it had.

    Args:
        given: Options of `SCORING` and their values.
        by: What does not read them, for the message.

    Raises:
        OptionError: One of them is not the default.
    """
    unused = [f"--{name.replace('_', '-')}" for name, value in given.items() if value != SCORING[name]]
    if unused:
        raise OptionError(f"{by} does not read {' and '.join(unused)}: leave that out.")


def note_control(method: str | None) -> None:
    """Say so where heads are asked of a control."""
    from headcats.cli.mapping import control_note

    if note := control_note(method or ""):
        warn(note)


def note_unfinished(results: xr.DataTree) -> None:
    """Say so where a run was stopped before it had come to every task."""
    from headcats.results import unfinished_tasks

    if left := unfinished_tasks(results):
        done = len(json.loads(results.attrs["manifest"])["tasks"])
        named = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        warn(
            f"This run is not finished: {done} of {done + len(left)} tasks are there (not {named}). The same "
            "`headcats run` goes on with it."
        )


def merge_command(
    folders: Annotated[list[Path], typer.Argument(help="Results folders of one plan and model.")],
    destination: Annotated[Path, typer.Option("--out", help="New results folder.")],
) -> None:
    """Join results of one plan and model (different tasks or methods) into a new folder.

    Example: [bold]headcats merge results/part1 results/part2 --out results/all[/]
    """
    from headcats.results import merge, suite_blocks, task_nodes

    merged = merge(folders, out=destination)
    whole = suite_blocks(merged)
    also = f" and {', '.join(whole)} of the whole suite" if whole else ""
    out.print(f"Wrote [bold]{destination}[/]: {counted(len(task_nodes(merged)), 'task')}{also}.")


def list_command(
    kind: Annotated[str, typer.Argument(help="tasks, suites, methods, rules, metrics, figures or presets.")],
    of_suite: Annotated[str | None, typer.Option("--suite", help="Only the tasks of this suite.")] = None,
) -> None:
    """Everything of one kind that can be named, with one line on each.

    Examples: [bold]headcats list tasks[/] · [bold]headcats list tasks --suite sentences[/]
    """
    if kind not in KINDS:
        raise UnknownNameError(unknown_name_message("kind", kind, KINDS))
    if of_suite is not None and kind != "tasks":
        raise OptionError(f"--suite chooses among tasks: headcats list tasks --suite {of_suite}.")
    from headcats.tasks import suite

    rows = []
    chosen = names(KINDS[kind]) if of_suite is None else [task.name for task in suite(of_suite).tasks]  # type: ignore[arg-type]
    for name in chosen:
        item = lookup(KINDS[kind], name)  # type: ignore[arg-type]
        group = f"{item.category} ({item.suite or 'no suite'})" if kind == "tasks" else ""
        rows.append([name, group, _first_line(item)] if group else [name, _first_line(item)])
    columns = ["name", "category", "what"] if kind == "tasks" else ["name", "what"]
    out.print(table("", columns, rows))


def _first_line(item: object) -> str:
    text = inspect.getdoc(item) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("**", "")
