"""The command line: parse, call, print."""

import logging
import os
import sys
import warnings
from typing import Annotated, Any

import typer

from headcats.cli.compare import compare_command
from headcats.cli.console import ending_on_request, explain, stoppable, warn
from headcats.cli.evidence import evidence_command
from headcats.cli.figure import figure_command
from headcats.cli.list import list_command, version_text
from headcats.cli.map import map_command
from headcats.cli.merge import merge_command
from headcats.cli.processor import tune_processor
from headcats.cli.report import report_command
from headcats.cli.run import run_command
from headcats.cli.validate import validate_command
from headcats.cli.views import views_command
from headcats.errors import HeadcatsError, HeadcatsWarning

_EXAMPLES = """
Examples:

- `headcats run` scores the bundled model and writes a report: results/mini-icl/report.html
- `headcats evidence results/mini-icl` tests its categories on new prompts
- `headcats run --help` shows the options and examples of a command

Exit codes: 0 done; 2 cannot be done, with one message on stderr; 3 `headcats validate` found no task that can be
scored; 130 or 143 stopped by Ctrl-C or SIGTERM; 1 anything else.

Completion of names and results folders in your shell: `headcats --install-completion`
"""
app = typer.Typer(
    name="headcats",
    help="Which attention heads serve which kind of task, how sure is that, and show me.",
    epilog=_EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run_command)
app.command("validate")(stoppable(validate_command))
app.command("map")(stoppable(map_command))
app.command("report")(stoppable(report_command))
app.command("figure")(stoppable(figure_command))
app.command("compare")(stoppable(compare_command))
app.command("evidence")(stoppable(evidence_command, "; the same command starts again from zero"))
app.command("views")(stoppable(views_command))
app.command("merge")(stoppable(merge_command))
app.command("list")(stoppable(list_command))


def _print_version(asked: bool | None) -> None:
    if asked:
        typer.echo(version_text())
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool | None, typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions and stop.")
    ] = None,
) -> None:
    """Which attention heads serve which kind of task, how sure is that, and show me."""


def main() -> None:
    """Entry point of the `headcats` command; a wrong input is one message on stderr and exit code 2."""
    tune_processor()
    logging.getLogger("headcats").addHandler(_StderrHandler(logging.INFO))
    logging.getLogger("headcats").setLevel(logging.INFO)
    with ending_on_request(), warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, HeadcatsWarning):
                warn(str(message))
            else:
                shown(message, category, *where, **more)

        warnings.showwarning = show
        try:
            app(prog_name="headcats")
        except HeadcatsError as error:
            explain(error)
            sys.exit(2)
        except BrokenPipeError:
            # The reader (`head`, a pager) has gone; the interpreter must not try to flush to it again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)


class _StderrHandler(logging.Handler):
    """Log records as plain lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            warn(record.getMessage())
        else:
            typer.echo(record.getMessage(), err=True)
