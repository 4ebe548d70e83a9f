"""A suite's tasks from a file, a folder or a dataset of the hub: their names, categories and sources."""

import logging
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from headcats.base.errors import DataError
from headcats.base.registry import lookup, names
from headcats.prompts.drop_report import DropReport
from headcats.results.categories import Category
from headcats.tasks.definition import Task
from headcats.tasks.files.columns import Columns
from headcats.tasks.files.content import PICKLED, SUFFIXES, UnknownLayoutError, check_safe, reading
from headcats.tasks.files.layouts import file_tasks, record_tasks
from headcats.tasks.files.settings import NAME, FileSettings, SuiteSettings, read_settings
from headcats.tasks.files.tables import HUB, hub_records, is_saved_dataset, saved_records
from headcats.tasks.files.task_rows import FileTask
from headcats.tasks.files.written_columns import split_source

_log = logging.getLogger("headcats")
_KNOWN = ", ".join(SUFFIXES)


@dataclass(frozen=True)
class LoadedFiles:
    """Tasks of files, with fields as those of a `Suite`."""

    name: str
    tasks: tuple[Task, ...]
    categories: tuple[Category, ...]
    source: str
    ignored: tuple[str, ...] = ()
    drops: DropReport = field(default_factory=DropReport)


def is_path(source: str) -> bool:
    """True if a text means a file, a folder or a dataset: by its form, or because something is there."""
    source, _ = split_source(source)
    separators = [separator for separator in (os.sep, os.altsep) if separator]
    return (
        source.startswith("hf://")
        or source.lower().endswith((*SUFFIXES, *PICKLED))
        or any(separator in source for separator in separators)
        or os.path.exists(source)
    )


def load_files(source: str | os.PathLike[str]) -> LoadedFiles:
    """The tasks of a file, of every file in a folder, or of a dataset of the hub.

    A file alone takes its settings from a suite.toml beside it.
    """
    text = os.fspath(source)
    written, columns = split_source(text)
    if text.startswith("hf://"):
        of_hub = record_tasks(hub_records(written), FileSettings(columns=columns or None))
        name = PurePosixPath(written.removeprefix(HUB)).parts[1]
        return _loaded(name, text, {PurePosixPath(name): of_hub}, SuiteSettings())
    if os.path.exists(text):
        written, columns = text, Columns()
    path = Path(os.path.abspath(written))
    if not path.exists():
        raise DataError(
            f"There is no file or folder {written!r}; expected the name of a suite, a file of {_KNOWN}, or a folder."
        )
    if path.is_dir() and not is_saved_dataset(path):
        if columns:
            raise DataError(f"Columns are those of one file; got the folder {path.name!r}: write them into its {NAME}.")
        return _folder(path)
    if path.is_file() and path.suffix.lower() not in SUFFIXES:
        check_safe(path)
        advice = f"name what it holds, as {text}:name" if path.suffix == ".py" else f"save it as {_KNOWN}"
        raise DataError(f"{path.name} is not a file of data that headcats reads; {advice}.")
    settings = replace(read_settings(path.parent), name="")
    of_file = settings.of(path.name)
    of_file_tasks = _read(path, replace(of_file, columns=columns) if columns else of_file)
    full = f"{path}{text[len(written) :]}"
    return _loaded(path.stem, full, {PurePosixPath(path.name): of_file_tasks}, settings)


def _folder(folder: Path) -> LoadedFiles:
    settings = read_settings(folder)
    tasks: dict[PurePosixPath, dict[str, FileTask]] = {}
    ignored: list[str] = []
    no_task: list[UnknownLayoutError] = []
    for path in _walk(folder, folder.resolve()):
        inside = PurePosixPath(path.relative_to(folder).as_posix())
        if path.is_dir() or (path.is_file() and path.suffix.lower() in (*SUFFIXES, *PICKLED)):
            try:
                tasks[inside] = _read(path, settings.of(str(inside)))
                continue
            except UnknownLayoutError as error:
                if str(inside) in settings.files:
                    raise
                no_task.append(error)
        ignored.append(str(inside))
    if unused := settings.files.keys() - {str(inside) for inside in tasks}:
        raise DataError(f"{NAME}: {min(unused)!r} is not a file of data; expected {_KNOWN}.")
    if no_task and not tasks:
        raise no_task[0]
    for problem in no_task:
        _log.warning("Left out of suite %r, as no task: %s", folder.name, problem)
    if not tasks:
        raise DataError(f"The folder {folder.name!r} holds no data; expected files of {_KNOWN}.")
    return replace(_loaded(folder.name, str(folder), tasks, settings), ignored=tuple(ignored))


