"""The command line: parse, call, print. Every command has the name of the function it calls."""

import logging
import os
import sys
import warnings
from typing import Annotated, Any

import typer

from headcats.cli import comparing, drawing, evidencing, reading, running
from headcats.cli.console import ending_on_request, explain, stoppable, warn
from headcats.cli.processor import tune_processor
from headcats.errors import HeadcatsError, HeadcatsWarning

app = typer.Typer(
    name="headcats",
    help="Which attention heads serve which kind of task, how sure is that, and show me.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(running.run_command)
app.command("validate")(stoppable(running.validate_command))
app.command("map")(stoppable(reading.map_command))
app.command("figure")(stoppable(drawing.figure_command))
app.command("compare")(stoppable(comparing.compare_command))
app.command("evidence")(stoppable(evidencing.evidence_command, "; the same command starts again from zero"))
app.command("merge")(stoppable(reading.merge_command))
app.command("list")(stoppable(reading.list_command))


def _print_version(asked: bool | None) -> None:
    if asked:
        typer.echo(reading.version_text())
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
            app()
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
