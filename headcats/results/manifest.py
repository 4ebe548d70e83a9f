"""The manifest of a results folder: what was run, on which model, and what became of every task and block."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcats.errors import StorageError
from headcats.results.records import (
    BlockRecord,
    CategoryRecord,
    JointRecord,
    ModelRecord,
    PlanRecord,
    R,
    Record,
    TaskRecord,
)

MANIFEST = "manifest.json"
FORMAT = 1
SUITE = "_suite"
"""Key of joint methods, in place of a task. No task can have this name."""
_REQUIRED = ("format", "plan", "model", "categories", "methods", "tasks", "blocks", "checks")


@dataclass
class Manifest:
    """What a results folder says of itself; a run extends it with every task and block."""

    plan: PlanRecord = field(default_factory=PlanRecord)
    """What all blocks share."""
    model: ModelRecord = field(default_factory=ModelRecord)
    suite_source: str = ""
    """What `hc.suite` takes to find the suite: a registered name, or where it was loaded from, with a path from the
    results folder; "" for one of Python."""
    categories: tuple[CategoryRecord, ...] = ()
    """Categories of the suite, in the order of the figures."""
    methods: tuple[str, ...] = ()
    """Methods as `name[:option=value][@positions]`, in the order in which they were asked for."""
    requested: tuple[str, ...] = ()
    """Tasks that were asked for, finished or not."""
    distractors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Task of word pairs -> the tasks that may corrupt its prompts; tasks of the suite that are not scored, too."""
    tasks: dict[str, TaskRecord] = field(default_factory=dict)
    """Task -> its record, skipped ones too."""
    blocks: dict[str, dict[str, BlockRecord]] = field(default_factory=dict)
    """Task -> method@positions -> its record."""
    joint_blocks: dict[str, JointRecord] = field(default_factory=dict)
    """Joint method -> its record."""
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Task, or "model" -> what the checks of the model gave."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of Python and of the packages whose numbers matter."""
    git_commit: str | None = None
    """Commit of headcats; None for an installed package."""
    created: str = ""
    """When the folder was begun (ISO 8601, UTC)."""

    @classmethod
    def read(cls, path: Path) -> "Manifest":
        """The manifest in a file.

        Raises:
            StorageError: It cannot be read, has a newer format, or lacks parts, which the message names.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise _unreadable(str(path), error) from None
        stored = _parse(text, source=str(path))
        if lacking := [part for part in _REQUIRED if part not in stored]:
            raise _damaged(str(path), f"it lacks {', '.join(lacking)}")
        return cls._from_dict(stored, source=str(path))

    @classmethod
    def from_json(cls, text: str) -> "Manifest":
        """The manifest in the attributes of results; what the text lacks has its default."""
        source = "The manifest of these results"
        return cls._from_dict(_parse(text, source=source), source=source)

    @classmethod
    def _from_dict(cls, stored: Mapping[str, Any], *, source: str) -> "Manifest":
        try:
            blocks = dict(stored.get("blocks", {}))
            joint = blocks.pop(SUITE, {})
            plan = PlanRecord.from_dict(stored.get("plan", {}))
            return cls(
                plan=plan,
                model=ModelRecord.from_dict(stored.get("model", {})),
                suite_source=_suite_source(stored, plan),
                categories=tuple(map(CategoryRecord.from_dict, stored.get("categories", ()))),
                methods=tuple(stored.get("methods", ())),
                requested=tuple(stored.get("asked", ())),
                distractors={task: tuple(names) for task, names in stored.get("distractors", {}).items()},
                tasks=_records(TaskRecord, stored.get("tasks", {})),
                blocks={task: _records(BlockRecord, entries) for task, entries in blocks.items()},
                joint_blocks=_records(JointRecord, joint),
                checks=dict(stored.get("checks", {})),
                versions=dict(stored.get("versions", {})),
                git_commit=stored.get("git_commit"),
                created=stored.get("created", ""),
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise _damaged(source, str(error)) from None

    def to_json(self, *, indent: int | None = None) -> str:
        """The text of the file, and of the attribute `manifest` of results."""
        blocks = {task: _entries(records) for task, records in self.blocks.items()}
        if self.joint_blocks:
            blocks[SUITE] = _entries(self.joint_blocks)
        stored = {
            "format": FORMAT,
            "plan": self.plan.complete(),
            "model": self.model.complete(),
            "suite_source": self.suite_source,
            "categories": self.category_entries(),
            "methods": self.methods,
            "asked": self.requested,
            "distractors": self.distractors,
            "tasks": _entries(self.tasks),
            "blocks": blocks,
            "checks": self.checks,
            "versions": self.versions,
            "git_commit": self.git_commit,
            "created": self.created,
        }
        return json.dumps(stored, indent=indent, ensure_ascii=False)

    def category_entries(self) -> list[dict[str, str]]:
        """Names and colours, as in the attribute `categories` of results."""
        return [category.complete() for category in self.categories]

    def skipped(self) -> dict[str, str]:
        """Task -> why it was skipped."""
        return {task: record.refusal for task, record in self.tasks.items() if record.refusal}

    def finished(self) -> set[tuple[str, str]]:
        """(task, method@positions) of every block that there is; of a joint method (`SUITE`, method)."""
        records = {(task, label): record for task, entries in self.blocks.items() for label, record in entries.items()}
        finished = {key for key, record in records.items() if not record.refusal}
        parts = {label: record.parts.values() for label, record in self.joint_blocks.items()}
        return finished | {(SUITE, label) for label in parts if not all(part.refusal for part in parts[label])}

    def unfinished(self) -> list[str]:
        """Tasks that were asked for and are still to come, since the run was stopped."""
        return [task for task in self.requested if task not in self.tasks]

    def extend(
        self, *, methods: Iterable[str], requested: Iterable[str], categories: Iterable[CategoryRecord] = ()
    ) -> None:
        """Add methods and tasks that are asked for, and categories of new names."""
        self.methods = tuple(dict.fromkeys([*self.methods, *methods]))
        self.requested = tuple(dict.fromkeys([*self.requested, *requested]))
        names = {category.name for category in self.categories}
        self.categories += tuple(category for category in categories if category.name not in names)

    def join(self, second: "Manifest") -> None:
        """Add tasks, methods, blocks and parts of a second folder of the same plan."""
        self.extend(methods=second.methods, requested=second.requested)
        self.tasks = self.tasks | {task: record for task, record in second.tasks.items() if task not in self.tasks}
        self.checks |= second.checks
        self.distractors = second.distractors | self.distractors
        for task, records in second.blocks.items():
            self.blocks[task] = self.blocks.get(task, {}) | records
        for label, record in second.joint_blocks.items():
            first = self.joint_blocks.get(label, JointRecord())
            self.joint_blocks[label] = JointRecord({**first.parts, **record.parts}, {**first.tasks, **record.tasks})


def _suite_source(stored: Mapping[str, Any], plan: PlanRecord) -> str:
    """Earlier versions left registered names out, and marked suites of Python."""
    if "suite_source" in stored and "suite_mark" not in stored:
        return str(stored["suite_source"])
    return stored.get("suite_source") or ("" if stored.get("suite_mark") else plan.suite)


def _records(kind: type[R], entries: Mapping[str, Any]) -> dict[str, R]:
    return {name: kind.from_dict(entry) for name, entry in entries.items()}


def _entries(records: Mapping[str, Record]) -> dict[str, Any]:
    return {name: record.to_dict() for name, record in records.items()}


def _parse(text: str, *, source: str) -> dict[str, Any]:
    """The JSON object, of a format that this version reads."""
    try:
        stored = json.loads(text)
    except ValueError as error:
        raise _unreadable(source, error) from None
    if not isinstance(stored, dict):
        raise _damaged(source, f"it holds a {type(stored).__name__}")
    version = stored.get("format", FORMAT)  # results in memory had none in version 0.1
    if version != FORMAT:
        is_newer = isinstance(version, int) and version > FORMAT
        newer = " A newer version of headcats wrote it: install that one." if is_newer else ""
        raise StorageError(f"{source} has format {version!r}; this version of headcats reads format {FORMAT}.{newer}")
    return stored


def _unreadable(source: str, error: Exception) -> StorageError:
    return StorageError(f"{source} cannot be read: {error}. Move the folder away and run again.")


def _damaged(source: str, problem: str) -> StorageError:
    return StorageError(f"{source} is damaged: {problem}. Move the folder away and run again.")
