"""Texts of functions as features of heads, ready for the probes of every seed."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch

from headcats.errors import pluralize
from headcats.methods.function_probe.features import HeadFeatures, head_features
from headcats.methods.function_probe.names import in_order
from headcats.methods.function_probe.settings import FunctionProbeSettings
from headcats.methods.function_probe.splits import usable_functions
from headcats.models.adapter import HookedModel
from headcats.prompts.answered import AnsweredText


class PreparedTexts(NamedTuple):
    """Features of the texts of all functions that can be told apart."""

    features: HeadFeatures
    functions: tuple[str, ...]
    left_out: dict[str, str]
    """Function or task -> why it is not there."""


def prepare(
    model: HookedModel,
    texts: Sequence[AnsweredText],
    settings: FunctionProbeSettings,
    *,
    left_out: Mapping[str, str],
    advance: Callable[[float, str], None] = lambda share, what: None,
) -> PreparedTexts:
    """Features of the texts, without functions of too few items.

    Args:
        model: The model.
        texts: Texts with marked answers; `category` is the function.
        settings: Of the probe.
        left_out: Tasks that gave no text -> why.
        advance: Told what is being done.

    Raises:
        DataError: Fewer than two functions are left.
    """
    usable_functions(texts, least_items=settings.least_items)  # before the model runs
    features = head_features(
        model, texts, top_tokens=settings.top_tokens, advance=lambda share: advance(0.0, f"head outputs {share:.0%}")
    )
    functions, skipped = usable_functions(features.texts, least_items=settings.least_items)
    usable = [place for place, text in enumerate(features.texts) if text.category in functions]
    reasons = {
        name: f"{pluralize(items, 'query item')} of at least {settings.least_items}" for name, items in skipped.items()
    }
    # Where no text is left of a function, its tasks are not named either.
    functions_of_texts = in_order({text.category for text in texts})
    reasons |= {
        name: "none of its texts can be used" for name in functions_of_texts if name not in (*functions, *skipped)
    }
    used = HeadFeatures(
        features.values[torch.tensor(usable)], features.heads, tuple(features.texts[i] for i in usable), features.report
    )
    return PreparedTexts(used, functions, {**left_out, **reasons})
