"""Records of a manifest, one kind for each kind of entry; what an entry on disk lacks has its default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from headcats.results.options import PlanOptions
from headcats.results.typed import Record


@dataclass(frozen=True, kw_only=True)
class PlanRecord(PlanOptions, Record):
    """Options of the plan that all blocks of a folder share, with names of suite, metrics and template."""

    suite: str = ""
    metrics: tuple[str, ...] = ()
    template: str = ""


_IDENTITY = ("weights_hash", "model_class", "weight_processing", "dtype")


@dataclass(frozen=True)
class ModelRecord(Record):
    """Identity of a model."""

    name: str = ""  # name, or the folder that it was loaded from
    revision: str | None = None  # commit on the Hugging Face hub; None for a local or bundled model
    weights_hash: str = ""
    model_class: str = ""
    weight_processing: str = ""  # changes to the weights while they were loaded
    dtype: str = ""  # number type, such as "float32"
    device: str = ""
    layers: tuple[int, ...] = ()  # layers that have attention heads
    heads: tuple[int, ...] = ()  # heads in each of these layers
    n_layers: int = 0  # blocks, those without attention heads too
    d_model: int = 0  # width of the residual stream
    parallel_attn_mlp: bool = False
    """True if attention and MLP of a block read the same residual stream."""
    source: str = ""
    """Name of a bundled model or of one on the hub, or the path of a folder from the results folder, which begins with
    a dot; "" for a model that the program made."""
    loader: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments that it was loaded with, such as `device_map`."""
    tokenizer: str = ""  # name or folder of its tokenizer, as `source`; "" for its own

    def with_sources(self, changed: Callable[[str], str]) -> "ModelRecord":
        """Copy with other names or paths of the model and its tokenizer."""
        return replace(self, source=changed(self.source), tokenizer=changed(self.tokenizer))

    @property
    def identity(self) -> str:
        """Identity of a model, as blocks note it; name, revision and machine do not count."""
        return " ".join(getattr(self, name) for name in _IDENTITY)

    def identity_differences(self, second: "ModelRecord") -> dict[str, tuple[Any, Any]]:
        """Fields of the identity in which a second model differs."""
        return self.differences(second, names=_IDENTITY)


@dataclass(frozen=True)
class CategoryRecord(Record):
    """A category of the suite, with its colour in figures."""

    name: str
    colour: str


SOLVED = 0.5
"""Accuracy from which on a model solves a task."""
NOT_USED = "more than a study uses"
"""Reason for which a row of a large file is not drawn; nothing is wrong with it."""


