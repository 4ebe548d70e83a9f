"""A task as a file gives it, before the suite has named it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headcats.prompts.drop_report import DropReport
from headcats.tasks.definition import MakePairs


@dataclass(frozen=True)
class FileTask:
    """One task of a file."""

    layout: str
    """What the file holds, for the source of the task."""
    make: MakePairs = field(repr=False)
    report: DropReport
    category: str = ""
    """Category that the file itself names."""
    name: str = ""
    """Name within a file of several tasks."""
    group: str = ""
    """Name of the independent source that the file itself names."""


@dataclass(frozen=True)
class FileContent:
    """The tasks of a file, at least one, and the rows that belong to none of them."""

    tasks: tuple[FileTask, ...]
    left_out: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True)
class Layout:
    """A layout of JSON files, as `headcats.base.registry.register("layout", name, Layout(...))` takes it."""

    holds: str
    """Noun for messages, such as "steps of reasoning"."""
    fits: Callable[[Any], bool]
    """True if a parsed file, of which nothing is known, has the layout."""
    read: Callable[..., FileContent]
    """Reads the tasks of such a file; called with the name of the file as `file`, for messages."""
