"""Choose the path of a sweep: a fast one where its self-check passed, ordinary hooked forwards otherwise.

A fast path can be wrong without an error, for example where a block gets the position of every token in a form that
nobody foresaw. So before its numbers are used, two heads of the first and one of the middle and the last layer are
replaced, one at a time and together, on two prompts, and all logits are compared with those of hooked forwards.
"""

import re
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headcats.base.errors import ModelWarning, UnknownNameError, first_line, unknown_name_message
from headcats.base.guard import is_out_of_memory
from headcats.models.adapter import HookedModel
from headcats.models.continued import PADDING, Continued
from headcats.models.head import Head
from headcats.models.replay.record import check_replayable, record
from headcats.models.replay.recording import Unreplayable
from headcats.sweeps.hooked import hooked_logits
from headcats.sweeps.intervention import Change
from headcats.sweeps.replayed import replayed_residual
from headcats.sweeps.tree import HeadSet

PATHS = ("auto", "hooked")
Path = Literal["last_position", "suffix"]
_CHECKED_PROMPTS = 2


@dataclass(frozen=True)
class Choice:
    """The path that runs, and what the self-check of the fast path gave, or why none was made."""

    path: str
    check: str


@dataclass(frozen=True)
class Outcome:
    """Comparison of the fast path with the hooked one: if they agree, and if not, why."""

    passed: bool
    reason: str = ""
    difference: float = float("nan")
    """Largest absolute difference of a logit between the paths."""
    effect: float = float("nan")
    """Largest change of a logit that the replaced heads make: what the difference is to be compared with."""
    lasting: bool = True
    """True if it says something of the model, not of these prompts or of the memory that was free."""

    def __str__(self) -> str:
        if self.passed:
            return f"passed: largest difference {self.difference:.1e} beside an effect of {self.effect:.1e}"
        return f"not used: {self.reason}"


_warned: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()
_outcomes: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], tuple[int, Outcome]]] = weakref.WeakKeyDictionary()


def check_path(path: str) -> None:
    """Refuse a name that is no path."""
    if path not in PATHS:
        raise UnknownNameError(unknown_name_message("path", path, PATHS))


def choose(model: HookedModel, continued: Continued, *, change: Change, path: str = "auto") -> Choice:
    """The path for a change in the prompts that are intervened on.

    "auto" takes the fast path if it is exact on this model, "hooked" the reference.
    """
    if path == "hooked":
        return Choice("hooked", "not needed: path='hooked' was asked for")
    try:
        check_replayable(model)
        outcome = self_check(model, continued, change=change)
    except Unreplayable as problem:
        outcome = Outcome(False, str(problem))
    reason = str(outcome)
    if outcome.passed:
        return Choice(path_of(change.first, continued.length), reason)
    # Once for checks of several positions, which fail by other amounts.
    said = re.sub(r"\d\.\de[-+]\d+", "", reason)
    if said not in _warned.setdefault(model.model, set()):
        _warned[model.model].add(said)
        warnings.warn(
            f"Model {model.name!r} is swept by ordinary hooked forwards, which takes many times longer; the fast path "
            f"is {reason}.",
            ModelWarning,
            stacklevel=6,
        )
    return Choice("hooked", reason)


def self_check(model: HookedModel, continued: Continued, *, change: Change) -> Outcome:
    """Compare the fast path of a change with hooked forwards, once per model, path and kind of shape.

    A prompt longer than any checked before is checked again, as it may exceed an attention window; so is a model that
    got hooks of PyTorch since.
    """
    length = continued.length + continued.steps
    precision = (str(model.dtype), str(model.device))
    filled = (continued.prompts == PADDING).sum(1)
    several = len(continued) > 1, bool(filled.any())
    shape = (change.first > 0, change.alone, *several, continued.steps)
    kind = (path_of(change.first, continued.length), *shape, length.bit_length(), *precision, _torch_hooks(model))
    checks = _outcomes.setdefault(model.model, {})
    if kind in checks and checks[kind][0] >= length:
        return checks[kind][1]
    # Of prompts of several lengths the longest and the shortest, whose masks and positions differ most.
    few = [int(filled.argmin()), int(filled.argmax())] if filled.any() else list(range(len(continued)))
    outcome = _check(model, continued.select(few[:_CHECKED_PROMPTS]), change)
    if outcome.lasting:
        checks[kind] = length, outcome
    return outcome


