"""Options as fields of dataclasses, and those that decide what a results folder holds, which its manifest records."""

import inspect
import math
import re
import types
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from headcats.base.errors import OptionError, UnknownNameError, check_count, shown, unknown_name_message

T = TypeVar("T")
Answers = Literal["whole", "first_token", "single"]
"""Part of an answer that is scored: all of its tokens; the first one (Todd et al. 2024, arXiv 2310.15213); or its only
one, where longer answers are dropped."""
Corruption = Literal["other_task", "shuffled_labels"]
Stage = Literal["prompts", "plan", "validate", "run"]
"""The first of `hc.task_prompts`, `hc.plan`, `headcats validate` and `hc.run` that takes an option; later ones do so
too."""
_EXPECTED = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", list: "a list of texts"}


def option(
    default: T, stage: Stage, *, unset: str = "", check: Callable[[str, Any], None] | None = None, command: str = ""
) -> T:
    """Return a field of a class of options; the class docstring describes it, in the first sentence for `--help`.

    `stage` takes it first, None takes what `unset` says, `check` raises an OptionError for a name and a value out of
    range, and `command` adds to `--help`.
    """
    about = {"stage": stage, "unset": unset, "check": check, "command": command}
    made: T = field(default=default, metadata=about)
    return made


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option with its words; the other fields are as in `option`."""

    name: str
    type: Any
    default: Any
    text: str
    stage: Stage
    unset: str
    check: Callable[[str, Any], None] | None
    command: str

    @property
    def members(self) -> tuple[Any, ...]:
        """Types of its values but None."""
        is_union = get_origin(self.type) in (Union, types.UnionType)
        return tuple(each for each in (get_args(self.type) if is_union else (self.type,)) if each is not type(None))

    @property
    def words(self) -> tuple[str, ...]:
        """Words that it takes; () for other values."""
        return next((get_args(each) for each in self.members if get_origin(each) is Literal), ())

    @property
    def kind(self) -> type:
        """Type in which it is written down: bool, int, float, str, or list (of names)."""
        if str not in self.members and any(isinstance(get_origin(each), type) for each in self.members):
            return list
        return next((kind for kind in (str, bool, int, float) if kind in self.members), str)

    def check_kind(self, value: Any, *, place: str) -> None:
        """Raise an OptionError for a value of a file, the `place`, that is not written down as the option is."""
        allowed = {self.kind, *({int} if self.kind is float or int in self.members else ())}
        if type(value) not in allowed or (self.kind is list and not all(isinstance(name, str) for name in value)):
            expected = _EXPECTED[self.kind] + " or a whole number" * (self.kind is str and int in allowed)
            raise OptionError(f"{self.name} in {place} must be {expected}; got {value!r}.")

    def checked(self, value: Any) -> Any:
        """Return a value, a number as its kind; raise an UnknownNameError or OptionError for a wrong one."""
        if self.words and value not in (*self.words, self.default):
            raise UnknownNameError(unknown_name_message(self.name, str(value), self.words))
        if self.check is not None:
            self.check(self.name, value)
        return float(value) if self.kind is float and value is not None else value


def options_of(kind: type, until: Stage = "run") -> tuple[Option, ...]:
    """Return the options of a class that are taken at a stage."""
    texts: dict[str, str] = {}
    for each in kind.__mro__:
        entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", inspect.cleandoc(each.__doc__ or ""), re.MULTILINE)
        texts = {name: " ".join(text.split()) for name, text in entries} | texts
    stages = get_args(Stage)[: get_args(Stage).index(until) + 1]
    return tuple(
        Option(name=each.name, type=each.type, default=each.default, text=texts.get(each.name, ""), **each.metadata)
        for each in fields(kind)
        if each.metadata["stage"] in stages
    )


MOST_PROMPTS, MOST_DEMOS = 100_000, 1_000


def takes_count(least: int, most: int) -> Callable[[str, Any], None]:
    """Check of a whole number."""
    return lambda name, value: check_count(name, value, least=least, most=most)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check_seed(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise OptionError(f"{name} must be a whole number; got {shown(value)}.")
    if abs(value) >= 2**63:
        raise OptionError(f"{name} must be between -2^63 and 2^63, as results keep it in 64 bits; got {shown(value)}.")


def _check_share(name: str, value: Any) -> None:
    if not _is_number(value) or not 0 <= value <= 1:
        raise OptionError(f"{name} must be a number from 0 (no task is skipped for it) to 1; got {value!r}.")


def _check_nats(name: str, value: Any) -> None:
    if value is not None and not _is_number(value):
        raise OptionError(f"{name} must be a number, in nats, or None for the default of the suite; got {value!r}.")


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Options that the manifest records; a run with other values is refused the folder.

    Suite, metrics and template are names where they are recorded, and what these stand for while a study runs.

    Attributes:
        n_prompts: Scored prompts per task. 100 more per task are kept apart as reference (a task that has fewer is
            named in a warning).
        n_demos: Demonstrations per prompt.
        corruption: How corrupted prompts are made: other_task or shuffled_labels.
        answers: Scored tokens of an answer: whole, first_token, or single (answers of several tokens are dropped).
        seed: Seed of every random choice. Every random stream derives from it by name, so the order of tasks and
            methods does not matter.
        min_accuracy: Tasks with a lower accuracy on clean prompts are skipped. The answer is to be the likeliest one
            on as large a share of the prompts; 0 skips no task for it.
        min_logit_diff: Tasks whose logit difference on clean prompts, in nats, is not clearly above this are skipped.
            The 95 % interval of its mean is to be above: with `min_accuracy=0`, 0 admits tasks in which the model
            prefers the answer, solved or not, which is what "greater_than" and "agreement" take.
    """

    suite: Any = None
    metrics: Any = None
    template: Any = None
    # As many as a plain `headcats run` scores within 3 minutes on 2 cores.
    n_prompts: int = option(64, "prompts", check=takes_count(2, MOST_PROMPTS))
    n_demos: int = option(5, "prompts", check=takes_count(0, MOST_DEMOS))
    corruption: Corruption = option("other_task", "prompts")
    answers: Answers = option("whole", "prompts")
    seed: int = option(0, "prompts", check=_check_seed)
    min_accuracy: float = option(0.5, "validate", check=_check_share)
    min_logit_diff: float | None = option(
        None,
        "validate",
        unset="none",
        check=_check_nats,
        command="With --min-accuracy 0 it admits tasks that are not solved, but in which the model prefers the answer.",
    )

    def recorded(self) -> dict[str, Any]:
        """Return the recorded options by name."""
        return {each.name: getattr(self, each.name) for each in fields(PlanOptions)}
