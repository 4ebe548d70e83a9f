"""One progress bar for a whole run, with the time left; nothing where nobody looks."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Advance = Callable[..., None]


@contextlib.contextmanager
def progress_bar(total: int, *, show: bool | None = None, unit: str = "heads,") -> Iterator[Advance]:
    """Yields `advance(steps, label=None)`; shown on stderr if that is a terminal or a notebook.

    Args:
        total: Steps of the whole run.
        show: True or False to decide, None to look.
        unit: What a step is, as written behind the count.
    """
    console = Console(stderr=True)
    if not (_watched(console) if show is None else show):
        yield lambda steps, label=None: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("passed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        work = bar.add_task("headcats", total=total)

        def advance(steps: int, label: str | None = None) -> None:
            bar.update(work, advance=steps, description=label or bar.tasks[0].description)

        yield advance


def _watched(console: Console) -> bool:
    return console.is_jupyter or sys.stderr.isatty()
