"""A task as a file gives it, before the suite has named it."""

from dataclasses import dataclass, field

from headcats.prompts.drop_report import DropReport
from headcats.tasks.definition import MakePairs


@dataclass(frozen=True)
class FileTask:
    """The task of a file."""

    layout: str
    """What the file holds, for the source of the task."""
    make: MakePairs = field(repr=False)
    report: DropReport
    category: str = ""
    """Category that the file itself names."""
    group: str = ""
    """Name of the independent source that the file itself names."""