def _walk(folder: Path, root: Path) -> Iterator[Path]:
    """Files and saved datasets, sorted, without hidden ones and suite.toml; a link out of the folder is a DataError."""
    with reading(folder):
        paths = sorted(folder.iterdir())
    for path in paths:
        if path.name.startswith(".") or (path.name == NAME and folder.resolve() == root):
            continue
        if path.is_symlink() and (path.is_dir() or not path.resolve().is_relative_to(root)):
            raise DataError(
                f"{path.name} is a link to a folder or out of {root.name!r}: put the files there themselves."
            )
        if path.is_dir() and not is_saved_dataset(path):
            yield from _walk(path, root)
        else:
            yield path


def _read(path: Path, settings: FileSettings) -> dict[str, FileTask]:
    return record_tasks(saved_records(path), settings) if path.is_dir() else file_tasks(path, settings)


def _loaded(
    name: str, source: str, files: Mapping[PurePosixPath, Mapping[str, FileTask]], settings: SuiteSettings
) -> LoadedFiles:
    """The tasks of these files; `name` is the last resort for the suite and its categories."""
    drops = DropReport.total(task.report for tasks in files.values() for task in tasks.values())
    tasks = tuple(
        _task(f"{of_file}.{_as_name(each)}" if each else of_file, path, task, settings.of(str(path)), fallback=name)
        for path, of_file in zip(files, _task_names(list(files)), strict=True)
        for each, task in files[path].items()
    )
    used = {task.category.casefold() for task in tasks}
    known = _known_categories({path.stem for path in files})
    by_name: dict[str, Category] = {}
    for category in (*settings.categories, *known.values()):
        by_name.setdefault(category.name.casefold(), category)
    categories = tuple(category for name, category in by_name.items() if name in used)
    return LoadedFiles(_as_name(settings.name or name), tasks, categories, source, drops=drops)


def _task_names(paths: Sequence[PurePosixPath]) -> list[str]:
    """Names of files, with subfolders and suffix where needed to tell two apart."""
    task_names = [_as_name(path.stem) for path in paths]
    for spelling in (_with_folders, lambda path: f"{_with_folders(path)}{path.suffix}"):
        count = Counter(task_names)
        task_names = [
            _as_name(spelling(path)) if count[name] > 1 else name for name, path in zip(task_names, paths, strict=True)
        ]
    return task_names


def _known_categories(stems: Collection[str]) -> dict[str, Category]:
    """Name of a file, without its suffix -> the category registered for it, in the order of registration."""
    return {name: lookup("file_category", name) for name in names("file_category") if name in stems}


def _as_name(text: str) -> str:
    """A text as a name of a task or suite."""
    return re.sub(r"[/\\:@,\s]+", "_", text).lstrip("._-") or "data"


def _with_folders(path: PurePosixPath) -> str:
    return ".".join([*path.parent.parts, path.stem])


def _task(name: str, path: PurePosixPath, task: FileTask, settings: FileSettings, *, fallback: str) -> Task:
    """The task of a file at that path within its folder.

    The category is, in this order: that of suite.toml; the subfolder, unless it has the name of the file; that of the
    file; the one that is registered for a file of its name; the fallback.
    """
    subfolder = path.parts[0] if path.parts[0] not in (path.name, path.stem) else ""
    known = [category.name for category in _known_categories([path.stem]).values()]
    category = settings.category or subfolder or task.category or (*known, fallback)[0]
    source = "; ".join(filter(None, [settings.source, task.layout, str(path)]))
    return Task(name, category, source, task.make, group=settings.group or task.group or None, drops=task.report)
