"""A part of a study that another run can do without this one, as the jobs of an array do."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar

from headcats.bounds import shown
from headcats.errors import OptionError

T = TypeVar("T")
_TEXT = re.compile(r"([0-9]{1,6})/([0-9]{1,6})", re.ASCII)
_FOLDER = re.compile(r"shard-([0-9]{1,6})-of-([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True)
class Shard:
    """One of several shares of the cells of a study, numbered from 1.

    A cell is a method on a task, or a part (a relation, a seed) of a joint method. Cells are dealt in turn: whole tasks
    where there are enough of them, since the methods of a task share its unpatched runs, and else task by task within
    each method. Which shard a cell falls to depends on the tasks and methods that are asked for, and on nothing else.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: object) -> "Shard":
        """`2/4`, the second of four; an OptionError for anything else, as for `0/4` and `5/4`."""
        match = _TEXT.fullmatch(text) if isinstance(text, str) else None
        shard = cls(int(match[1]), int(match[2])) if match else None
        if shard is None or not 1 <= shard.number <= shard.of:
            raise OptionError(
                f"shard must be i/n, the i-th of n parts with i from 1 to n, such as 1/4; got {shown(text)}."
            )
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder(self) -> str:
        """Name of the folder that it is written to."""
        return f"shard-{self.number}-of-{self.of}"

    def share(self, cells: Sequence[T]) -> list[T]:
        """Its cells."""
        return list(cells[self.number - 1 :: self.of])

    def dealt(self, tasks: Sequence[str], methods: Sequence[T]) -> dict[str, list[T]]:
        """Task -> the methods of its cells, in their order; tasks without any are missing."""
        if self.of <= len(tasks):
            return {task: list(methods) for task in self.share(tasks)} if methods else {}
        share = self.share([(method, task) for method in methods for task in tasks])
        dealt = {task: [method for method, of in share if of == task] for task in tasks}
        return {task: of_task for task, of_task in dealt.items() if of_task}


def missing_parts(folders: Iterable[str | os.PathLike[str]]) -> list[Shard]:
    """Parts that lack among some folders, by the names of those that are folders of parts."""
    matches = [_FOLDER.fullmatch(PurePath(folder).name) for folder in folders]
    given = {Shard(int(match[1]), int(match[2])) for match in matches if match}
    return [
        Shard(number, of)
        for of in sorted({shard.of for shard in given})
        for number in range(1, of + 1)
        if Shard(number, of) not in given
    ]
