"""`headcats merge`: results of one plan and model in one folder. Loads no torch."""

from pathlib import Path
from typing import Annotated

import typer

from headcats.cli import completion
from headcats.cli.arguments import AsJson
from headcats.cli.as_json import put
from headcats.cli.console import tell
from headcats.errors import pluralize


def merge_command(
    folders: Annotated[
        list[Path],
        typer.Argument(help="Results folders of one plan and model.", autocompletion=completion.results_folders),
    ],
    destination: Annotated[Path, typer.Option("--out", help="New results folder.")],
    as_json: AsJson = False,
) -> None:
    """Join results of one plan and model (different tasks or methods) into a new folder.

    Examples:
    - `headcats merge results/part1 results/part2 --out results/all`

    Keys of `--json`: `folder`, `tasks` and `suite_methods` (names of what it holds).
    """
    from headcats.results.merging import merge
    from headcats.results.tree import suite_blocks, task_nodes

    merged = merge(folders, out=destination)
    tasks, whole = list(task_nodes(merged)), list(suite_blocks(merged))
    if as_json:
        put({"folder": destination, "tasks": tasks, "suite_methods": whole})
        return
    also = f" and {', '.join(whole)} of the whole suite" if whole else ""
    tell([f"Wrote {destination}: {pluralize(len(tasks), 'task')}{also}."])
