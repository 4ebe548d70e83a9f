"""Records of a manifest, one kind for each kind of entry; what an entry on disk lacks has its default."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, TypeVar

# Not typing.Self, which the shape checks of the tests refuse outside of a decorated class.
R = TypeVar("R", bound="Record")


@dataclass(frozen=True)
class Record:
    """An entry of the manifest."""

    ALWAYS: ClassVar[tuple[str, ...]] = ()
    """Fields that are on disk even where they have their default."""

    @classmethod
    def from_dict(cls: type[R], stored: Mapping[str, Any]) -> R:
        """From the entry on disk; lists become tuples, and keys without a field are left out."""
        known = {each.name: each for each in fields(cls)}
        return cls(**{name: _restored(known[name], value) for name, value in stored.items() if name in known})

    def to_dict(self) -> dict[str, Any]:
        """The entry on disk: fields that differ from their defaults, and those of `ALWAYS`."""
        changed = [each.name for each in fields(self) if getattr(self, each.name) != _default(each)]
        return {name: value for name, value in self.complete().items() if name in (*changed, *self.ALWAYS)}

    def complete(self) -> dict[str, Any]:
        """Every field, as it is on disk."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}

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

    ALWAYS = ("kept", "dropped", "examples")

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

    ALWAYS = ("category", "source", "refusal")

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


@dataclass(frozen=True)
class BlockRecord(Record):
    """A method on one task, or one part (a relation, a seed) of a joint method.

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

    ALWAYS = ("fingerprint",)

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

    def to_dict(self) -> dict[str, Any]:
        """The entry on disk."""
        entry = super().to_dict()
        return entry | entry.pop("provenance", {})


@dataclass(frozen=True)
class JointRecord(Record):
    """A joint method: its parts, and the category of every task that it was run on."""

    ALWAYS = ("parts",)

    parts: Mapping[str, BlockRecord] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)

    def skipped(self) -> dict[str, str]:
        """Part -> why it was skipped."""
        return {part: entry.refusal for part, entry in self.parts.items() if entry.refusal}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "JointRecord":
        """From the entry on disk."""
        parts = {part: BlockRecord.from_dict(entry) for part, entry in stored.get("parts", {}).items()}
        return cls(parts, dict(stored.get("tasks", {})))


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _restored(each: Field[Any], value: Any) -> Any:
    """A value on disk as the field holds it."""
    if isinstance(each.default_factory, type) and issubclass(each.default_factory, Record):
        return each.default_factory.from_dict(value)
    return tuple(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """Lists for tuples, entries for records."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value
