"""`headcats export`: the effects of a run as a file for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from headcats.cli.answer import put
from headcats.cli.arguments import AsJson, Effect, Method, Metric, Positions, Source
from headcats.cli.console import tell
from headcats.cli.options import split_names
from headcats.reports.exporting import export
from headcats.reports.text.suggestions import check_scored
from headcats.results.loading import read_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults

_FORMAT = "csv or parquet (a row for every task and head), or mib (node scores for the MIB benchmark)."
_TASKS = "Tasks to write, separated by commas; default: all. mib has their mean."


def export_command(
    folder: Source,
    format: Annotated[str, typer.Option("--format", help=_FORMAT)],
    destination: Annotated[Path, typer.Option("--out", help="File to write.")],
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    effect: Effect = "total",
    tasks: Annotated[str | None, typer.Option("--tasks", help=_TASKS)] = None,
    as_json: AsJson = False,
) -> None:
    """Write the effects of every head, by one method and metric, as a file for other programs.

    Tables have the names and units of the scores (docs/schema.md): effects are shares of the gap, positive = the head
    helps. The list of the heads of each category is `headcats map DIR --csv`. A file for the circuit track of the
    Mechanistic Interpretability Benchmark is read by its `run_evaluation.py --level node --circuit-files FILE`; it
    scores heads alone, the mean over tasks, and the benchmark keeps all else.

    Examples:
    - `headcats export results/mini-icl --format csv --out effects.csv`
    - `headcats export results/mini-icl --format parquet --out effects.parquet --method mean_ablation`
    - `headcats export results/mini-icl --format mib --out importances.json --method mean_ablation --tasks plural`

    Keys of `--json`: `file`, `format`.
    """
    results = read_results(find_place(folder))
    check_scored(RunResults(results), method, by="`headcats export`")
    file = export(
        results,
        destination,
        format=format,
        method=method,
        positions=positions,
        metric=metric,
        effect=effect,
        tasks=None if tasks is None else split_names(tasks),
    )
    if as_json:
        put({"file": file, "format": format})
    else:
        tell([f"Wrote {file}"])
