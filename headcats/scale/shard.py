"""`hc.Shard`: the cells of a study that one of several runs scores, as the jobs of an array do."""

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from headcats.base.errors import OptionError, check_count, pluralize, shown

if TYPE_CHECKING:  # a command that merges needs no study
    from headcats.study.plan import Study

T = TypeVar("T")
M = TypeVar("M")
_TEXT = re.compile(r"([0-9]{1,6})/([0-9]{1,6})", re.ASCII)
_FOLDER = re.compile(r"shard-([0-9]{1,6})-of-([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True)
class Shard:
    """Share of the cells of a study, for `hc.run`; `headcats merge` joins the results of all shares.

    A cell is a method on a task, or a part (a relation, a seed) of a joint method. Cells are dealt in turn: whole tasks
    where there are enough of them, since the methods of a task share its unpatched runs, and else task by task within
    each method. Which shard a cell falls to depends on the tasks and methods that are asked for, and on nothing else.

    Attributes:
        number: Which one, from 1.
        of: How many there are.

    Raises:
        OptionError: Numbers that are no counts, or a number above `of`.

    Example:
        >>> import headcats as hc
        >>> str(hc.Shard(2, 8))  # hc.run(model, shard=..., out=...)
        '2/8'

    References:
        headcats' own.
    """

    number: int
    of: int

    def __post_init__(self) -> None:
        check_count("of", self.of, most=math.inf)
        check_count("number", self.number, most=self.of, why_most=f"there are {pluralize(self.of, 'shard')}")

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `2/4`, the second of four.

        Args:
            text: As it is written on the command line.
        """
        match = _TEXT.fullmatch(text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise OptionError(
                f"shard must be i/n, the i-th of n parts with i from 1 to n, such as 1/4; got {shown(text)}."
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder(self) -> str:
        """Name of the folder that it is written to."""
        return f"shard-{self.number}-of-{self.of}"

    def narrow(self, study: "Study") -> "Study":
        """Restrict a study to the cells of this shard; an OptionError for fewer cells than shards, the same in every
        shard.

        Args:
            study: The whole study; how many parts a joint method has is known with the model.
        """
        n_cells = len(study.tasks) * len(study.task_methods)
        if self.of > n_cells and not study.joint_methods:
            raise OptionError(
                f"shard {self}: there are {pluralize(n_cells, 'cell')} ({pluralize(len(study.tasks), 'task')} x "
                f"{pluralize(len(study.task_methods), 'method')}), so at most {n_cells} shards have something to do."
            )
        return study.changed(deal=self.deal)

    def deal(self, tasks: Sequence[T], methods: Sequence[M]) -> list[tuple[T, M]]:
        """Deal the (task, method) pairs of this shard, task by task.

        Args:
            tasks: Tasks, or the parts of a joint method.
            methods: Methods.
        """
        pairs = [(task, method) for method in range(len(methods)) for task in range(len(tasks))]
        if self.of <= len(tasks):
            mine = {(task, method) for task, method in pairs if task % self.of == self.number - 1}
        else:
            mine = set(pairs[self.number - 1 :: self.of])
        return [(tasks[task], methods[method]) for task, method in sorted(mine)]


def missing_parts(folders: Iterable[str | os.PathLike[str]]) -> list[Shard]:
    """Parts that lack among some folders, by the names of those that are folders of parts."""
    matches = [_FOLDER.fullmatch(PurePath(folder).name) for folder in folders]
    given = {(int(match[1]), int(match[2])) for match in matches if match}
    counts = sorted({of for _, of in given})
    return [Shard(n, of) for of in counts for n in range(1, of + 1) if (n, of) not in given]
