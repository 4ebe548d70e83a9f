"""Names, categories and sources of the tasks of files."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from headcats.base.registry import lookup, names
from headcats.results.categories import Category
from headcats.tasks.definition import Task
from headcats.tasks.files.file_task import FileTask
from headcats.tasks.files.settings import FileSettings


@dataclass(frozen=True)
class Placed:
    """A task of a file, and where the file is.

    Attributes:
        task: The task.
        path: Path of the file within the folder.
        settings: Settings of the file.
        fallback: Category where nothing else names one.
    """

    task: FileTask
    path: PurePosixPath
    settings: FileSettings
    fallback: str


def named_tasks(placed: Sequence[Placed]) -> tuple[Task, ...]:
    """Tasks named after their files, with subfolders and suffix where needed to tell two apart.

    The category is, in this order: that of suite.toml; of a file of several tasks that of each; the subfolder, unless
    it has the name of the file; that of the file; the one that is registered for a file of its name; the fallback.
    """
    task_names = [as_name(each.task.name or each.path.stem) for each in placed]
    for spelling in (_with_folders, lambda each: f"{_with_folders(each)}{each.path.suffix}"):
        count = Counter(task_names)
        task_names = [
            as_name(spelling(each)) if count[name] > 1 else name for name, each in zip(task_names, placed, strict=True)
        ]
    return tuple(_task(name, each) for name, each in zip(task_names, placed, strict=True))


def known_categories(stems: Collection[str]) -> dict[str, Category]:
    """Name of a file, without its suffix -> the category registered for it, in the order of registration."""
    return {name: lookup("file_category", name) for name in names("file_category") if name in stems}


def as_name(text: str) -> str:
    """A text as a name of a task or suite."""
    return re.sub(r"[/\\:@,\s]+", "_", text).lstrip("._-") or "data"


def _with_folders(each: Placed) -> str:
    return ".".join([*each.path.parent.parts, each.path.stem, *filter(None, [each.task.name])])


def _task(name: str, each: Placed) -> Task:
    task, settings = each.task, each.settings
    subfolder = each.path.parts[0] if each.path.parts[0] not in (each.path.name, each.path.stem) else ""
    of_several = task.category if task.name else ""
    known = [category.name for category in known_categories([each.path.stem]).values()]
    category = settings.category or of_several or subfolder or task.category or (*known, each.fallback)[0]
    source = "; ".join(filter(None, [settings.source, task.layout, str(each.path)]))
    return Task(name, category, source, task.make, drops=task.report)
