"""A suite: the tasks of a study, their categories, and the order and colours of the categories."""

import glob
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headcats.base.errors import DataError, UnknownNameError, unknown_name_message, unstorable
from headcats.base.guard import Guard
from headcats.base.registry import lookup
from headcats.base.registry import names as registered
from headcats.prompts.drop_report import DropReport
from headcats.results.categories import Category, coloured
from headcats.tasks.definition import Task
from headcats.tasks.files.content import SUFFIXES
from headcats.tasks.files.loading import is_path, load_files
from headcats.tasks.files.written_columns import written_source
from headcats.tasks.own_code import load_object


@dataclass(frozen=True)
class Suite:
    """Tasks and their categories.

    Attributes:
        name: Name in the manifest and on the command line.
        tasks: Every task, distractors included.
        categories: Categories in the order of the figures.
        source: What `hc.suite` takes to find it again; "" for a suite that was made in Python.
        ignored: Files of its folder that hold no data, or no task.
        drops: Rows of its files: kept, and dropped by reason; None without files.
        defaults: Options of a study that a registered suite changes, such as `n_demos` and `model`.

    Raises:
        DataError: No task, a task twice, or a name that results cannot hold.

    Example:
        >>> import headcats as hc
        >>> icl = hc.suite("icl")
        >>> [category.name for category in icl.categories]
        ['Algorithmic', 'Knowledge', 'Linguistic', 'Translation']
        >>> [task.name for task in icl.named(["plural", "past_tense"])]  # in the order of the suite
        ['plural', 'past_tense']
    """

    name: str
    tasks: tuple[Task, ...]
    categories: tuple[Category, ...]
    source: str = ""
    ignored: tuple[str, ...] = ()
    drops: DropReport | None = field(default=None, repr=False, compare=False)
    defaults: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.tasks:
            raise DataError(f"Suite {self.name!r} is empty: a study needs at least one task.")
        if problem := unstorable(self.name):
            raise DataError(f"A suite needs a name that results can hold; got {self.name!r:.80}, {problem}.")
        name, count = Counter(task.name for task in self.tasks).most_common(1)[0]
        if count > 1:
            raise DataError(f"Suite {self.name!r} holds the task {name!r} twice.")

    def category_of(self, task: Task) -> Category:
        """This suite's category of a task, case-insensitive; a DataError if it has none.

        Args:
            task: A task, of this suite or not.
        """
        for category in self.categories:
            if category.name.casefold() == task.category.casefold():
                return category
        raise DataError(f"Task {task.name!r} has category {task.category!r}, which suite {self.name!r} lacks.")

    def named(self, names: Sequence[str] | None) -> tuple[Task, ...]:
        """The tasks of these names, in the order of the suite.

        Args:
            names: Names of tasks; None for all.

        Raises:
            UnknownNameError: A name that is not in the suite; the message lists near matches, or says how to add a task
                of another suite.
        """
        if names is None:
            return self.tasks
        members = [task.name for task in self.tasks]
        for name in names:
            if name not in members and name in registered("task"):
                raise UnknownNameError(f"Task {name!r} is not in suite {self.name!r}{_advice(name, self.source)}")
            if name not in members:
                raise UnknownNameError(unknown_name_message(f"task of suite {self.name!r}", name, members))
        return tuple(task for task in self.tasks if task.name in names)

    def with_tasks(self, *tasks: "Task | str | Suite") -> "Suite":
        """A new suite with more tasks; a task of the same name is replaced, new categories go last.

        Args:
            *tasks: Tasks, names of registered ones, or suites, of which all tasks are taken.
        """
        members = [each for task in tasks for each in (task.tasks if isinstance(task, Suite) else [task])]
        added = {task.name: task for task in map(_as_task, members)}
        remaining = [task for task in self.tasks if task.name not in added]
        return make_suite([*remaining, *added.values()], name=self.name, categories=self.categories)


