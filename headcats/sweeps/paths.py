"""Choose the path of a sweep: a fast one where the self-check passed, ordinary hooked forwards otherwise."""

import warnings
import weakref
from dataclasses import dataclass
from typing import Any

from headcats.errors import ModelWarning, OptionError, UnknownNameError
from headcats.models.adapter import HookedModel
from headcats.models.replay.unreplayable import Unreplayable, check_replayable
from headcats.registry import unknown_name_message
from headcats.sweeps.runs import Run
from headcats.sweeps.self_check import path_of, self_check

PATHS = ("auto", "hooked", "last_position", "suffix")

_warned: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Choice:
    """The path that runs.

    Attributes:
        path: "hooked", "last_position" or "suffix".
        check: What the self-check of the fast path found, or why none was made.
    """

    path: str
    check: str


def check_path(path: str) -> None:
    """Refuse a name that is no path.

    Raises:
        UnknownNameError: The message lists near matches.
    """
    if path not in PATHS:
        raise UnknownNameError(unknown_name_message("path", path, PATHS))


def choose(run: Run, *, first: int, path: str = "auto") -> Choice:
    """The path for changes at positions `first` and later of a run.

    Args:
        run: The run that is intervened on.
        first: First position that can change.
        path: "auto" takes the fast path if it is exact on this model; "hooked" the reference; a fast path by its name
            must be the one for these positions, and exact.

    Raises:
        OptionError: A fast path by name that cannot run here; the message says why.
    """
    fast = path_of(first, run.tokens.shape[1])
    if path == "hooked":
        return Choice("hooked", "not needed: path='hooked' was asked for")
    if path not in ("auto", fast):
        raise OptionError(
            f"path={path!r} cannot run here: this intervention changes prompts of {run.tokens.shape[1]} tokens from "
            f"position {first} on, which is the work of path={fast!r}. Use path='auto'."
        )
    model = run.model
    try:
        check_replayable(model)
    except Unreplayable as reason:
        return _fall_back(model, path, f"not used: {reason}")
    outcome = self_check(model, run.tokens, first=first)
    return Choice(fast, str(outcome)) if outcome.passed else _fall_back(model, path, str(outcome))


def _fall_back(model: HookedModel, path: str, why: str) -> Choice:
    if path != "auto":
        raise OptionError(f"path={path!r} on model {model.name!r}: {why}. Use path='auto' or path='hooked'.")
    if why not in _warned.setdefault(model.model, set()):
        _warned[model.model].add(why)
        warnings.warn(
            f"Model {model.name!r} is swept by ordinary hooked forwards, which takes many times longer; the fast path "
            f"is {why}.",
            ModelWarning,
            stacklevel=6,
        )
    return Choice("hooked", why)
