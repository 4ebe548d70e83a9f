"""Arguments and options that several commands have, with what a shell offers for them."""

from pathlib import Path
from typing import Annotated

import typer

from headcats.cli import completion

Folder = Annotated[Path, typer.Argument(help="A results folder.", autocompletion=completion.results_folders)]
Folders = Annotated[
    list[Path], typer.Argument(help="One or several results folders.", autocompletion=completion.results_folders)
]
ModelOfResults = Annotated[
    str | None,
    typer.Option(
        "--model", help="Model of the results; default: the name in their manifest.", autocompletion=completion.models
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="Method, as name or name@positions; default: the first exact one of the run.",
        autocompletion=completion.methods_of_results,
    ),
]
Positions = Annotated[str | None, typer.Option("--positions", help="Positions, where the method was run at several.")]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric", help="Metric to map; default: the first of the run.", autocompletion=completion.metrics_of_results
    ),
]
RuleText = Annotated[
    str, typer.Option("--rule", help="Rule as `name:option=value,...`", autocompletion=completion.rules)
]
Effect = Annotated[
    str,
    typer.Option(
        "--effect",
        help="total, or task_specific (denoising_patch beside its control).",
        autocompletion=completion.one_of("total", "task_specific"),
    ),
]
Sign = Annotated[
    str,
    typer.Option(
        "--sign",
        help="Whose map: helping (the default) or suppressing heads.",
        autocompletion=completion.one_of("helping", "suppressing"),
    ),
]
MinTasks = Annotated[
    str,
    typer.Option(
        "--min-tasks",
        help="'half' or how many tasks of a category must agree.",
        autocompletion=completion.one_of("half"),
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON for scripts on stdout, in place of text; notes go to stderr.")
]
