"""A suite: the tasks of a study, their categories, and the order and colours of the categories."""

from collections.abc import Sequence
from dataclasses import dataclass

from headcats.errors import DataError, UnknownNameError
from headcats.registry import lookup, register, unknown_name_message
from headcats.registry import names as registered
from headcats.tasks.cognitive import FUNCTIONS
from headcats.tasks.definition import Task

# As many as the overlap map has room for. Clear of each other, of the standard categories, of its greys and of the
# colours that mean "several categories" there (headcats/figures/colours.py).
SPARE_COLOURS = ("#00eebb", "#990044", "#ffcc88", "#445500", "#bbbbff", "#996600", "#ff8888", "#77aa77")


@dataclass(frozen=True)
class Category:
    """A kind of task.

    Attributes:
        name: As printed in figures.
        colour: `#rrggbb`.
    """

    name: str
    colour: str


@dataclass(frozen=True)
class Suite:
    """Tasks and the categories they count for.

    Attributes:
        name: Name in the manifest and on the command line.
        tasks: Every task, distractors included.
        categories: Categories in the order of the figures.

    Raises:
        DataError: No task, or one twice.

    Example:
        >>> import headcats as hc
        >>> icl = hc.suite("icl")
        >>> [category.name for category in icl.categories]
        ['Algorithmic', 'Knowledge', 'Linguistic', 'Translation']
        >>> [task.name for task in icl.named(["plural", "past_tense"])]  # in the order of the suite
        ['plural', 'past_tense']
        >>> len(icl.with_tasks("number_sum").tasks) - len(icl.tasks)  # a task of another suite
        1
    """

    name: str
    tasks: tuple[Task, ...]
    categories: tuple[Category, ...]

    def __post_init__(self) -> None:
        if not self.tasks:
            raise DataError(f"Suite {self.name!r} is empty: a study needs at least one task.")
        seen: set[str] = set()
        for item in self.tasks:
            if item.name in seen:
                raise DataError(f"Suite {self.name!r} holds the task {item.name!r} twice.")
            seen.add(item.name)

    def category_of(self, task: Task) -> Category:
        """The category a task counts for; names are compared without regard to case.

        Args:
            task: A task, of this suite or not.

        Returns:
            A category of the suite.

        Raises:
            DataError: The suite lacks the category of the task.
        """
        for category in self.categories:
            if category.name.casefold() == task.category.casefold():
                return category
        raise DataError(f"Task {task.name!r} has category {task.category!r}, which suite {self.name!r} lacks.")

    def named(self, names: Sequence[str] | None) -> tuple[Task, ...]:
        """The tasks of these names, in the order of the suite.

        Args:
            names: Names of tasks; None for all of them.

        Returns:
            The tasks.

        Raises:
            UnknownNameError: A name that is no task of the suite; the message lists near matches, and what to do with a
                task of another suite.
        """
        if names is None:
            return self.tasks
        by_name = {task.name: task for task in self.tasks}
        for name in names:
            if name not in by_name and name in registered("task"):
                raise UnknownNameError(f"Task {name!r} is not in suite {self.name!r}{_where(name, self.name)}")
            if name not in by_name:
                raise UnknownNameError(unknown_name_message(f"task of suite {self.name!r}", name, by_name))
        return tuple(task for task in self.tasks if task.name in set(names))

    def with_tasks(self, *tasks: Task | str) -> "Suite":
        """A suite with more tasks; a task of the same name is replaced, new categories go last.

        Args:
            *tasks: Tasks, or names of registered ones.

        Returns:
            Another suite of the same name; this one stays as it is.

        Raises:
            DataError: Something that is no task.
            UnknownNameError: A name that is not a registered task.
        """
        added = {item.name: item for item in map(_as_task, tasks)}
        kept = tuple(item for item in self.tasks if item.name not in added)
        return make_suite([*kept, *added.values()], name=self.name, categories=self.categories)


