"""Arguments and options that several commands on finished results have."""

from pathlib import Path
from typing import Annotated

import typer

# That of `hc.rules.fdr()`, as it is written here.
DEFAULT_RULE = "fdr:alpha=0.05,min_effect=0.05"
Folder = Annotated[Path, typer.Argument(help="A results folder.")]
_READ = "A results folder, or hf://owner/name[@revision] on the hub."
Source = Annotated[str, typer.Argument(help=_READ, metavar="FOLDER")]
_READ_SEVERAL = "One or several results folders, or hf://owner/name[@revision] on the hub."
Sources = Annotated[list[str], typer.Argument(help=_READ_SEVERAL, metavar="FOLDERS...")]
_MODEL_OF_RESULTS = "Model of the results; default: the name in their manifest."
ModelOfResults = Annotated[str | None, typer.Option("--model", help=_MODEL_OF_RESULTS)]
_SUITE_OF_RESULTS = "The same tasks with more pairs, as in `headcats run`; default: the suite that the results hold."
SuiteOfResults = Annotated[str | None, typer.Option("--suite", help=_SUITE_OF_RESULTS)]
_METHOD = "Method, as name or name@positions; default: the first exact one of the run."
Method = Annotated[str | None, typer.Option("--method", help=_METHOD)]
Positions = Annotated[str | None, typer.Option("--positions", help="Positions, if the method was run at several.")]
_METRIC = "Metric to read; default: the first of the run."
Metric = Annotated[str | None, typer.Option("--metric", help=_METRIC)]
_RULE = f"Rule as `name:option=value,...`; default: {DEFAULT_RULE}, of a joint method that of its paper."
RuleText = Annotated[str | None, typer.Option("--rule", help=_RULE)]
_EFFECT = "total, or task_specific (denoising_patch minus its control)."
Effect = Annotated[str, typer.Option("--effect", help=_EFFECT)]
_SIGN = "Heads to show: helping (the default) or suppressing."
Sign = Annotated[str, typer.Option("--sign", help=_SIGN)]
_MIN_TASKS = "Tasks of a category that must agree: 'half' (the default; of relations, one) or a number."
MinTasks = Annotated[str | None, typer.Option("--min-tasks", help=_MIN_TASKS)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text; notes go to stderr.")]

_DETAILS = "Print every table and test, not the answer alone."
Details = Annotated[bool, typer.Option("--details", help=_DETAILS)]
