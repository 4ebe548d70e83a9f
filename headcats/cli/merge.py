"""`headcats merge`: results of one plan and model in one folder."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headcats.base.errors import pluralize
from headcats.cli.answer import put
from headcats.cli.arguments import AsJson, Sources
from headcats.cli.console import tell, warn
from headcats.results.compact import WHOLE, check_store, loss_of, losses_text
from headcats.results.finding import first_names
from headcats.results.merging import merge
from headcats.results.run_results import RunResults
from headcats.scale.shard import missing_parts

_STORE = "whole (default), or compact: blocks in half precision, with the loss measured (see hc.run)."


def merge_command(
    folders: Sources,
    destination: Annotated[Path, typer.Option("--out", help="New results folder.")],
    store: Annotated[str | None, typer.Option("--store", help=_STORE)] = None,
    as_json: AsJson = False,
) -> None:
    """Join results of one plan and model (different tasks or methods) into a new folder, or copy those of one.

    Tests (`headcats evidence`), robustness, attention and pages are of one folder each, and are not taken along.

    Examples:
    - `headcats merge results/part1 results/part2 --out results/all`
    - `headcats merge hf://owner/name --out results/copy`
    - `headcats merge results/all --out results/small --store compact`

    Keys of `--json`: `folder`, `tasks` and `joint_methods` (names of what it holds), and `losses` of blocks that are or
    were to be compact: `largest` and `mean` of an effect, in standard errors, the `bound`, and `store` ("whole" beyond
    it, and of blocks that were compact before).
    """
    merged = RunResults(merge(folders, out=destination, store=check_store(store or WHOLE)))
    if missing := missing_parts(folders):
        warn(f"Of the parts of one run, these are not among the folders: {first_names(list(map(str, missing)), 8)}.")
    tasks, joint = list(merged.tasks), list(merged.joint_blocks)
    blocks = (merged.block(task, label) for task, labels in merged.tasks.items() for label in labels)
    losses = [loss for block in blocks if (loss := loss_of(block)) is not None]
    if as_json:
        held = {"tasks": tasks, "joint_methods": joint, "losses": list(map(asdict, losses))}
        put({"folder": destination} | held)
        return
    more = f" and {pluralize(len(joint), 'joint method')} ({', '.join(joint)})" if joint else ""
    tell([f"Wrote {destination}: {pluralize(len(tasks), 'task')}{more}.", *[losses_text(losses)] * bool(losses)])
