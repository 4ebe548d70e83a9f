"""`headcats diff`: do two results hold the same numbers?"""

from typing import Annotated

import typer

from headcats.cli import completion
from headcats.cli.answer import put
from headcats.cli.arguments import AsJson
from headcats.cli.console import tell
from headcats.evidence.comparison.runs import Runs
from headcats.reports.text.comparison import difference_findings, plan_findings
from headcats.results.difference import ROUNDING, SAME, diff
from headcats.results.loading import read_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults

_FOLDER = typer.Argument(help="Results folder, or hf://owner/name.", autocompletion=completion.results_folders)


def diff_command(first: Annotated[str, _FOLDER], second: Annotated[str, _FOLDER], as_json: AsJson = False) -> None:
    """Compare the numbers of two results, block by block: the same bits, within rounding, or different.

    Ends with exit code 0 if all blocks of both agree within rounding, else 3.

    Examples:
    - `headcats diff results/mine results/theirs`

    Keys of `--json`: `differences` (part of plan or model, or `tasks` -> value in each), `blocks` (`task`, `method`,
    `state`, `largest`, `rounding`), `equal`.
    """
    results = [read_results(find_place(folder)) for folder in (first, second)]
    names = (first, second) if first != second else (first, f"{second} (2)")
    runs = Runs(dict(zip(names, map(RunResults, results), strict=True)))
    table = diff(*results)
    states = set(table["state"].values.tolist())
    equal = bool(states) and states <= {SAME, ROUNDING}
    if as_json:
        blocks = table.to_dataframe()[["task", "method", "state", "largest", "rounding"]].to_dict("records")
        parts = {part: dict(zip(runs, values, strict=True)) for part, values in runs.differences.items()}
        put({"differences": parts, "blocks": blocks, "equal": equal})
    else:
        tell([*plan_findings(runs), *difference_findings(table)])
    if not equal:
        raise typer.Exit(3)