def make_suite(tasks: Sequence[Task | str], *, name: str = "custom", categories: Sequence[Category] = ()) -> Suite:
    """A suite of the given tasks (or names of registered tasks).

    Categories that `categories` lacks are added in the order of the tasks: those of the four standard categories with
    their standard colour, others with spare colours.

    Args:
        tasks: Tasks, or names of registered ones; distractors included.
        name: Name of the suite in results.
        categories: Categories that come first, with their colours.

    Returns:
        The suite; it is not registered, so `hc.run` gets it itself.

    Raises:
        DataError: No task, or one task twice.
        UnknownNameError: A name that is not a registered task.

    Example:
        >>> import headcats as hc
        >>> two = hc.make_suite(["country_capital", "country_language"], name="two")
        >>> [(category.name, category.colour) for category in two.categories]
        [('Knowledge', '#ff7f0e')]
    """
    members = tuple(map(_as_task, tasks))
    known = list(categories)
    for item in members:
        if not any(c.name.casefold() == item.category.casefold() for c in known):
            known.append(_new_category(item.category, known))
    return Suite(name, members, tuple(known))


def suite(source: "str | Suite | Task | Sequence[Task | str]") -> Suite:
    """The suite that `source` means: a registered name, a suite itself, or a list of tasks and task names.

    Args:
        source: A registered name, a `Suite`, a `Task`, or a list of tasks and task names.

    Returns:
        The suite; a list makes one of the name "custom".

    Raises:
        UnknownNameError: A name that is no registered suite (or task, in a list).
        DataError: An empty list.

    Example:
        >>> import headcats as hc
        >>> len(hc.suite("cognitive").tasks)
        24
        >>> hc.suite(["plural", "antonym"]).name
        'custom'
    """
    if isinstance(source, Suite):
        return source
    if isinstance(source, Task):
        return make_suite([source])
    if isinstance(source, str):
        return lookup("suite", source)()
    return make_suite(list(source))


def tasks_of_suite(name: str) -> list[Task]:
    """Registered tasks that name this suite as theirs, in the order of registration."""
    return [item for item in (lookup("task", task_name) for task_name in registered("task")) if item.suite == name]


STANDARD_CATEGORIES = (
    Category("Algorithmic", "#1f77b4"),
    Category("Knowledge", "#ff7f0e"),
    Category("Linguistic", "#2ca02c"),
    Category("Translation", "#d62728"),
)


def icl() -> Suite:
    """In-context learning: few-shot tasks in the four categories Algorithmic, Knowledge, Linguistic, Translation."""
    return make_suite(tasks_of_suite("icl"), name="icl", categories=STANDARD_CATEGORIES)


def cognitive() -> Suite:
    """Eight functions of Cognitive Mirrors, Knowledge Recall to Math Calculation, with three few-shot tasks each."""
    functions = [Category(name, colour) for name, colour in zip(FUNCTIONS, SPARE_COLOURS, strict=True)]
    return make_suite(tasks_of_suite("cognitive"), name="cognitive", categories=functions)


def sentences() -> Suite:
    """Questions about numbers that are answered in a sentence, without demonstrations, and not always rightly."""
    return make_suite(tasks_of_suite("sentences"), name="sentences")


register("suite", "icl", icl)
register("suite", "cognitive", cognitive)
register("suite", "sentences", sentences)


def _as_task(item: Task | str) -> Task:
    if isinstance(item, Task):
        return item
    if isinstance(item, str):
        return lookup("task", item)
    raise DataError(f"A suite is made of tasks (functions decorated with @hc.task) or task names; got {item!r}.")


def _where(name: str, asked: str) -> str:
    """The end of a sentence on a task that the suite asked for lacks: which suite has it, and how to add it."""
    home = lookup("task", name).suite
    of = f"hc.suite({asked!r})" if asked in registered("suite") else "your_suite"
    added = f"suite={of}.with_tasks({name!r})"
    if home in registered("suite"):
        return (
            f" but in suite {home!r}: choose that one (--suite {home}, in Python suite={home!r}) or, in Python, add "
            f"it: {added}."
        )
    return f", nor in another one: in Python, add it: {added}."


def _new_category(name: str, known: Sequence[Category]) -> Category:
    for standard in STANDARD_CATEGORIES:
        if standard.name.casefold() == name.casefold():
            return standard
    used = {category.colour for category in known}
    colour = next((c for c in SPARE_COLOURS if c not in used), SPARE_COLOURS[-1])
    return Category(name, colour)