def forget(model: HookedModel) -> None:
    """Check the model again before a fast path is used on it next."""
    _outcomes.pop(model.model, None)


def path_of(first: int, length: int) -> Path:
    """Name of the fast path for changes from position `first` on."""
    return "last_position" if first == length - 1 else "suffix"


@torch.no_grad()
def _check(model: HookedModel, continued: Continued, change: Change) -> Outcome:
    layers = [model.layers[0], model.layers[len(model.layers) // 2], model.layers[-1]]
    heads = [Head(layer, n * (model.n_heads[layer] - 1) // 2) for n, layer in enumerate(layers)]
    # Of two rows in the first block, one is not the last: what acts on the last position alone would not reach it.
    heads.append(Head(layers[0], model.n_heads[layers[0]] - 1))
    sets: list[HeadSet] = list(dict.fromkeys([*((head,) for head in heads), tuple(sorted(set(heads)))]))
    mask = torch.ones(len(continued), continued.packed_length - change.first, dtype=torch.bool)
    mask[:, 1:] = not change.alone
    try:
        recording = record(model, continued, first=change.first)
        # The negative of z is never z itself, and no larger.
        new = {layer: -recording.z[layer] for layer in layers}
        residual = replayed_residual(recording, sets, new.__getitem__, mask=mask, n_layers=model.n_layers)
        fast = recording.read(residual.flatten(0, 2)).unflatten(0, residual.shape[:3])
        unpatched = recording.read(recording.final.flatten(0, 1)).unflatten(0, recording.final.shape[:2])
        ids = fast[:, 0, 0].topk(2).indices
        few_logits = recording.read_some(residual[:, :, 0], ids)
    except Unreplayable as problem:
        return Outcome(False, str(problem))
    except Exception as error:  # noqa: BLE001 - whatever a block says to shapes that it does not expect
        if is_out_of_memory(error):
            return Outcome(False, "memory ran out during its check", lasting=False)
        return Outcome(False, f"its blocks cannot be run on their own ({type(error).__name__}: {first_line(error)})")

    def exact_logits(z: Mapping[int, Tensor]) -> Float[Tensor, "prompt set read vocab"]:
        """One set at a time."""
        passes = [hooked_logits(model, continued, [heads], z.__getitem__, mask) for heads in sets]
        return torch.stack([continued.pack(logits) for logits in passes], 1)

    base = continued.pack(model.forward_last(continued.rows, continued.steps + 1, hooks={}))
    exact = exact_logits(new)
    effect = float((exact - base[:, None]).abs().max())
    limit = _limit(model, new, exact_logits, exact, effect)
    pairs = ((fast, exact), (unpatched, base), (recording.logits, base[:, 0]))
    differences = [(quick.to(slow.device) - slow).abs().max() for quick, slow in pairs]
    if few_logits is not None:
        expected = exact[:, :, 0].gather(2, ids.to(exact.device)[:, None].expand(-1, exact.shape[1], -1))
        differences.append((few_logits.to(exact.device) - expected).abs().max())
    difference = float(torch.stack([largest.cpu() for largest in differences]).max())  # NaN stays NaN
    reason = ""
    if not effect > limit:
        reason = f"the check is empty, since replacing heads changes logits by {effect:.1e} only"
    elif not difference <= limit:
        reason = f"it differs from the hooked path by {difference:.1e}, where {limit:.1e} is allowed"
    return Outcome(not reason, reason, difference, effect, lasting=effect > limit)


def _torch_hooks(model: HookedModel) -> int:
    """Number of hooks of PyTorch itself on modules of the model: a new one may act on what a path leaves out."""
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks)
        for module in model.model.modules()
        if type(module).__name__ != "HookPoint"
    )


def _limit(
    model: HookedModel,
    new: Mapping[int, Tensor],
    exact_logits: Callable[[Mapping[int, Tensor]], Tensor],
    exact: Tensor,
    effect: float,
) -> float:
    """Difference that is allowed: rounding, as large as the hooked path's own where its dtype is short.

    How far two ways to compute the same differ in 16 bits shows when the new head outputs move by about one rounding.
    """
    if torch.finfo(model.dtype).bits > 16:
        return 1e-4 + 1e-3 * effect
    again = exact_logits({layer: z * (1 + 2 * torch.finfo(z.dtype).eps) for layer, z in new.items()})
    rounding = 4 * torch.finfo(model.dtype).eps * float(exact.abs().max())
    return 4 * float((again - exact).abs().max()) + rounding
