"""A task: a named source of (input, output) word pairs, or of finished prompt pairs; and the word tables.

There is one TSV per domain, one row per entry; two columns give (input, output) pairs.
"""

import csv
import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError, OptionError, UnknownNameError, unknown_name_message, unstorable
from headcats.base.guard import Guard, function_name
from headcats.base.registry import check_name, register
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import PromptPair, WordPair

_POOL = 1024
_MOST = 10_000_000  # pairs that a task gives; they would take more than a gigabyte
MakePairs = Callable[..., Sequence[WordPair] | Sequence[PromptPair]]
Draw = Callable[[int, int], list[WordPair]]
"""Takes how many pairs are needed, and a seed."""


@dataclass(frozen=True)
class Task:
    """One few-shot task of a suite.

    Attributes:
        name: Name in results, on the command line and in figures.
        category: Category of the task (any text, case-insensitive).
        source: Where its facts or rules come from.
        make: `make(n, *, seed)` returns (input, output) word pairs or finished `PromptPair`s: a whole table, or `n`
            pairs drawn from `seed`.
        suite: Name of the suite it belongs to; None for a task of a notebook or script.
        needs_demonstrations: False for a task that a model solves without demonstrations: it serves as a distractor
            only and is not patched.
        exact: Regular expression for the exact answer within an output of several words, such as `"[0-9]( [0-9])*"`;
            the first match counts. None: the whole output.
        group: Name that it shares with tasks that are no independent evidence, such as wordings of one relation: they
            count as one source (see `hc.run_evidence`). None: words, answers and templates tell.
        drops: Rows of its file that were kept, and dropped for which reason; None for a task that is not from a file.

    Raises:
        DataError: A name that cannot be used in results or file names, or a group that results cannot hold.
        OptionError: `exact` is not a regular expression.

    Example:
        >>> import headcats as hc
        >>> (plural,) = hc.suite("icl").named(["plural"])
        >>> plural.category, plural.pairs(1000, seed=0)[0]
        ('Linguistic', ('house', 'houses'))
    """

    name: str
    category: str
    source: str
    make: MakePairs = field(repr=False)
    suite: str | None = None
    needs_demonstrations: bool = True
    exact: str | None = None
    group: str | None = None
    drops: DropReport | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name("task", self.name)
        if self.group is not None:
            is_name = isinstance(self.group, str) and self.group.strip()
            if problem := unstorable(self.group) if is_name else "no name":
                raise DataError(f"Task {self.name!r}: expected `group` as text; got {self.group!r:.60}, {problem}.")
        if self.exact is not None:
            try:
                re.compile(self.exact)
            except (re.error, TypeError) as error:
                raise OptionError(
                    f"Task {self.name!r}: expected `exact` as a regular expression; got {self.exact!r} ({error})."
                ) from None

    def __call__(self, n: int, *, seed: int) -> list[WordPair] | list[PromptPair]:
        """Make the pairs of the task (see `pairs`)."""
        return self.pairs(n, seed=seed)

    def pairs(self, n: int, *, seed: int) -> list[WordPair] | list[PromptPair]:
        """The task's pairs, checked. Spaces around words are removed: the template of a study puts them.

        Args:
            n: How many pairs the caller can use (a table may return more or fewer).
            seed: Seed of generated pairs.

        Raises:
            DataError: The function returned anything but (input, output) pairs of text or finished `PromptPair`s, no
                pair, an input with two different outputs, or text that results cannot hold.
            ExtensionError: A function of yours raised something; that is its cause.
        """
        returned = Guard("Task", self.name, self.make)(lambda: _listed(self.make(n, seed=seed)))
        pairs: list[Any] = returned if isinstance(returned, list) else []
        if not pairs:
            raise DataError(
                f"Task {self.name!r} returned {returned!r:.80}, no pairs; expected (input, output) pairs of text, or "
                "PromptPairs."
            )
        if len(pairs) > _MOST:
            raise DataError(
                f"Task {self.name!r} returned more than {_MOST:,} pairs; a generator must end after about `n` of them."
            )
        if all(isinstance(pair, PromptPair) for pair in pairs):
            return pairs
        outputs: dict[str, str] = {}
        for position, pair in enumerate(pairs):
            if not _is_word_pair(pair):
                raise DataError(
                    f"Task {self.name!r} must return (input, output) pairs of text, or PromptPairs only; "
                    f"element {position} is {pair!r:.80}."
                )
            word, output = map(str.strip, pair)
            if problem := unstorable(word) or unstorable(output):
                raise DataError(
                    f"Task {self.name!r} must return text that results can hold; element {position} is {pair!r}, "
                    f"{problem}."
                )
            if outputs.setdefault(word, output) != output:
                raise DataError(
                    f"Task {self.name!r} has two outputs for the input {word!r}: {outputs[word]!r} and {output!r}; "
                    "keep one, or drop the input."
                )
        return [(word.strip(), output.strip()) for word, output in pairs]