def make_suite(
    tasks: Sequence[Task | str],
    *,
    name: str = "custom",
    categories: Sequence[Category] = (),
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Suite:
    """A suite of the given tasks (or names of registered tasks).

    Categories missing from `categories` are added in the order of the tasks, with standard or spare colours.

    Args:
        tasks: Tasks, or names of registered ones; distractors included.
        name: Name of the suite in results.
        categories: The first categories, with their colours.
        defaults: See `Suite`.

    Returns:
        The suite, which is not registered: pass it to `hc.run` itself.

    Raises:
        DataError: No task, or a task twice.
        UnknownNameError: A name that is not a registered task.

    Example:
        >>> import headcats as hc
        >>> two = hc.make_suite(["country_capital", "country_language"], name="two")
        >>> [(category.name, category.colour) for category in two.categories]
        [('Knowledge', '#ff7f0e')]
    """
    members = tuple(map(_as_task, tasks))
    return Suite(name, members, coloured([member.category for member in members], categories), defaults=defaults)


def suite_defaults(source: str) -> dict[str, Any]:
    """Options of a study that a registered suite changes; none for what is not the name of one."""
    return dict(_registered(source).defaults) if source in registered("suite") else {}


def suite(
    source: "str | os.PathLike[str] | Suite | Task | Sequence[Task | str]",
    *,
    columns: "Mapping[str, Any] | Sequence[str] | None" = None,
) -> Suite:
    """Look up a suite by name, load it from files or your own code, or make one from tasks.

    A text is a registered name; or else a path of data, if something is there, it holds a path separator, or it ends as
    a file of data does; `./icl` is a path in any case. docs/your_data.md shows the layouts of files.

    Args:
        source: A registered name; a file of data (JSON, JSON Lines, CSV, TSV or Parquet), a folder of them or a dataset
            (`save_to_disk`, or `hf://datasets/user/name` with `/config` and `/split` behind it); a `Suite`, a `Task`
            or a list of tasks and task names; `module:name` or `path/to/file.py:name` of one of these, or of a
            function without arguments that returns one.
        columns: What the columns of a file are, role -> column: {"input": "city", "answer": "country"}. The roles are
            those of docs/your_data.md. `source` may say it itself: "cities.csv?input=city&answer=country".

    Returns:
        The suite; one made from tasks is called "custom", or as the list that was loaded.

    Raises:
        UnknownNameError: A name that is not a registered suite (or task, in a list).
        DataError: An empty list, a module or file that cannot be loaded, or data of an unknown layout.

    Example:
        >>> import headcats as hc
        >>> len(hc.suite("cognitive").tasks)
        24
        >>> hc.suite(["plural", "antonym"]).name
        'custom'
        >>> import pathlib
        >>> rows = '[["France", "Paris"], ["Italy", "Rome"], ["Italy", "Rome"]]'
        >>> _ = pathlib.Path("capitals.json").write_text(rows, encoding="utf-8")
        >>> (capitals,) = hc.suite("capitals.json").tasks
        >>> capitals.pairs(10, seed=0), capitals.drops.dropped
        ([('France', 'Paris'), ('Italy', 'Rome')], {'duplicate of an earlier row': 1})
    """
    if columns is not None:
        return _of_files(written_source(source, columns))
    if isinstance(source, Suite):
        return source
    if isinstance(source, str):
        return _of_text(source)
    if isinstance(source, os.PathLike):
        return _of_files(source)
    tasks: Sequence[Any] = source if isinstance(source, list | tuple) else [source]
    return make_suite(tasks)


def _of_text(source: str) -> Suite:
    if source in registered("suite"):
        return replace(_registered(source), source=source)
    if ":" in source and source.rpartition(":")[2].isidentifier() and not os.path.exists(source):
        return _own_suite(source)
    if is_path(source):
        return _of_files(source)
    files = [path for path in sorted(Path().glob(f"{glob.escape(source)}.*")) if path.suffix in SUFFIXES]
    if files:
        raise UnknownNameError(f"{unknown_name_message('suite', source, registered('suite'))} A file: '{files[0]}'.")
    if source in registered("task"):
        raise UnknownNameError(f"{source!r} is a task, and no suite: pass a list, [{source!r}].")
    return _registered(source)


def _registered(name: str) -> Suite:
    guard = Guard("Suite", name, make := lookup("suite", name))
    made = guard(make)
    if not isinstance(made, Suite):
        raise guard.refusal("a suite, hc.make_suite(tasks)", made)
    return made


def _of_files(source: str | os.PathLike[str]) -> Suite:
    loaded = load_files(source)
    categories = coloured([task.category for task in loaded.tasks], loaded.categories)
    return Suite(loaded.name, loaded.tasks, categories, loaded.source, loaded.ignored, loaded.drops)


def _own_suite(source: str) -> Suite:
    loaded, full_source = load_object(source)
    if callable(loaded) and not isinstance(loaded, Task):
        loaded = Guard("Suite", source.rpartition(":")[2], loaded)(loaded)
    if not isinstance(loaded, Suite | Task | list | tuple):
        raise DataError(
            f"{source} must be a suite (hc.make_suite), a task, a list of tasks, or a function without arguments that "
            f"returns one of these; got {loaded!r:.80}."
        )
    if not isinstance(loaded, Suite):
        loaded = make_suite([loaded] if isinstance(loaded, Task) else loaded, name=source.rpartition(":")[2])
    return replace(loaded, source=full_source)


def _as_task(task: Task | str) -> Task:
    if isinstance(task, Task):
        return task
    if isinstance(task, str):
        return lookup("task", task)
    raise DataError(
        "A suite is made of tasks (functions decorated with @hc.task, which return pairs) or task names, one by one; "
        f"got {task!r:.60}. Pairs alone can be a file: suite='pairs.json'."
    )


def _advice(task: str, source: str) -> str:
    """The end of a message on a task that the suite lacks: which suite has it, and how to add it."""
    home = lookup("task", task).suite
    expression = f"hc.suite({source!r})" if source else "your_suite"
    call = f"suite={expression}.with_tasks({task!r})"
    if home in registered("suite"):
        return f" but in suite {home!r}: use that suite (--suite {home}, in Python suite={home!r}), or add it: {call}."
    return f" nor in any other: add it in Python: {call}."
