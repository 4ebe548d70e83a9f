"""The command line: parse, call, print."""

import ctypes
import errno
import importlib.metadata
import io
import logging
import os
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer

from headcats import __version__
from headcats.base.errors import HeadcatsError, HeadcatsWarning, ModelError, StorageError
from headcats.base.guard import is_out_of_memory
from headcats.base.logged import logged_by
from headcats.cli.commands import Commands, ending_on_request
from headcats.cli.console import explain, warn
from headcats.results.visible import visible

_HELP = "Find the attention heads that serve each kind of task, test how sure that is, and show them."
_EXAMPLES = """
Examples:

- `headcats run` scores the bundled model and writes a report: results/mini-icl/report.html
- `headcats evidence results/mini-icl` tests its categories on new prompts
- `headcats run --help` shows the options and examples of a command

Exit codes: 0 done; 2 wrong input, with one message on stderr; 3 `headcats validate` found no task that can be scored;
130 or 143 stopped by Ctrl-C or SIGTERM; 1 anything else.

To complete commands, options and paths in your shell: `headcats --install-completion`
"""
# Numbers of mallopt(3), and the largest threshold.
_M_TRIM_THRESHOLD, _M_MMAP_MAX, _MOST = -1, -4, 2**31 - 1

# Of a write to a file or device that is open: to stdout, since ours are made whole and name their file.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name="headcats",
    cls=Commands,
    help=_HELP,
    epilog=_EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(version: bool | None) -> None:
    if version:
        typer.echo(f"headcats {__version__}")
        for package in ("transformer-lens", "torch"):  # without importing them
            typer.echo(f"{package} {importlib.metadata.version(package)}")
        raise typer.Exit()


@app.callback(help=_HELP)
def options(
    version: Annotated[
        bool | None, typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions and stop.")
    ] = None,
) -> None:
    """Options of `headcats` itself."""


def main() -> None:
    """Entry point of the `headcats` command; a wrong input is one message on stderr and exit code 2."""
    _tune_process()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Prompts hold any character: a pipe that is not UTF-8 gets escapes, not an error when all is computed.
        sys.stdout.reconfigure(errors="backslashreplace")
    with ending_on_request(), logged_by(_StderrHandler(logging.INFO)), warnings.catch_warnings():
        show_warning = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, HeadcatsWarning):
                warn(str(message))
            else:
                show_warning(message, category, *place, **more)

        warnings.showwarning = show
        try:
            try:
                app(prog_name="headcats")
            finally:
                sys.stdout.flush()  # of a short answer, a full disk is seen here alone
        except HeadcatsError as error:
            explain(error)
            sys.exit(2)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            # Not of a sweep, whose work is halved.
            explain(
                ModelError(
                    f"Memory ran out ({str(error).strip() or type(error).__name__}). Use a smaller model, dtype "
                    "bfloat16, shorter prompts, or a device with more room, or several (--device)."
                )
            )
            sys.exit(2)
        except BrokenPipeError:  # the reader (`head`, a pager) has gone
            _end_output()
        except OSError as error:
            if error.filename is None and error.errno in _NO_ROOM:
                explain(StorageError(f"The answer cannot be written: {error.strerror}. Send it to another place."))
                _end_output()
            if error.filename is None:
                raise
            explain(StorageError(f"{error.filename} cannot be used: {error.strerror}. Make it readable and writable."))
            sys.exit(2)


def _end_output() -> NoReturn:
    """End with exit code 1; the interpreter must not try to flush to where nothing can be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def _tune_process() -> None:
    """Make small models on a CPU several times faster; no number changes, and what the user has set stays."""
    # Threads that spin while they wait for each other slow a small model down many times over as soon as the machine
    # does something else too; sleeping ones do not.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.platform != "linux" or {"MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_"} & set(os.environ):
        return
    # glibc keeps the memory of freed activations: giving it back costs page faults at every forward.
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_MAX, 0)
    mallopt(_M_TRIM_THRESHOLD, _MOST)


class _StderrHandler(logging.Handler):
    """Log records as plain lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            warn(record.getMessage())
        else:
            typer.echo(visible(record.getMessage(), keep="\n"), err=True)
