"""`headcats report`: one page from a results folder."""

from pathlib import Path
from typing import Annotated

import typer
import xarray as xr

from headcats.categories.reading import Reading
from headcats.cli.arguments import AsJson, Effect, Method, Metric, MinTasks, Positions, RuleText, Sign, Source
from headcats.cli.console import Answer, note_unfinished
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults
from headcats.results.series import is_series, load_series
from headcats.study.defaults import DEFAULT_RULE

_OUT = "File to write; default: report.html in DIR, or in ./NAME for the hub, with non-default options in its name."


def report_command(
    folder: Source,
    destination: Annotated[Path | None, typer.Option("--out", help=_OUT)] = None,
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    effect: Effect = "total",
    rule: RuleText = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    sign: Sign = "helping",
    as_json: AsJson = False,
) -> None:
    """Write one page with everything that results hold: map, heads, evidence, other methods, how to repeat it.

    The page is a single file that needs no network. It shows evidence, robustness and attention views if `headcats
    evidence`, `headcats compare` and `headcats views` have saved them in DIR. Of a series (`headcats run --revisions`):
    the categories over its revisions, and a page of each revision, which is linked.

    Examples:
    - `headcats report results/mini-icl`
    - `headcats report results/mini-icl --method mean_ablation --out ablation.html`

    Keys of `--json`: `sentences`, `files` (`report`).
    """
    from headcats.reports.page.writing import write_report

    reading = Reading.parse(
        method=method, positions=positions, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks, sign=sign
    )
    results: xr.DataTree | RunResults
    if is_series(folder):
        results = series = load_series(folder)
        runs = list(map(RunResults, series.children.values()))
    else:
        results = run = open_results(find_place(folder))
        runs = [run]
    for each in runs:
        note_unfinished(each)
    page = write_report(results, destination, reading)
    answer = Answer(as_json)
    answer.wrote("report", page, f"Open {page} in a browser.")
    answer.end()
