"""Options that decide what a results folder holds: its manifest records them, and other values are refused."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, get_args

from headcats.bounds import check_count, shown
from headcats.errors import OptionError

T = TypeVar("T")
Answers = Literal["whole", "first_token", "single"]
"""How much of an answer is scored: all of its tokens; the first one (Todd et al. 2024, arXiv 2310.15213); or its only
one, where longer answers are dropped."""
Corruption = Literal["other_task", "shuffled_labels"]
Store = Literal["whole", "compact"]
"""How blocks are written."""
Stage = Literal["prompts", "plan", "validate", "run"]
"""The first of `hc.task_prompts`, `hc.plan`, `headcats validate` and `hc.run` that takes an option."""
STAGES: tuple[Stage, ...] = get_args(Stage)


def option(
    default: T,
    help: str,
    *,
    stage: Stage = "run",
    unset: str = "",
    check: Callable[[str, Any], None] = lambda name, value: None,
    python: str = "",
    command: str = "",
    flags: tuple[str, ...] = (),
    flag_sets: bool = True,
) -> T:
    """One field of a class of options: a keyword in Python, an option of the commands, and a key of study.toml.

    Args:
        default: Its value where nobody sets it and no bundled suite does.
        help: A sentence without its dot.
        stage: The first function that takes it; later ones do so too.
        unset: What None takes.
        check: Raises an OptionError for a name and a value of the right type that is out of range.
        python: Further sentences of the docstring.
        command: Further sentences of `--help`.
        flags: How it is written on the command line; () for `--name-of-field`.
        flag_sets: What a flag sets, of an option that is True or False.
    """
    about = {"help": help, "stage": stage, "unset": unset, "check": check, "python": python, "command": command}
    made: T = field(default=default, metadata=about | {"flags": flags, "flag_sets": flag_sets})
    return made


def takes_count(least: int) -> Callable[[str, Any], None]:
    """Check of a whole number."""
    return lambda name, value: check_count(name, value, least=least, most=math.inf)


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

    The first three are names where they are recorded, and what the names stand for while a study runs.
    """

    suite: Any = None
    metrics: Any = None
    template: Any = None
    n_prompts: int = option(
        64,  # as many as a plain `headcats run` scores within 3 minutes on 2 cores
        "Scored prompts per task",
        stage="prompts",
        check=takes_count(2),
        python="100 more per task are kept apart as reference (a task that has fewer is named in a warning).",
    )
    n_demos: int = option(5, "Demonstrations per prompt", stage="prompts", check=takes_count(0))
    corruption: Corruption = option(
        "other_task", "How corrupted prompts are made: other_task or shuffled_labels", stage="prompts"
    )
    answers: Answers = option(
        "whole",
        "Scored tokens of an answer: whole, first_token, or single (answers of several tokens are dropped)",
        stage="prompts",
    )
    seed: int = option(
        0,
        "Seed of every random choice",
        stage="prompts",
        check=_check_seed,
        python="Every random stream derives from it by name, so the order of tasks and methods does not matter.",
    )
    min_accuracy: float = option(
        0.5,
        "Tasks with a lower accuracy on clean prompts are skipped",
        stage="validate",
        check=_check_share,
        python="The answer is to be the likeliest one on as large a share of the prompts; 0 skips no task for it.",
    )
    min_logit_diff: float | None = option(
        None,
        "Tasks whose logit difference on clean prompts, in nats, is not clearly above this are skipped",
        stage="validate",
        unset="none",
        check=_check_nats,
        python="A task is skipped unless the 95 % interval of its mean is above it: with `min_accuracy=0`, 0 admits "
        'tasks in which the model prefers the answer, solved or not, which is what "greater_than" and "agreement" '
        "take.",
        command="With --min-accuracy 0 it admits tasks that are not solved, but in which the model prefers the answer.",
    )

    def recorded(self) -> dict[str, Any]:
        """The recorded options by name."""
        return {each.name: getattr(self, each.name) for each in fields(PlanOptions)}