@dataclass(frozen=True)
class DropCounts(Record):
    """Rows of the file, word pairs or prompts of a task."""

    ALWAYS = ("kept", "dropped", "examples")

    kept: int | None = None  # number that is used; None where nothing is counted
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Reason -> how many were dropped for it."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """Reason -> the first that was dropped."""

    @property
    def total(self) -> int:
        """Used and dropped together."""
        return sum(self.dropped.values(), self.kept or 0)


LEAST_PROMPTS_PER_ROLE = 16
"""Reference prompts of a task that a mean needs."""
# Of fewer, all may be about query items of one half.
_LEAST_LEFT = 4
LONG_ANSWER = 12
"""Tokens beyond which an answer is named: most are explanations."""


@dataclass(frozen=True)
class GivenAnswer(Record):
    """Answer that the model gives in place of the right one."""

    prompt: str  # the query of a clean prompt, or the end of a finished one
    expected: str
    given: str  # the greedy continuation, as many tokens as are expected


@dataclass(frozen=True)
class TaskRecord(Record):
    """A task of the run; what was not measured is None."""

    ALWAYS = ("category", "source", "refusal")

    category: str = ""
    source: str = ""  # source of its words; of a file, with the layout that was recognised
    word_pairs: DropCounts = field(default_factory=DropCounts)
    prompts: DropCounts = field(default_factory=DropCounts)  # scored prompts
    reference_prompts: DropCounts = field(default_factory=DropCounts)
    """Prompts for means and resampling."""
    refusal: str = ""  # reason for skipping the task, or ""
    refused_by: str = ""
    """Condition that it fails: "prompts" (none), "min_accuracy", "min_logit_diff", "gap" or "demonstrations"."""
    accuracy: float | None = None
    """Share of clean prompts whose most likely next token is the answer."""
    corrupted_accuracy: float | None = None  # the same for the corrupted prompts
    metric: str | None = None  # metric of the gap
    gap: float | None = None
    """Mean clean minus corrupted metric, with its 95 % interval `low` to `high` (bootstrap of query items)."""
    low: float | None = None
    high: float | None = None
    n_items: int | None = None  # different queries
    corruption: str = ""
    """Corruption of its prompts, where it is not as the plan says: no other task could corrupt them."""
    given_answers: tuple[GivenAnswer, ...] = ()
    """Answers of the model on a few prompts of a task that it cannot do."""
    independent_source: str = ""
    """Source that it belongs to: the group that the user names, or else the first task of the source; "" where nothing
    is known, and the task is a source of its own."""
    joined_by: str = ""
    """What it shares with other tasks of its source, such as "inputs, answers"; "" of a task alone."""
    linked: tuple[str, ...] = ()
    """Tasks of other sources that share a third of its inputs or answers."""
    template: str = ""
    """Template of its prompts; of finished ones the words that nearly all clean prompts have."""
    prompt_tokens: float | None = None  # mean length of the clean scored prompts
    answer_tokens: float | None = None  # mean length of their answers
    distractors: tuple[str, ...] = ()
    """Tasks that the corrupted scored prompts show, or names of corruptions."""
    near_duplicates: int = 0
    """Finished prompts whose answer, distractor and differing words a prompt of another item has too."""
    prompt_hash: tuple[str, ...] | None = None
    """Fingerprint of every batch of scored prompts; None for a task without prompts."""
    rows: DropCounts = field(default_factory=DropCounts)
    """Rows of its file; nothing is counted of a task that is not from a file."""
    has_gap: bool = False
    """True if a task that fails `min_accuracy` passes min_accuracy=0, min_logit_diff=0, and has a gap."""

    n_left: int | None = None
    """Finished prompts that are neither scored nor reference; None of a task of word pairs."""

    @property
    def is_used_up(self) -> bool:
        """True if it is a list of finished prompts that leaves too few for `headcats evidence`."""
        return self.n_left is not None and self.n_left < _LEAST_LEFT

    @property
    def is_solved(self) -> bool:
        """True if the model is right on half of the clean prompts; True where it was not measured."""
        return self.accuracy is None or self.accuracy >= SOLVED


COUNTED = ("rows", "word_pairs", "prompts", "reference_prompts")
"""Fields of a task that count what is kept and dropped."""


@dataclass(frozen=True)
class BlockRecord(Record):
    """A part of a method: a task, or of a joint method a relation or a seed."""

    ALWAYS = ("fingerprint",)

    fingerprint: str = ""  # hash of all that its numbers depend on besides the model
    path: str = ""  # path by which the numbers were computed, such as "last_position" or "hooked"
    self_check: str = ""  # outcome of the comparison with plain hooks; "" where none was needed
    approximation: str = ""  # the first-order approximation that was used; "" for exact effects
    seconds: float | None = None
    """Seconds it took; None where a run was stopped before it could say."""
    device: str = ""
    """Device of the workers of a cluster that computed it; "" for that of the process of the run, see `model`."""
    dropped: int = 0  # prompts that were left out
    refusal: str = ""  # reason for skipping the method on this task, or ""
    checksum: str = ""  # checksum of its file; "" for a part of a joint method
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the packages, threads and precision, where they are not those of the folder."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Further attributes that the method gives its numbers."""

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], *, place: str = "") -> "BlockRecord":
        """From the entry on disk, where the provenance stands beside the other fields."""
        own_fields = {each.name for each in fields(cls)}
        provenance = {key: value for key, value in stored.items() if key not in own_fields}
        return super().from_dict({**stored, "provenance": provenance}, place=place)

    def to_dict(self) -> dict[str, Any]:
        """The entry on disk."""
        entry = super().to_dict()
        return entry | entry.pop("provenance", {})


@dataclass(frozen=True)
class MethodRecord(Record):
    """A method and its parts: the tasks that it scores one by one, or of a joint method relations, seeds or others."""

    ALWAYS = ("parts",)

    parts: Mapping[str, BlockRecord] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    """Category of every task that a joint method was run on; none of other methods."""

    @property
    def is_joint(self) -> bool:
        """True if its parts are not tasks."""
        return bool(self.tasks)

    def skipped(self) -> dict[str, str]:
        """Part -> why it was skipped."""
        return {part: entry.refusal for part, entry in self.parts.items() if entry.refusal}
