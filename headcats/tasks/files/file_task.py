"""A task as a file gives it, before the suite has named it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import PromptPair, WordPair

MakePairs = Callable[..., Sequence[WordPair] | Sequence[PromptPair]]


@dataclass(frozen=True)
class FileTask:
    """One task of a file.

    Attributes:
        layout: What the file holds, for the source of the task.
        make: As `Task.make`.
        report: Rows kept and dropped.
        category: Category that the file itself names, or "".
        name: Name within a file of several tasks, or "".
    """

    layout: str
    make: MakePairs = field(repr=False)
    report: DropReport
    category: str = ""
    name: str = ""


@dataclass(frozen=True)
class FileContent:
    """The tasks of a file, and the rows that belong to none of them.

    Attributes:
        tasks: The tasks, at least one.
        left_out: Rows of no task.
    """

    tasks: tuple[FileTask, ...]
    left_out: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True)
class Layout:
    """A layout of JSON files, as `headcats.base.registry.register("layout", name, Layout(...))` takes it.

    Attributes:
        holds: Noun for messages, such as "steps of reasoning".
        fits: True if a parsed file, of which nothing is known, has the layout.
        read: Reads the tasks of such a file; called with the name of the file as `file`. A DataError names it.
    """

    holds: str
    fits: Callable[[Any], bool]
    read: Callable[..., FileContent]
