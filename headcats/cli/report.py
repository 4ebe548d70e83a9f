"""`headcats report`: one page from a results folder; loads no torch."""

from pathlib import Path
from typing import Annotated

import typer

from headcats.cli.arguments import AsJson, Effect, Folder, Method, Metric, MinTasks, Positions, RuleText, Sign
from headcats.cli.as_json import Answer
from headcats.cli.checks import note_unfinished
from headcats.study.defaults import DEFAULT_RULE


def report_command(
    folder: Folder,
    destination: Annotated[
        Path | None,
        typer.Option("--out", help="File to write; default: DIR/report.html (what is not the default is in the name)."),
    ] = None,
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    effect: Effect = "total",
    rule: RuleText = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    sign: Sign = "helping",
    as_json: AsJson = False,
) -> None:
    """One page that shows all that a results folder holds: map, heads, evidence, other methods, how to run it again.

    It is a single file that needs no network. Evidence, robustness and attention views are shown where `headcats
    evidence`, `headcats compare` and `headcats views` have left them in DIR.

    Examples:
    - `headcats report results/mini-icl`
    - `headcats report results/mini-icl --method mean_ablation --out ablation.html`

    Keys of `--json`: `said` (the sentences), `files` (`report`).
    """
    from headcats.categories.reading import Reading
    from headcats.reports.page.writing import write_report
    from headcats.results.folder import load

    reading = Reading.parse(
        method=method,
        positions=positions,
        metric=metric,
        effect=effect,
        rule=rule,
        min_tasks=min_tasks,
        sign=sign,
    )
    results = load(folder)
    note_unfinished(results)
    page = write_report(results, destination, reading)
    answer = Answer(as_json)
    answer.wrote("report", page, f"Open {page} in a browser.")
    answer.end()
