"""The share of a needle that a head copies: it looks most at the token that the model says next."""

from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Int
from torch import Tensor

from headcats.base.errors import DataError, check_count
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.models.hooks import keeping
from headcats.models.loading import load_model
from headcats.models.patterns import hook_pattern
from headcats.prompts.tokens import bos_of
from headcats.statistics.distributions import t_quantile
from headcats.statistics.random_streams import stream

_KEY = 3  # tokens by which a needle is asked for
_HALF_WIDTH = 0.05  # of the interval that `n_needed` is for


class Needles(NamedTuple):
    """Sequences that end with the needle but its last token, and where the needle stands in their text."""

    tokens: Int[Tensor, "sample pos"]
    needle: Int[Tensor, "sample step"]
    places: Int[Tensor, "sample step"]


def needle_sequences(model: Any, *, n_samples: int = 32, length: int = 200, needle: int = 8, seed: int = 0) -> Needles:
    """Texts of different random tokens that hold a needle behind a key, followed by the key and the needle again.

    `[bos] text key needle text key needle[:-1]`: at the last `needle` positions the needle comes next. The depth at
    which it stands runs evenly over the text.

    Args:
        model: As in `hc.run`; without a tokenizer there is no BOS.
        n_samples: Number of texts.
        length: Tokens of a text with its needle, fewer where the model has no room or not so many tokens.
        needle: Tokens of the needle.
        seed: Seed of the tokens.

    Returns:
        `tokens [sample, pos]`, `needle [sample, step]`, and its `places [sample, step]` in `tokens`.

    Raises:
        DataError: A model or a length without room for the needle.
    """
    for name, value in (("n_samples", n_samples), ("length", length), ("needle", needle)):
        check_count(name, value)
    adapted: HookedModel = load_model(model)
    tokenizer = adapted.tokenizer
    bos = [] if tokenizer is None else bos_of(tokenizer)
    special = set() if tokenizer is None else set(getattr(tokenizer, "all_special_ids", ()))
    known = np.array([token for token in range(adapted.d_vocab) if token not in special])
    asked = _KEY + needle
    length = min(length, adapted.n_ctx - len(bos) - asked + 1, len(known))
    if length < 2 * asked:
        raise DataError(
            f"A text of {length} tokens has no room for a needle of {needle} behind a key of {_KEY}; expected at least "
            f"{2 * asked}. Take a shorter needle, or a model with a longer context."
        )
    draws = stream(seed, "needles")
    rows, wanted, places = [], [], []
    for sample in range(n_samples):
        text = draws.choice(known, length, replace=False)
        start = round((length - asked) * (sample + 0.5) / n_samples)
        passage = text[start : start + asked]
        rows.append([*bos, *text, *passage[:-1]])
        wanted.append(passage[_KEY:])
        places.append(len(bos) + start + _KEY + np.arange(needle))
    return Needles(*(torch.as_tensor(np.array(each), dtype=torch.long) for each in (rows, wanted, places)))


def retrieval_scores(
    model: Any, *, n_samples: int = 32, length: int = 200, needle: int = 8, seed: int = 0
) -> xr.Dataset:
    """Score every head by the share of needles that it copies.

    A head copies a token of the needle where the model would say that token next and the head looks at its place in the
    text more than at any other. Its score is the share of needle tokens for which this holds, mean over samples; the
    paper calls heads from .1 on retrieval heads. The needle is given up to each token (the paper lets the model write
    it), so that one mistake does not end a sample.

    Args:
        model: As in `hc.run`.
        n_samples: Number of texts.
        length: As in `needle_sequences`.
        needle: As in `needle_sequences`.
        seed: Seed of the texts.

    Returns:
        `retrieval (layer, head)` in [0, 1], with its 95 % interval over samples `low, high`; NaN for heads that a layer
        lacks. Attributes: `copied`, the share of needle tokens that the model would say, which no score exceeds;
        `n_samples`, and `n_needed`, the samples after which the intervals of all heads are within .05; `model`, `seed`.
        `overlap.assign(scores[["retrieval"]])` shows them on a map beside induction and copying.

    Raises:
        DataError: A model that copies no token, so that no head can be told from another; or no room for the needle.
        ModelError: A model without attention patterns.

    Example:
        >>> import headcats as hc
        >>> scores = hc.papers.retrieval_head.retrieval_scores("mini-cognitive", n_samples=4, length=24, needle=2)
        >>> scores.retrieval.dims, 0 < scores.attrs["copied"] <= 1
        (('layer', 'head'), True)

    References:
        Wu et al. (2024), Retrieval Head Mechanistically Explains Long-Context Factuality, arXiv 2404.15574.
    """
    adapted: HookedModel = load_model(model)
    check_model(adapted)
    drawn = needle_sequences(adapted, n_samples=n_samples, length=length, needle=needle, seed=seed)
    grid = np.full((n_samples, len(adapted.layers), adapted.max_heads), np.nan)
    copied = np.zeros(n_samples)

    def looked_at(pattern: Tensor) -> Int[Tensor, "head step"]:
        return pattern[0, :, -needle:].argmax(-1).cpu()

    for sample, tokens in enumerate(drawn.tokens.split(1)):
        looks: dict[int, Tensor] = {}
        hooks = {hook_pattern(layer): keeping(looks, layer, looked_at) for layer in adapted.layers}
        with torch.no_grad():
            logits = adapted.forward_last(tokens, needle, hooks=hooks)
        right = (logits[0].argmax(-1).cpu() == drawn.needle[sample])[None]
        copied[sample] = float(right.double().mean())
        for row, layer in enumerate(adapted.layers):
            copies = (looks[layer] == drawn.places[sample]) & right
            grid[sample, row, : adapted.n_heads[layer]] = copies.double().mean(-1).numpy()
    if not copied.any():
        raise DataError(
            f"Model {adapted.name!r} says no token of the needles, so no head can be seen to copy one: take a shorter "
            "length or needle, or a model that can copy."
        )
    spread = grid.std(axis=0, ddof=1) if n_samples > 1 else np.full(grid.shape[1:], np.nan)
    half = t_quantile(0.025, max(n_samples - 1, 1)) * spread / np.sqrt(n_samples)
    mean, widest = grid.mean(axis=0), float(np.nanmax(spread)) if n_samples > 1 else 0.5
    about = {"long_name": "copies from a needle in a long text", "units": "share of needle tokens"}
    values = {"retrieval": mean, "low": np.clip(mean - half, 0, 1), "high": np.clip(mean + half, 0, 1)}
    return xr.Dataset(
        {name: (("layer", "head"), value, about) for name, value in values.items()},
        coords=adapted.axes,
        attrs={
            "model": adapted.name,
            "seed": seed,
            "copied": float(copied.mean()),
            "n_samples": n_samples,
            "n_needed": max(2, int(np.ceil((1.96 * widest / _HALF_WIDTH) ** 2))),
        },
    )
