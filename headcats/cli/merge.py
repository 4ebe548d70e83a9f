"""`headcats merge`: results of one plan and model in one folder."""

from pathlib import Path
from typing import Annotated

import typer

from headcats.base.errors import pluralize
from headcats.cli.answer import put
from headcats.cli.arguments import AsJson, Sources
from headcats.cli.console import tell, warn
from headcats.results.finding import first_names
from headcats.results.run_results import RunResults
from headcats.scale.merging import merge
from headcats.scale.shard import missing_parts


def merge_command(
    folders: Sources,
    destination: Annotated[Path, typer.Option("--out", help="New results folder.")],
    as_json: AsJson = False,
) -> None:
    """Join results of one plan and model (different tasks or methods) into a new folder, or copy those of one.

    Tests (`headcats evidence`), attention and pages are of one folder each, and are not taken along.

    Examples:
    - `headcats merge results/part1 results/part2 --out results/all`
    - `headcats merge hf://owner/name --out results/copy`

    Keys of `--json`: `folder`, `tasks` and `joint_methods` (names of what it holds).
    """
    merged = RunResults(merge(folders, out=destination))
    if missing := missing_parts(folders):
        warn(f"Of the parts of one run, these are not among the folders: {first_names(list(map(str, missing)), 8)}.")
    tasks, joint = list(merged.tasks), list(merged.joint_blocks)
    if as_json:
        put({"folder": destination, "tasks": tasks, "joint_methods": joint})
        return
    more = f" and {pluralize(len(joint), 'joint method')} ({', '.join(joint)})" if joint else ""
    tell([f"Wrote {destination}: {pluralize(len(tasks), 'task')}{more}."])
