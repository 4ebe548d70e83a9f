"""What the function probe sees of a text: head outputs at the tokens of its answer.

Ma et al. average z over the 5 semantically most important tokens of an answer, chosen by a second language model, which
cannot be repeated offline. Here they are the 5 answer tokens to which the model gives the lowest probability: function
words are easily guessed, the words that carry an answer are not. An answer of up to 5 tokens is used whole, as in the
paper's code. To select tokens yourself, mark them by the spans of `AnsweredText` and take all of them (`top_tokens=0`).

The answer is that of the text, read by the model (the paper reads z while the model writes its own), and z is taken at
the tokens themselves, not one position earlier where they are predicted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.errors import DataError, ModelError, pluralize
from headcats.methods.function_probe.settings import FunctionProbeSettings
from headcats.methods.function_probe.splits import in_order, usable_functions
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.hooks import Edit, hook_z
from headcats.prompts.answered import AnsweredBatch, AnsweredText, encode_answered
from headcats.prompts.drop_report import DropReport

# Texts per forward pass.
CHUNK = 32
_NO_EDITS: Mapping[int, Edit] = MappingProxyType({})


@dataclass(frozen=True)
class HeadFeatures:
    """Features of every head for every text, without the texts that were dropped."""

    values: Float[Tensor, "text head feature"]
    """fp32; the first half of `feature` is the head's z, the second the mean z over the heads of its layer, both
    averaged over the chosen answer tokens."""
    heads: tuple[Head, ...]
    texts: tuple[AnsweredText, ...]
    report: DropReport

    def at(self, texts: Bool[np.ndarray, " text"]) -> Float[Tensor, "_selected head feature"]:
        """Values of some of the texts."""
        return self.values[torch.from_numpy(texts).to(self.values.device)]


class PreparedTexts(NamedTuple):
    """Features of the texts of all functions that can be told apart."""

    features: HeadFeatures
    functions: tuple[str, ...]
    left_out: dict[str, str]
    """Function or task -> why it is missing."""


def prepare(
    model: HookedModel,
    texts: Sequence[AnsweredText],
    settings: FunctionProbeSettings,
    *,
    left_out: Mapping[str, str],
    advance: Callable[[float, str], None] = lambda share, step: None,
) -> PreparedTexts:
    """Features of the texts, without functions of too few items; a DataError if fewer than two functions are left.

    `left_out` names tasks without texts.
    """
    usable_functions(texts, least_items=settings.least_items)  # before the model runs
    features = head_features(
        model, texts, top_tokens=settings.top_tokens, advance=lambda share: advance(0.0, f"head outputs {share:.0%}")
    )
    functions, skipped = usable_functions(features.texts, least_items=settings.least_items)
    reasons = {
        name: f"{pluralize(items, 'query item')} of at least {settings.least_items}" for name, items in skipped.items()
    }
    for name in in_order(text.category for text in texts):
        if name not in (*functions, *skipped):
            reasons[name] = "none of its texts can be used"
    used = np.array([text.category in functions for text in features.texts])
    usable = tuple(text for text in features.texts if text.category in functions)
    features = replace(features, values=features.at(used), texts=usable)
    return PreparedTexts(features, functions, {**left_out, **reasons})


@torch.no_grad()
def head_features(
    model: HookedModel,
    texts: Sequence[AnsweredText],
    *,
    top_tokens: int,
    advance: Callable[[float], None] = lambda share: None,
) -> HeadFeatures:
    """Run the model over the texts and keep z at the answers, on the model's device; `top_tokens` as in the settings.

    A ModelError without tokenizer or for heads of different sizes in different layers, a DataError if no text can be
    used.
    """
    batches, report = encode_answered(texts, model.tokenizer, n_ctx=model.n_ctx)
    if len(set(model.d_head.values())) > 1:
        sizes = ", ".join(f"{size} in layer {layer}" for layer, size in model.d_head.items())
        raise ModelError(
            f"function_probe projects all heads by one linear map, so they must be of one size; model {model.name!r} "
            f"has heads of size {sizes}. Use another method."
        )
    if not batches:
        raise DataError(f"None of the {len(texts)} texts can be used: {report.summary()}.")
    # Texts are hashed slowly, and one may be given twice.
    values: dict[int, Tensor] = {}
    for part in in_chunks(batches):
        values |= zip(map(id, part.texts), _features(model, part, top_tokens), strict=True)
        advance(len(values) / len(texts))
    usable = tuple(text for text in texts if id(text) in values)
    return HeadFeatures(torch.stack([values[id(text)] for text in usable]), model.heads, usable, report)


def in_chunks(batches: Sequence[AnsweredBatch]) -> list[AnsweredBatch]:
    """The same texts, up to `CHUNK` in a batch."""
    return [
        batch.select(range(start, min(start + CHUNK, len(batch))))
        for batch in batches
        for start in range(0, len(batch), CHUNK)
    ]


def chosen_tokens(model: HookedModel, batch: AnsweredBatch, *, top_tokens: int) -> Bool[Tensor, "prompt pos"]:
    """True at the answer tokens to average over: the `top_tokens` least expected, the earlier of equals; 0 for all."""
    if not top_tokens or int(batch.targets.sum(1).max()) <= top_tokens:
        return batch.targets
    log_probs = answer_readings(model, batch).log_prob
    order = torch.where(batch.targets, log_probs, torch.inf).argsort(dim=1, stable=True)
    mask = torch.zeros_like(batch.targets).scatter(1, order[:, :top_tokens], True)
    return mask & batch.targets


def _features(model: HookedModel, batch: AnsweredBatch, top_tokens: int) -> Float[Tensor, "prompt head feature"]:
    mask = chosen_tokens(model, batch, top_tokens=top_tokens)
    first = int(mask.any(0).nonzero()[0])
    _, z = model.capture(batch.tokens, first=first)
    weights = mask[:, first:].float()
    weights = weights / weights.sum(1, keepdim=True)
    layers = []
    for layer in model.layers:
        pooled = torch.einsum("pk,pkhd->phd", weights.to(z[layer].device), z[layer].float())
        layers.append(torch.cat([pooled, pooled.mean(1, keepdim=True).expand_as(pooled)], dim=2).to(model.device))
    return torch.cat(layers, dim=1)


class AnswerReadings(NamedTuple):
    """What a model makes of the tokens of each answer, on the CPU."""

    log_prob: Float[Tensor, "prompt pos"]
    """Log-probability of each answer token given the text before it, in nats; 0 at other tokens."""
    right: Bool[Tensor, "prompt pos"]
    """Whether the answer token has the largest logit of the whole vocabulary; True at other tokens."""


@torch.no_grad()
def answer_readings(
    model: HookedModel, batch: AnsweredBatch, *, edits: Mapping[int, Edit] = _NO_EDITS
) -> AnswerReadings:
    """Read every answer token where it is predicted, one position earlier, in fp32; `edits` act on z by layer."""
    before = batch.targets.roll(-1, dims=1)
    logits = model.forward_at(batch.tokens, before, hooks={hook_z(layer): edit for layer, edit in edits.items()})
    prompt, pos = batch.targets.nonzero(as_tuple=True)
    token_ids = batch.tokens[prompt, pos].to(logits.device)
    log_prob = torch.zeros(batch.targets.shape)
    log_prob[prompt, pos] = logits.log_softmax(1).gather(1, token_ids[:, None])[:, 0].cpu()
    right = torch.ones_like(batch.targets)
    right[prompt, pos] = (logits.argmax(1) == token_ids).cpu()
    return AnswerReadings(log_prob, right)
