"""Checks before a sweep: it refuses only what makes numbers meaningless."""

from collections.abc import Sequence
from typing import Any

from headcats.errors import DataError, OptionError
from headcats.models.adapter import adapt
from headcats.models.checks import check_model
from headcats.prompts.batch import PromptBatch
from headcats.registry import lookup
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.paths import check_path
from headcats.sweeps.runs import BaseRuns


def checked_runs(
    model: Any, batch: PromptBatch, *, metrics: Sequence[str], path: str, memory: str | int | None
) -> BaseRuns:
    """Runs, not made yet, of a batch that the model can take; anything else raises the errors of `hc.sweep`."""
    adapted = adapt(model)
    if not isinstance(batch, PromptBatch):
        raise DataError(
            f"batch must be a PromptBatch; got a {type(batch).__name__}. Make one of token ids with "
            "hc.PromptBatch.from_tokens(clean, corrupted, answer, distractor)."
        )
    if isinstance(metrics, str) or not metrics:
        raise OptionError(f"metrics must be a list of metric names, such as ['logit_diff']; got {metrics!r}.")
    for name in metrics:
        lookup("metric", name)
    check_path(path)
    check_model(adapted)
    for name in ("clean", "corrupted", "second"):
        tokens = getattr(batch, name)
        try:
            if tokens is not None:
                adapted.check_tokens(tokens)
        except DataError as error:
            raise DataError(f"The {name} prompts: {error}") from None
    for name, ids in (("answer", batch.answer), ("distractor", batch.distractor)):
        wrong = ((ids < 0) | (ids >= adapted.d_vocab)).nonzero().flatten().tolist()
        if wrong:
            raise DataError(
                f"{batch.keys[wrong[0]]!r}: {name} id {int(ids[wrong[0]])} is outside the vocabulary of "
                f"{adapted.name!r} (0 to {adapted.d_vocab - 1}); {len(wrong)} of {len(batch)} prompts."
            )
    return BaseRuns(adapted, batch, limit=memory)


def check_second(intervention: Intervention, batch: PromptBatch) -> None:
    """Refuse prompts without the second corruption that an intervention reads: nothing would change in them."""
    lacking = batch.lacks_second() if intervention.uses_second else []
    if lacking:
        raise DataError(
            f"{intervention.name} needs a second corruption, and {batch.keys[lacking[0]]!r} has none ({len(lacking)} "
            f"of {len(batch)} prompts). Give one to every prompt, PromptBatch.from_tokens(..., second=...), or leave "
            "such prompts out: batch.lacks_second() names them, batch.select(...) takes the others."
        )


def find_intervention(method: "str | Intervention") -> Intervention:
    """The intervention of a causal method, by name or as it is."""
    if isinstance(method, Intervention):
        return method
    if isinstance(method, str) and (":" in method or "@" in method):
        raise OptionError(
            f"A sweep takes the plain name of a method, got {method!r}: give positions=, reference= and other options "
            f"as arguments of their own. The short form is for hc.run."
        )
    item = lookup("method", method) if isinstance(method, str) else method
    intervention = getattr(item, "intervention", None)
    if isinstance(intervention, Intervention):
        return intervention
    if isinstance(method, str):
        raise OptionError(
            f"{method!r} does not intervene on heads, so it cannot be swept; call hc.methods.{method} itself."
        )
    raise OptionError(
        f"The method of a sweep is the name of a causal method or an Intervention; got a {type(method).__name__}. The "
        "order is hc.sweep(model, batch, method)."
    )
