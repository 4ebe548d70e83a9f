"""Forward passes over texts of different length, in batches of one length: greedy generation, and activations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

from headcats.errors import ModelError, OptionError
from headcats.methods.token_probe.settings import REPRESENTATIONS
from headcats.models.adapter import HookedModel
from headcats.models.hooks import keeping

TOKENS_AT_ONCE = 4096
"""Tokens of one forward pass: larger ones are no faster on a CPU and hold more memory."""
KEPT_BYTES = 2 << 30
"""Layers whose representations do not fit into this together are read in several passes."""


@dataclass(frozen=True)
class Generated:
    """A continuation of one prompt, and the token that ended it; `cut` if the limit ended it, not the model."""

    tokens: tuple[int, ...]
    cut: bool
    stop: int | None = None


LineEnds = Callable[[int], bool]
"""Whether a token ends an answer."""
Choose = Callable[[Float[Tensor, "text d_vocab"]], Int[Tensor, " text"]]
"""The next token of every text, from its logits."""


def line_ends(tokenizer: Any) -> LineEnds:
    """Answers end at the end-of-text token, and at every token that holds a line break."""

    @cache
    def ends(token: int) -> bool:
        return token == tokenizer.eos_token_id or "\n" in tokenizer.decode([token], clean_up_tokenization_spaces=False)

    return ends


def generate(
    model: HookedModel,
    prompts: Sequence[Sequence[int]],
    *,
    ends: LineEnds,
    limit: int,
    advance: Callable[[float], None] = lambda share: None,
) -> list[Generated]:
    """The most probable token, again and again, until one of `ends`, `limit` tokens or the end of the context.

    Prompts of equal length run together, never padded, and each step runs the whole text: the tokens are those of the
    prompt alone, up to ties within rounding.
    """
    return continued(model, prompts, lambda logits: logits.argmax(-1), ends=ends, limit=limit, advance=advance)


def continued(
    model: HookedModel,
    prompts: Sequence[Sequence[int]],
    choose: Choose,
    *,
    ends: LineEnds,
    limit: int,
    advance: Callable[[float], None] = lambda share: None,
) -> list[Generated]:
    """As `generate`, with tokens that `choose` takes."""
    answers: dict[int, Generated] = {}
    for part in equal_lengths([len(prompt) + 1 for prompt in prompts]):
        texts = torch.tensor([list(prompts[place]) for place in part])
        answers |= zip(part, _continuations(model, texts, choose, ends=ends, limit=limit), strict=True)
        advance(len(answers) / len(prompts))
    return [answers[place] for place in range(len(prompts))]


def equal_lengths(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts of one length, the shortest first, up to `TOKENS_AT_ONCE` tokens at a time."""
    places: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        places.setdefault(length, []).append(place)
    for length in sorted(places):
        size = max(1, TOKENS_AT_ONCE // length)
        yield from (places[length][start : start + size] for start in range(0, len(places[length]), size))


def _continuations(
    model: HookedModel, texts: torch.Tensor, choose: Choose, *, ends: LineEnds, limit: int
) -> list[Generated]:
    q_len = texts.shape[1]
    answers = [Generated((), True)] * len(texts)
    unfinished = list(range(len(texts)))
    for _ in range(min(limit, model.n_ctx - q_len)):
        next_tokens = choose(model.run(texts, hooks={})).cpu()
        stops = [ends(token) for token in next_tokens.tolist()]
        for place, text, token, stop in zip(unfinished, texts.tolist(), next_tokens.tolist(), stops, strict=True):
            answers[place] = Generated(tuple(text[q_len:]), False, token) if stop else answers[place]
        rows = torch.tensor([row for row, stop in enumerate(stops) if not stop], dtype=torch.long)
        unfinished = [unfinished[row] for row in rows.tolist()]
        texts = torch.cat([texts[rows], next_tokens[rows, None]], 1)
        if not unfinished:
            break
    for place, text in zip(unfinished, texts.tolist(), strict=True):
        answers[place] = Generated(tuple(text[q_len:]), True)
    return answers


def representations(
    model: HookedModel,
    texts: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    *,
    representation: str,
    layers: Sequence[int] | None = None,
    advance: Callable[[float], None] = lambda share: None,
) -> Iterator[tuple[int, Float32[np.ndarray, "text role width"]]]:
    """Layer by layer, a representation at the positions of every text, from as few passes as `KEPT_BYTES` allows.

    Of all layers, or of some.

    An OptionError for a representation that the model does not have, a ModelError for values that are not finite.
    """
    chosen = model.layers if layers is None else tuple(layers)
    names = {layer: hook_name(model, layer, representation) for layer in chosen}
    width = max(values.shape[-1] for values in _read(model, texts[:1], positions[:1], names).values())
    together = max(1, KEPT_BYTES // (len(texts) * len(positions[0]) * width * 4))
    for start in range(0, len(chosen), together):
        part = chosen[start : start + together]

        def advance_layers(share: float, before: int = start, count: int = len(part)) -> None:
            advance((before + share * count) / len(chosen))

        values = _read(model, texts, positions, {layer: names[layer] for layer in part}, advance_layers)
        for layer in part:
            yield layer, values.pop(layer)


def hook_name(model: HookedModel, layer: int, representation: str) -> str:
    """Name of the hook of a representation in one layer; OptionError where the model has none."""
    if representation not in REPRESENTATIONS:
        raise OptionError(f"Expected representation {', '.join(REPRESENTATIONS)}; got {representation!r}.")
    hooks = {name: f"blocks.{layer}.{hook}" for name, hook in REPRESENTATIONS.items()}
    if hooks[representation] not in model.model.hook_dict:
        available = ", ".join(name for name, hook in hooks.items() if hook in model.model.hook_dict)
        raise OptionError(
            f"Model {model.name!r} has no hook {hooks[representation]!r}, so no representation {representation!r}; it "
            f"has {available}."
        )
    return hooks[representation]


def _read(
    model: HookedModel,
    texts: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    names: dict[int, str],
    advance: Callable[[float], None] = lambda share: None,
) -> dict[int, Float32[np.ndarray, "text role width"]]:
    values: dict[int, np.ndarray] = {}
    done = 0
    for part in equal_lengths([len(text) for text in texts]):
        captured: dict[int, Tensor] = {}
        token_positions = torch.tensor([list(positions[place]) for place in part])
        at_roles = partial(_at, token_positions)
        hooks = {name: keeping(captured, layer, at_roles) for layer, name in names.items()}
        model.run(torch.tensor([list(texts[place]) for place in part]), hooks=hooks)
        for layer, value in captured.items():
            if not bool(value.isfinite().all()):
                raise ModelError(
                    f"{names[layer]!r} of model {model.name!r} holds NaN or infinite values: load it in float32."
                )
            if layer not in values:
                values[layer] = np.empty((len(texts), *value.shape[1:]), dtype=np.float32)
            values[layer][part] = value.numpy()
        done += len(part)
        advance(done / len(texts))
    return values


def _at(positions: Tensor, value: Tensor) -> Tensor:
    rows = torch.arange(len(positions), device=value.device)[:, None]
    return value[rows, positions.to(value.device)].flatten(2).float().cpu()
