"""`headcats report`: one page from a results folder, or from several."""

from pathlib import Path
from typing import Annotated

import typer

from headcats.categories.map_spec import MapSpec
from headcats.cli.answer import Answer
from headcats.cli.arguments import AsJson, Effect, Method, Metric, MinTasks, Positions, RuleText, Sign, Sources
from headcats.cli.console import note_unfinished
from headcats.evidence.comparison.runs import read_runs

_OUT = (
    "File to write; default: report.html in DIR, or in ./NAME for the hub, or ./report-NAME-NAME.html of several, with "
    "non-default options in its name."
)


def report_command(
    folders: Sources,
    destination: Annotated[Path | None, typer.Option("--out", help=_OUT)] = None,
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    effect: Effect = "total",
    rule: RuleText = None,
    min_tasks: MinTasks = None,
    sign: Sign = "helping",
    as_json: AsJson = False,
) -> None:
    """Write one page with everything that results hold: map, heads, evidence, other methods, how to repeat it.

    The page is a single file that needs no network. It shows evidence and attention if `headcats evidence`
    and `headcats run` have saved them in DIR. Of a series (`headcats run --revisions`):
    the categories over its revisions, and a page of each revision, which is linked.

    Of a joint method that sorts heads (`--method NAME`, or where no task was scored): its categories, by the
    rule, tasks and sign that are named.

    Of several folders, such as seeds, protocols or checkpoints in order: their maps side by side, what agrees, which
    heads move and how sure that is, and the settings that differ. Heads of different models do not correspond, so
    there are the maps alone. A run that cannot be compared with the first is named with the reason.

    Examples:
    - `headcats report results/mini-icl`
    - `headcats report results/seed0 results/seed1 --out seeds.html`
    - `headcats report results/mini-icl --method mean_ablation --out ablation.html`
    - `headcats report results/mini-icl --method mean_ablation --sign suppressing`

    Keys of `--json`: `sentences`, `files` (`report`).
    """
    reading = MapSpec.parse(
        method=method, positions=positions, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks, sign=sign
    )
    from headcats.reports.page.writing import write_report

    runs = read_runs(folders, by="headcats report")
    for run in runs.values():
        note_unfinished(run)
    page = write_report(runs, destination, reading)
    answer = Answer(as_json)
    answer.wrote("report", page, f"Open {page} in a browser.")
    answer.end()