def word_pairs(task: Task, *, seed: int) -> list[WordPair]:
    """Pairs of a task, as many as the prompts of a study are made from; [] for a task of finished prompts."""
    return [pair for pair in task.pairs(_POOL, seed=seed) if isinstance(pair, tuple)]


def task(
    *,
    category: str,
    source: str,
    suite: str | None = None,
    needs_demonstrations: bool = True,
    exact: str | None = None,
    group: str | None = None,
) -> Callable[[MakePairs], Task]:
    """Decorator: register a function `f(n, *, seed)` as a task under its own name.

    Args:
        category: Category of the task, such as "knowledge".
        source: Where its facts or rules come from; printed with the results.
        suite: Name of a suite to join; without one, pass the task itself to `hc.run(suite=[...])`.
        needs_demonstrations: See `Task`.
        exact: See `Task`.
        group: See `Task`.

    Returns:
        The decorator, which returns a `Task` (still callable as `f(n, seed=...)`).

    Raises:
        OptionError: The function does not take `n` and `seed`, category or source is empty, or `exact` is not a
            regular expression.

    Example:
        >>> import headcats as hc
        >>> @hc.task(category="knowledge", source="a periodic table")
        ... def metal_symbol(n, *, seed):
        ...     return [("iron", "Fe"), ("gold", "Au")]
        >>> metal_symbol(2, seed=0)
        [('iron', 'Fe'), ('gold', 'Au')]
    """
    if not (isinstance(category, str) and category.strip()) or not (isinstance(source, str) and source.strip()):
        raise OptionError(f"A task needs a category and a source; got category={category!r}, source={source!r}.")

    def decorate(function: MakePairs) -> Task:
        name, parameters = function_name("task", function), inspect.signature(function).parameters
        if list(parameters)[:1] != ["n"] or "seed" not in parameters:
            raise OptionError(
                f"Expected a task function `def {name}(n, *, seed)`; got ({', '.join(parameters)}). `n` is the number "
                "of pairs needed, `seed` the seed of random choices."
            )
        registered = Task(name, category, source, function, suite, needs_demonstrations, exact, group)
        object.__setattr__(registered, "__doc__", function.__doc__)
        return register("task", name, registered)

    return decorate


def _listed(returned: Any) -> Any:
    """A list of what an iterable gives, which may be a generator, whose code runs here, and which may never end."""
    return list(itertools.islice(returned, _MOST + 1)) if isinstance(returned, Iterable) else returned


def _is_word_pair(pair: Any) -> bool:
    return (
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(isinstance(word, str) and word.strip() for word in pair)
    )


def pairs_task(name: str, description: str, draw: Draw, *, category: str, suite: str, source: str) -> Task:
    """Register a task of a suite whose pairs are drawn."""

    def make(n: int, *, seed: int) -> list[WordPair]:
        return draw(n, seed)

    make.__name__, make.__doc__ = name, description
    return task(category=category, suite=suite, source=source)(make)


def table_task(
    tables: Sequence[str | Path],
    name: str,
    source: str,
    target: str,
    description: str,
    *,
    category: str,
    suite: str = "icl",
) -> Task:
    """Register a task of a suite: the pairs of two columns of word tables, without those that `merge` drops."""
    origin = (
        " and ".join(f"tables/{Path(table).stem}.tsv" for table in tables)
        if len(tables) < 3
        else "all word tables in tables/"
    )

    def draw(n: int, seed: int) -> list[WordPair]:
        return merge(*(table_pairs(table, source, target) for table in tables))

    return pairs_task(name, description, draw, category=category, suite=suite, source=origin)


def table_pairs(table: str | Path, source: str, target: str) -> list[WordPair]:
    """(source, target) pairs of two columns of a table, without the pairs that `merge` drops."""
    return merge(list(zip(table_column(table, source), table_column(table, target), strict=True)))


def table_column(table: str | Path, column: str) -> list[str]:
    """One column of a table in `tasks/tables` or of a file, a word per row, "" where it has none."""
    rows = _read(table)
    if column not in rows[0]:
        raise UnknownNameError(unknown_name_message(f"column of table {table!r}", column, rows[0]))
    return [row[column] for row in rows]


def merge(*lists: list[WordPair]) -> list[WordPair]:
    """Join lists of (source, target) pairs; drops duplicates, empty or equal words and sources with two targets."""
    pairs = [pair for pairs in lists for pair in pairs if all(pair) and pair[0] != pair[1]]
    targets: dict[str, set[str]] = {}
    for source, target in pairs:
        targets.setdefault(source, set()).add(target)
    return list(dict.fromkeys(pair for pair in pairs if len(targets[pair[0]]) == 1))


@functools.cache
def _read(table: str | Path) -> list[dict[str, str]]:
    folder = Path(__file__).parent / "tables"
    path = table if isinstance(table, Path) else folder / f"{table}.tsv"
    if not path.is_file():
        tables = sorted(entry.stem for entry in folder.glob("*.tsv"))
        raise UnknownNameError(unknown_name_message("word table", str(table), tables))
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
