"""What the function probe sees of a text: head outputs where its answer is predicted, or at the answer itself.

z at an answer token holds which word it is; where the token is predicted, what the model made of the text before it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.base.errors import DataError, ModelError, pluralize
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.hooks import capturing_z, keeping
from headcats.papers.chosen_logits import logits_at
from headcats.papers.function_probe.settings import FunctionProbeSettings
from headcats.papers.function_probe.splits import in_order, usable_functions
from headcats.prompts.answered import AnsweredBatch, AnsweredText, encode_answered
from headcats.prompts.drop_report import DropReport

_EMBEDDING = "hook_embed"
# Texts per forward pass.
CHUNK = 32


@dataclass(frozen=True)
class HeadFeatures:
    """Features of every head for every text, without the texts that were dropped."""

    values: Float[Tensor, "text head feature"]
    """fp32; the first half of `feature` is the head's z, the second the mean z over the heads of its layer, both
    averaged over the chosen answer tokens."""
    words: Float[Tensor, "text d_model"]
    """fp32; the embedding of the chosen answer tokens, averaged over them: the words, and nothing of the prompt."""
    heads: tuple[Head, ...]
    texts: tuple[AnsweredText, ...]
    report: DropReport

    def at(self, texts: Bool[np.ndarray, " text"]) -> "HeadFeatures":
        """Select some of the texts."""
        places = torch.from_numpy(texts).to(self.values.device)
        kept = tuple(text for text, is_kept in zip(self.texts, texts, strict=True) if is_kept)
        return replace(self, values=self.values[places], words=self.words[places], texts=kept)


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
    """Features of the texts, without functions of too few items; `left_out` names tasks without texts."""
    usable_functions(texts, least_items=settings.least_items)  # before the model runs
    features = head_features(
        model, texts, settings=settings, advance=lambda share: advance(0.0, f"head outputs {share:.0%}")
    )
    functions, skipped = usable_functions(features.texts, least_items=settings.least_items)
    reasons = {
        name: f"{pluralize(items, 'query item')} of at least {settings.least_items}" for name, items in skipped.items()
    }
    for name in in_order(text.category for text in texts):
        if name not in (*functions, *skipped):
            reasons[name] = "none of its texts can be used"
    used = np.array([text.category in functions for text in features.texts])
    return PreparedTexts(features.at(used), functions, {**left_out, **reasons})


@torch.no_grad()
def head_features(
    model: HookedModel,
    texts: Sequence[AnsweredText],
    *,
    settings: FunctionProbeSettings,
    advance: Callable[[float], None] = lambda share: None,
) -> HeadFeatures:
    """Run the model over the texts and keep z for their answers, on the model's device."""
    if len(set(model.d_head.values())) > 1:
        sizes = ", ".join(f"{size} in layer {layer}" for layer, size in model.d_head.items())
        raise ModelError(
            f"function_probe projects all heads by one linear map, so they must be of one size; model {model.name!r} "
            f"has heads of size {sizes}. Use another method."
        )
    batches, report = encode_answered(texts, model.tokenizer, n_ctx=model.n_ctx)
    if not batches:
        raise DataError(f"None of the {len(texts)} texts can be used: {report.summary()}.")
    # Texts are hashed slowly, and one may be given twice.
    values: dict[int, tuple[Tensor, Tensor]] = {}
    for part in in_chunks(batches):
        of_heads, of_words = _features(model, part, settings)
        values |= zip(map(id, part.texts), zip(of_heads, of_words, strict=True), strict=True)
        advance(len(values) / len(texts))
    usable = tuple(text for text in texts if id(text) in values)
    of_heads, of_words = (torch.stack(rows) for rows in zip(*(values[id(text)] for text in usable), strict=True))
    return HeadFeatures(of_heads, of_words, model.heads, usable, report)


def _features(
    model: HookedModel, batch: AnsweredBatch, settings: FunctionProbeSettings
) -> tuple[Float[Tensor, "prompt head feature"], Float[Tensor, "prompt d_model"]]:
    """Features of the heads, and of the chosen words themselves, from one forward pass."""
    chosen = chosen_tokens(model, batch, top_tokens=settings.top_tokens)
    read = positions_of(chosen, at=settings.at)
    first = int(read.any(0).nonzero()[0])
    hooks, z = capturing_z(model.layers, first=first)
    embedded: dict[str, Tensor] = {}
    model.run(batch.tokens, hooks=hooks | {_EMBEDDING: keeping(embedded, _EMBEDDING)})
    words = torch.einsum("pk,pkd->pd", _shares(chosen, embedded[_EMBEDDING]), embedded[_EMBEDDING].float())
    layers = []
    for layer in model.layers:
        pooled = torch.einsum("pk,pkhd->phd", _shares(read[:, first:], z[layer]), z[layer].float())
        layers.append(torch.cat([pooled, pooled.mean(1, keepdim=True).expand_as(pooled)], dim=2).to(model.device))
    return torch.cat(layers, dim=1), words.to(model.device)


def _shares(positions: Bool[Tensor, "prompt pos"], values: Tensor) -> Float[Tensor, "prompt pos"]:
    """Weights of a mean over these positions, where the values are."""
    return (positions.float() / positions.sum(1, keepdim=True)).to(values.device)


def in_chunks(batches: Sequence[AnsweredBatch]) -> list[AnsweredBatch]:
    """Batches of the same texts, up to `CHUNK` each."""
    return [
        batch.select(range(start, min(start + CHUNK, len(batch))))
        for batch in batches
        for start in range(0, len(batch), CHUNK)
    ]


def chosen_tokens(model: HookedModel, batch: AnsweredBatch, *, top_tokens: int) -> Bool[Tensor, "prompt pos"]:
    """True at the answer tokens to average over: the `top_tokens` least expected, the earlier of equals; 0 for all."""
    if not top_tokens or int(batch.targets.sum(1).max()) <= top_tokens:
        return batch.targets
    order = torch.where(batch.targets, _log_probs(model, batch), torch.inf).argsort(dim=1, stable=True)
    mask = torch.zeros_like(batch.targets).scatter(1, order[:, :top_tokens], True)
    return mask & batch.targets


def positions_of(tokens: Bool[Tensor, "prompt pos"], *, at: str) -> Bool[Tensor, "prompt pos"]:
    """Where tokens are read: "predicting", one position earlier, where the model predicts each; "answer", at itself."""
    return tokens if at == "answer" else tokens.roll(-1, dims=1)  # no target is first, so nothing comes around


@torch.no_grad()
def _log_probs(model: HookedModel, batch: AnsweredBatch) -> Float[Tensor, "prompt pos"]:
    """Log-probability of each answer token given the text before it, in nats, in fp32; 0 at other tokens."""
    before = positions_of(batch.targets, at="predicting")
    logits = logits_at(model, batch.tokens, before, hooks={})
    prompt, pos = batch.targets.nonzero(as_tuple=True)
    token_ids = batch.tokens[prompt, pos].to(logits.device)
    log_prob = torch.zeros(batch.targets.shape)
    log_prob[prompt, pos] = logits.log_softmax(1).gather(1, token_ids[:, None])[:, 0].cpu()
    return log_prob
