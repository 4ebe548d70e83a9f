"""`headcats report`: one page from a results folder, or from several."""

from pathlib import Path
from typing import Annotated

import typer
import xarray as xr

from headcats.categories.reading import Reading
from headcats.cli.answer import Answer
from headcats.cli.arguments import AsJson, Effect, Method, Metric, MinTasks, Positions, RuleText, Sign, Sources
from headcats.cli.console import note_unfinished, warn
from headcats.results.finding import line
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults
from headcats.results.series import is_series, load_series

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

    The page is a single file that needs no network. It shows evidence, robustness and attention views if `headcats
    evidence`, `headcats compare` and `headcats views` have saved them in DIR. Of a series (`headcats run --revisions`):
    the categories over its revisions, and a page of each revision, which is linked.

    Of a joint method that sorts heads (`--method NAME`, or where no task was scored): its categories, by the
    rule, tasks and sign that are named.

    Of several folders, such as seeds, protocols or checkpoints in order: their maps side by side, what agrees, which
    heads move and how sure that is, and the settings that differ. Heads of different models do not correspond, so there
    sizes, sharing and depth of the categories are compared. A run that cannot be compared with the first is named with
    the reason.

    Examples:
    - `headcats report results/mini-icl`
    - `headcats report results/seed0 results/seed1 --out seeds.html`
    - `headcats report results/mini-icl --method mean_ablation --out ablation.html`
    - `headcats report results/mini-icl --method mean_ablation --sign suppressing`

    Keys of `--json`: `sentences`, `files` (`report`).
    """
    reading = Reading.parse(
        method=method, positions=positions, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks, sign=sign
    )
    if len(folders) > 1:
        page = _side_by_side(folders, destination, reading)
    else:
        page = _alone(folders[0], destination, reading)
    answer = Answer(as_json)
    answer.wrote("report", page, f"Open {page} in a browser.")
    answer.end()


def _alone(folder: str, destination: Path | None, reading: Reading) -> Path:
    """The page of one run, or of a series."""
    from headcats.reports.page.writing import write_report

    results: xr.DataTree | RunResults
    if is_series(folder):
        results = series = load_series(folder)
        runs = list(map(RunResults, series.children.values()))
    else:
        results = run = open_results(find_place(folder))
        runs = [run]
    for each in runs:
        note_unfinished(each)
    return write_report(results, destination, reading)


def _side_by_side(folders: list[str], destination: Path | None, reading: Reading) -> Path:
    """The page of several runs."""
    from headcats.reports.page.several.writing import write_several

    page, compared = write_several(folders, destination, reading)
    for run in compared.runs.values():
        note_unfinished(run)
    for name, reason in compared.left_out.items():
        warn(str(line("several.left_out", name=name, reason=reason)))
    return page
