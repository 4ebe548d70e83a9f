"""Records of a manifest, one kind for each kind of entry; what an entry on disk lacks has its default."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

# Not typing.Self, which the shape checks of the tests refuse outside of a decorated class.
R = TypeVar("R", bound="Record")


@dataclass(frozen=True)
class Record:
    """An entry of the manifest."""

    @classmethod
    def from_dict(cls: type[R], stored: Mapping[str, Any]) -> R:
        """From the entry on disk; lists become tuples, and keys without a field are left out."""
        names = {each.name for each in fields(cls)}
        entries = {name: value for name, value in stored.items() if name in names}
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in entries.items()})

    def to_dict(self, *, always: Iterable[str] = ()) -> dict[str, Any]:
        """The entry on disk: fields that differ from their defaults, and those of `always`."""
        entry = {}
        for each in fields(self):
            value = getattr(self, each.name)
            default = each.default if each.default_factory is MISSING else each.default_factory()
            if each.name in always or value != default:
                entry[each.name] = _plain(value)
        return entry

    def complete(self) -> dict[str, Any]:
        """Every field, as it is on disk."""
        return self.to_dict(always=[each.name for each in fields(self)])

    def differences(self: R, second: R, *, names: Iterable[str] | None = None) -> dict[str, tuple[Any, Any]]:
        """Field -> its value in this and in a second record, where they differ.

        Args:
            second: A record of the same kind.
            names: Fields that count; None for all.
        """
        first, last = self.complete(), second.complete()
        return {name: (first[name], last[name]) for name in names or first if first[name] != last[name]}


@dataclass(frozen=True)
class PlanRecord(Record):
    """Parts of the plan that all blocks of a folder share, named as the options of `hc.run`."""

    suite: str = ""
    metrics: tuple[str, ...] = ()
    n_prompts: int | None = None
    n_demos: int | None = None
    template: str = ""
    corruption: str = ""
    seed: int | None = None


@dataclass(frozen=True)
class ModelRecord(Record):
    """Identity of a model.

    Attributes:
        name: Name, or the folder that it was loaded from.
        revision: Commit on the Hugging Face hub; None for a local or bundled model.
        weights_hash: Hash of the weights.
        model_class: Class of the adapted model.
        weight_processing: What was done to the weights while they were loaded.
        dtype: Number type, such as "float32".
        device: Where it ran.
        layers: Layers that have attention heads.
        heads: Heads in each of these layers.
    """

    name: str = ""
    revision: str | None = None
    weights_hash: str = ""
    model_class: str = ""
    weight_processing: str = ""
    dtype: str = ""
    device: str = ""
    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()

    def identity_differences(self, second: "ModelRecord") -> dict[str, tuple[Any, Any]]:
        """What makes a second model another one; name, revision and machine do not count."""
        return self.differences(second, names=("weights_hash", "model_class", "weight_processing", "dtype"))


@dataclass(frozen=True)
class CategoryRecord(Record):
    """A category of the suite, with its colour in figures."""

    name: str
    colour: str


@dataclass(frozen=True)
class DropCounts(Record):
    """Word pairs or prompts of a task.

    Attributes:
        kept: How many are used; None where the folder does not say.
        dropped: Reason -> how many were dropped for it.
        examples: Reason -> the first that was dropped.
    """

    kept: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskRecord(Record):
    """A task of the run; what was not measured is None.

    Attributes:
        category: Its category.
        source: Where its words come from.
        word_pairs: Word pairs kept and dropped.
        prompts: Scored prompts.
        reference_prompts: Prompts for means and resampling.
        refusal: Why the task was skipped, or "".
        accuracy: Share of clean prompts whose most likely next token is the answer.
        corrupted_accuracy: The same for the corrupted prompts.
        metric: Metric of the gap.
        gap: Mean clean minus corrupted metric, with its 95 % interval `low` to `high` (bootstrap of query items).
        n_items: Different queries.
        prompt_hash: Fingerprint of every batch of scored prompts; None for a task without prompts.
    """

    category: str = ""
    source: str = ""
    word_pairs: DropCounts = field(default_factory=DropCounts)
    prompts: DropCounts = field(default_factory=DropCounts)
    reference_prompts: DropCounts = field(default_factory=DropCounts)
    refusal: str = ""
    accuracy: float | None = None
    corrupted_accuracy: float | None = None
    metric: str | None = None
    gap: float | None = None
    low: float | None = None
    high: float | None = None
    n_items: int | None = None
    prompt_hash: tuple[str, ...] | None = None

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "TaskRecord":
        """From the entry on disk."""
        names = [name for name in ("word_pairs", "prompts", "reference_prompts") if name in stored]
        return super().from_dict({**stored, **{name: DropCounts.from_dict(stored[name]) for name in names}})

    def to_dict(self, *, always: Iterable[str] = ("category", "source", "refusal")) -> dict[str, Any]:
        """The entry on disk, and of `validate`."""
        return super().to_dict(always=always)


@dataclass(frozen=True)
class BlockRecord(Record):
    """A method on one task.

    Attributes:
        fingerprint: Hash of all that its numbers depend on besides the model.
        path: How the numbers were computed, such as "last_position" or "hooked".
        self_check: What the comparison with plain hooks gave; "" where none was needed.
        approximation: The first-order approximation that was used; "" for exact effects.
        seconds: How long it took; None where a run was stopped before it could say.
        dropped: Prompts that were left out.
        refusal: Why the method was skipped on this task, or "".
        versions: Versions of the packages, where they are not those of the folder.
        provenance: What else the method says of its numbers.
    """

    fingerprint: str = ""
    path: str = ""
    self_check: str = ""
    approximation: str = ""
    seconds: float | None = None
    dropped: int = 0
    refusal: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "BlockRecord":
        """From the entry on disk, where the provenance stands beside the other fields."""
        own_fields = {each.name for each in fields(cls)}
        return super().from_dict(
            {**stored, "provenance": {key: value for key, value in stored.items() if key not in own_fields}}
        )

    def to_dict(self, *, always: Iterable[str] = ("fingerprint",)) -> dict[str, Any]:
        """The entry on disk."""
        entry = super().to_dict(always=always)
        return entry | entry.pop("provenance", {})


@dataclass(frozen=True)
class PartRecord(Record):
    """One part (a relation, a seed) of a joint method; fields as in `BlockRecord`."""

    fingerprint: str = ""
    refusal: str = ""
    seconds: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JointRecord(Record):
    """A joint method: its parts, and the category of every task that it was run on."""

    parts: Mapping[str, PartRecord] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)

    def skipped(self) -> dict[str, str]:
        """Part -> why it was skipped."""
        return {part: entry.refusal for part, entry in self.parts.items() if entry.refusal}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "JointRecord":
        """From the entry on disk."""
        parts = {part: PartRecord.from_dict(entry) for part, entry in stored.get("parts", {}).items()}
        return cls(parts, dict(stored.get("tasks", {})))

    def to_dict(self, *, always: Iterable[str] = ("parts",)) -> dict[str, Any]:
        """The entry on disk."""
        return super().to_dict(always=always)


def _plain(value: Any) -> Any:
    """Lists for tuples, entries for records."""
    if isinstance(value, Record):
        return value.complete() if isinstance(value, DropCounts) else value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value
