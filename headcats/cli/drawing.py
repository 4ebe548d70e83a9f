"""`headcats figure`: one figure from a results folder; loads no torch."""

import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import xarray as xr

from headcats.cli.console import out
from headcats.cli.reading import (
    Effect,
    Folder,
    Method,
    Metric,
    MinTasks,
    Positions,
    RuleText,
    Sign,
    check_names,
    note_control,
)
from headcats.cli.settings import DEFAULT_RULE
from headcats.errors import OptionError, UnknownNameError
from headcats.registry import lookup, unknown_name_message

Table = tuple[xr.Dataset, str]
"""What a figure reads, and its title."""


def figure_command(
    name: Annotated[str, typer.Argument(help="Name of a figure; see `headcats list figures`.")],
    folder: Folder,
    destination: Annotated[Path, typer.Option("--out", help="File to write: .html, .png, .svg or .pdf.")],
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    effect: Effect = "total",
    rule: RuleText = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    sign: Sign = "helping",
    options: Annotated[
        list[str] | None,
        typer.Option("--set", help="Option of the figure as NAME=VALUE, such as score=facilitation; repeatable."),
    ] = None,
) -> None:
    """Draw one figure from a results folder.

    Examples: [bold]headcats figure head_grid results/mini-icl --out grid.html[/] ·
    [bold]headcats figure always_any results/mini-icl --set score=facilitation --out gates.html[/]
    """
    drawn = lookup("figure", name)
    check_names(rule, min_tasks, effect, sign)
    chosen = _options(drawn, name, options or [])
    from headcats.cli.suite_tables import METHOD_OF
    from headcats.figures import reads, write
    from headcats.results import load

    results, wanted = load(folder), reads(drawn)
    if wanted in METHOD_OF and (method is None or method.partition(":")[0] == METHOD_OF[wanted]):
        table, heading = _of_suite(results, wanted, method)
    elif wanted == "agreement":
        table, heading = _of_methods(results, metric)
    else:
        if wanted == "importance":
            wanted = "members"  # any score of any method, by category
        table, heading = _of_scores(
            results,
            wanted,
            name,
            method=method,
            positions=positions,
            metric=metric,
            effect=effect,
            rule=rule,
            min_tasks=min_tasks,
            sign=sign,
        )
    titled = {"title": heading} if "title" in inspect.signature(drawn).parameters else {}
    out.print(f"Wrote [bold]{write(drawn(table, **(titled | chosen)), destination)}[/]")


def _of_suite(results: xr.DataTree, wanted: str, method: str | None) -> Table:
    from headcats.cli.suite_tables import suite_table, suite_title

    block = suite_table(results, wanted, method=method)
    return block, suite_title(block)


def _of_methods(results: xr.DataTree, metric: str | None) -> Table:
    from headcats.evidence import method_agreement, method_scores

    model = json.loads(results.attrs["manifest"])["model"]["name"]
    return method_agreement(method_scores(results, metric=metric)), f"Methods on one grid of heads, model {model}"


def _of_scores(results: xr.DataTree, wanted: str, name: str, *, method: str | None, **chosen: Any) -> Table:
    from headcats.cli.map_tables import note_not_judged
    from headcats.cli.mapping import default_method, tables, title

    note_control(method or default_method(results)[0])
    found = tables(results, method=method, undecided=True, **chosen)
    if wanted not in found:
        raise OptionError(
            f"Figure {name!r} reads {wanted!r}; a results folder gives {', '.join(found)}. Call it from Python."
        )
    if wanted != "scores":
        note_not_judged(found)
    return found[wanted], title(found, judged=wanted != "scores")


def _options(drawn: Callable[..., Any], name: str, given: Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE` texts as options of a figure; values that are JSON (numbers, lists) are read as such.

    Raises:
        OptionError: No `=`.
        UnknownNameError: An option that the figure does not have.
    """
    known = [key for key, one in inspect.signature(drawn).parameters.items() if one.kind is one.KEYWORD_ONLY]
    chosen = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--set takes NAME=VALUE; got {text!r}. Options of {name}: {', '.join(known)}.")
        if key not in known:
            raise UnknownNameError(unknown_name_message(f"option of figure {name}", key, known))
        try:
            chosen[key] = json.loads(value)
        except ValueError:
            chosen[key] = value
    return chosen
