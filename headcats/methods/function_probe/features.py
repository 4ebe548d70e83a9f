"""What the function probe sees of a text: head outputs at the tokens of its answer.

Which tokens. Ma et al. average z over the 5 semantically most important tokens of an answer, and a second language
model chose them, which nobody can repeat offline. Here "top 5" are the 5 answer tokens to which the model gives the
lowest probability: the words that carry an answer are those that the text before does not give away, and function words
are easily guessed. An answer of no more than 5 tokens is used whole, as in the paper's code. To use a selection of your
own, mark the tokens by the spans of `AnsweredText` and take all of them (`top_tokens=0`).

The answer is the one of the text, read by the model (the paper reads z while the model writes its own answer), and z is
that at the tokens themselves, not one position earlier where they are predicted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.errors import DataError, ModelError
from headcats.methods.function_probe.answers import answer_readings
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.prompts.answered import AnsweredBatch, AnsweredText, encode_answered
from headcats.prompts.encode import DropReport

# Texts per forward pass.
CHUNK = 32


@dataclass(frozen=True)
class HeadFeatures:
    """Features of every head for every text.

    Attributes:
        values: fp32; the first half of `feature` is the head's z, the second the mean z over the heads of its layer,
            both averaged over the chosen answer tokens.
        heads: The heads, by layer.
        texts: The texts, in the order they were given, without those that were dropped.
        report: What was kept and dropped.
    """

    values: Float[Tensor, "text head feature"]
    heads: tuple[Head, ...]
    texts: tuple[AnsweredText, ...]
    report: DropReport


@torch.no_grad()
def head_features(
    model: HookedModel,
    texts: Sequence[AnsweredText],
    *,
    top_tokens: int,
    advance: Callable[[float], None] = lambda share: None,
) -> HeadFeatures:
    """Run the model over the texts and keep z at the answers.

    Args:
        model: The model; features stay on its device.
        texts: Texts with marked answers.
        top_tokens: Tokens per answer to average over, the least expected ones; 0 for all.
        advance: To be called with the share of texts that are done.

    Raises:
        ModelError: No tokenizer, or heads of different sizes in different layers.
        DataError: No text can be used.
    """
    batches, report = encode_answered(texts, model.tokenizer, n_ctx=model.n_ctx)
    check_one_size(model)
    if not batches:
        raise DataError(f"None of the {len(texts)} texts can be used: {report.summary()}.")
    values: dict[int, Tensor] = {}
    # Texts are hashed slowly, and one may be given twice.
    places: dict[int, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(id(text), []).append(place)
    for batch in batches:
        for rows in torch.arange(len(batch)).split(CHUNK):
            part = batch.select(rows.tolist())
            for text, value in zip(part.texts, _features(model, part, top_tokens), strict=True):
                values.update(dict.fromkeys(places[id(text)], value))
            advance(len(values) / len(texts))
    heads = tuple(Head(layer, head) for layer in model.layers for head in range(model.n_heads[layer]))
    usable = sorted(values)
    return HeadFeatures(
        torch.stack([values[place] for place in usable]), heads, tuple(texts[i] for i in usable), report
    )


def check_one_size(model: HookedModel) -> None:
    """Refuse a model whose layers have heads of different sizes.

    Raises:
        ModelError: The message names the sizes.
    """
    sizes = dict(model.d_head)
    if len(set(sizes.values())) > 1:
        sizes_of_layers = ", ".join(f"{size} in layer {layer}" for layer, size in sizes.items())
        raise ModelError(
            f"function_probe projects all heads by one linear map, so they must be of one size; model {model.name!r} "
            f"has heads of size {sizes_of_layers}. Use another method."
        )


def chosen_tokens(model: HookedModel, batch: AnsweredBatch, *, top_tokens: int) -> Bool[Tensor, "prompt pos"]:
    """True at the answer tokens to average over: the `top_tokens` least expected ones, or all.

    Of tokens that are equally unexpected the earlier ones are taken.
    """
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
