"""The manifest of a results folder: what was run, on which model, and what became of every task and block."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headcats.base.errors import DamagedFileError, DataError
from headcats.results.categories import as_hex
from headcats.results.file_format import FORMAT, in_lines, json_with_checksum, parse_object, read_object
from headcats.results.records import BlockRecord, CategoryRecord, MethodRecord, ModelRecord, PlanRecord, TaskRecord
from headcats.results.typed import MisfitError, fitted, kinds_of, plain

SUITE = "_suite"
"""Key of joint methods, in place of a task. No task can have this name."""
_FILE_NAME = re.compile(r"\w{1,40}\.(?:json|nc)", re.ASCII)


@dataclass
class Manifest:
    """Record of a results folder; a run extends it with every task and block."""

    plan: PlanRecord = field(default_factory=PlanRecord)  # options that all blocks share
    model: ModelRecord = field(default_factory=ModelRecord)
    suite_source: str = ""
    """Argument of `hc.suite` that finds the suite: a registered name, or the place it was loaded from, with a path from
    the results folder; "" for one of Python. Read only where it is registered: a folder is data."""
    categories: tuple[CategoryRecord, ...] = ()
    """Categories of the suite, in the order of the figures."""
    methods: tuple[str, ...] = ()
    """Methods as `name[:option=value][@positions]`, in the order in which they were asked for."""
    requested: tuple[str, ...] = ()  # tasks that were asked for, finished or not
    distractors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Task of word pairs -> the tasks that may corrupt its prompts; tasks of the suite that are not scored, too."""
    tasks: dict[str, TaskRecord] = field(default_factory=dict)
    """Task -> its record, skipped ones too."""
    blocks: dict[str, MethodRecord] = field(default_factory=dict)  # method@positions -> its record
    beside: tuple[str, ...] = ()
    """Files beside the blocks that belong to the results, such as `suite.json`."""
    own_code: dict[str, str] = field(default_factory=dict)
    """Method or metric that is not of headcats -> hash of its source; what it calls in turn is not looked at."""
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Task, or "model" -> what the checks of the model gave."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of Python and of the packages whose numbers matter, threads, and precision of products of fp32."""
    created: str = ""  # time at which the folder was begun (ISO 8601, UTC)

    @classmethod
    def read(cls, path: Path) -> "Manifest":
        """The manifest in a file; a DamagedFileError names the field that does not fit.

        A StorageError if it cannot be read, or has another format.
        """
        try:
            stored = read_object(path)
            if lacking := [part for part in ("format", *_PARTS) if part not in stored]:
                raise DamagedFileError(f"it lacks {', '.join(lacking)}")
            manifest = cls._from_dict(stored)
            if problem := manifest.contradiction():
                raise DamagedFileError(problem)
            for category in manifest.categories:
                as_hex(category.colour, category=category.name)
        except (DamagedFileError, DataError) as error:
            problem = str(error).rstrip(".")
            raise DamagedFileError(
                f"{path} is damaged: {problem}. Repeat the `headcats run` that made it: finished blocks are kept."
            ) from None
        return manifest

    @classmethod
    def from_json(cls, text: str) -> "Manifest":
        """The manifest in the attributes of results; what the text lacks has its default."""
        source = "The manifest of these results"
        try:
            return cls._from_dict(parse_object(text.encode("utf-8", errors="replace"), source=source))
        except DamagedFileError as error:
            raise DamagedFileError(f"{source} is damaged: {error}.") from None

    @classmethod
    def _from_dict(cls, stored: Mapping[str, Any]) -> "Manifest":
        try:
            parts = {name: fitted(stored[name], kind, name) for name, kind in _PARTS.items() if name in stored}
        except MisfitError as error:
            raise DamagedFileError(str(error)) from None
        return cls(**parts)

    def contradiction(self) -> str:
        """Contradiction of two parts of the manifest; "" where they agree."""
        categories = [category.name for category in self.categories]
        if doubled := {name for name in categories if categories.count(name) > 1}:
            return f"categories lists {', '.join(sorted(doubled))} twice"
        of_tasks = {f"tasks.{task}.category": record.category for task, record in self.tasks.items()} | {
            f"blocks.{label}.tasks.{task}": category
            for label, method in self.blocks.items()
            for task, category in method.tasks.items()
        }
        for place, category in of_tasks.items():
            if category not in categories:
                return f"{place} is {category!r}, which categories does not list"
        for label, method in self.blocks.items():
            if not method.is_joint and (unknown := method.parts.keys() - self.tasks.keys()):
                return f"blocks.{label} names the task {min(unknown)!r}, which tasks does not"
        if len(self.model.layers) != len(self.model.heads):
            return f"model has {len(self.model.layers)} layers and heads of {len(self.model.heads)}"
        if not all(0 < heads <= _MOST_HEADS for heads in self.model.heads):
            return f"model.heads is {list(self.model.heads)!r:.80}"
        if foreign := [name for name in self.beside if not _FILE_NAME.fullmatch(name)]:
            return f"beside names {foreign[0]!r:.80}, which is no file of results"
        return ""

    def file_bytes(self) -> bytes:
        """The content of the file."""
        return json_with_checksum(in_lines(self._stored()))

    def to_json(self) -> str:
        """The attribute `manifest` of results: what the file holds, in one line."""
        return json.dumps(self._stored(), ensure_ascii=False)

    def _stored(self) -> dict[str, Any]:
        whole = {"plan": self.plan.complete(), "model": self.model.complete()}
        return {"format": FORMAT, **{name: plain(getattr(self, name)) for name in _PARTS}, **whole}

    def category_entries(self) -> list[dict[str, str]]:
        """Names and colours, as in the attribute `categories` of results."""
        return [category.complete() for category in self.categories]

    def skipped(self) -> dict[str, str]:
        """Task -> why it was skipped."""
        return {task: record.refusal for task, record in self.tasks.items() if record.refusal}

    def finished(self) -> set[tuple[str, str]]:
        """(task, method@positions) of every block that there is; of a joint method (`SUITE`, method)."""
        return {
            (SUITE if method.is_joint else part, label)
            for label, method in self.blocks.items()
            for part, record in method.parts.items()
            if not record.refusal
        }

    @property
    def joint(self) -> dict[str, MethodRecord]:
        """Joint methods and their records."""
        return {label: method for label, method in self.blocks.items() if method.is_joint}

    @property
    def joint_tasks(self) -> dict[str, str]:
        """Task -> category, of all tasks that a joint method was run on."""
        return {task: category for method in self.blocks.values() for task, category in method.tasks.items()}

    def cells(self) -> list[tuple[str, str, BlockRecord]]:
        """(task, method@positions, record) of the methods whose parts are tasks, task by task."""
        methods = [(label, method.parts) for label, method in self.blocks.items() if not method.is_joint]
        return [(task, label, parts[task]) for task in self.tasks for label, parts in methods if task in parts]

    def record(self, task: str, label: str) -> BlockRecord | None:
        """Record of a method on a task; None where there is none."""
        method = self.blocks.get(label)
        return None if method is None or method.is_joint else method.parts.get(task)

    def add(self, label: str, part: str, record: BlockRecord) -> None:
        """Record a part of a method, in place of an earlier record."""
        method = self.blocks.get(label, MethodRecord())
        self.blocks[label] = replace(method, parts={**method.parts, part: record})

    def place(self, block: tuple[str, str]) -> tuple[int, int]:
        """Where a block (task, method@positions) stands: by task, and joint methods last, in their order."""
        task, label = block
        if task != SUITE:
            return list(self.tasks).index(task), 0
        return len(self.tasks), (*self.methods, label).index(label)

    def unfinished(self) -> list[str]:
        """Tasks that were asked for and are still to come, since the run was stopped."""
        return [task for task in self.requested if task not in self.tasks]

    def add_beside(self, name: str) -> None:
        """List a file beside the blocks."""
        self.beside = tuple(sorted({*self.beside, name}))

    def extend(
        self, *, methods: Iterable[str], requested: Iterable[str], categories: Iterable[CategoryRecord] = ()
    ) -> None:
        """Add methods and tasks that are asked for, and categories of new names."""
        self.methods = tuple(dict.fromkeys([*self.methods, *methods]))
        self.requested = tuple(dict.fromkeys([*self.requested, *requested]))
        names = {category.name for category in self.categories}
        self.categories += tuple(category for category in categories if category.name not in names)

    def changed_code(self, own_code: Mapping[str, str]) -> str:
        """Methods and metrics whose code is another one here, as a list; "" for none."""
        return ", ".join(name for name, mark in own_code.items() if self.own_code.get(name, mark) != mark)

    def join(self, second: "Manifest") -> None:
        """Add tasks, methods, blocks and parts of a second folder of the same plan, with their versions."""

        def noted(records: Mapping[str, BlockRecord]) -> dict[str, BlockRecord]:
            other = {} if second.versions == self.versions else second.versions
            return {name: replace(record, versions=record.versions or other) for name, record in records.items()}

        self.extend(methods=second.methods, requested=second.requested)
        self.tasks = self.tasks | {task: record for task, record in second.tasks.items() if task not in self.tasks}
        self.own_code |= second.own_code
        self.checks |= second.checks
        self.distractors = second.distractors | self.distractors
        for label, record in second.blocks.items():
            first = self.blocks.get(label, MethodRecord())
            self.blocks[label] = MethodRecord({**first.parts, **noted(record.parts)}, {**first.tasks, **record.tasks})


_MOST_HEADS = 100_000  # of a layer; maps have a cell for each
_PARTS = kinds_of(Manifest)
"""Parts of the file -> their types."""
