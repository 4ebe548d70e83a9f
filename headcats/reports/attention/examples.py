"""Example prompts of a task: what heads attend to in the clean and in the corrupted one."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.patterns import head_patterns
from headcats.prompts.batch import PromptBatch
from headcats.prompts.packing import Side
from headcats.results.visible import with_visible_ends
from headcats.sweeps.runs import BaseRuns

_SIDES: tuple[Side, ...] = ("clean", "corrupted")
# Prompts that are looked through for one that the model answers rightly.
_LOOKED_AT = 16
# A head that looks at everything alike is to look pale.
_LEAST_DARKEST = 0.2
_TOKENS = 32
_SHADES = 255
_MOST_LOOKS, _LEAST_WEIGHT = 3, 0.05


def thumbnails(model: HookedModel, batches: Sequence[PromptBatch], heads: Sequence[Head]) -> dict[str, dict[str, Any]]:
    """Pattern of every head in the first prompt of a task that the model answers rightly, as JSON holds it.

    Clean and corrupted, on the last 32 tokens; of a model that answers none of them, in the first prompt. `shades` are
    a byte per pair of tokens (from, then to) in base64, 255 for the weight `darkest` and above.
    """
    largest = max(batches, key=len)
    batch = largest.select(range(min(_LOOKED_AT, len(largest))))
    place = next((place for place, is_right in enumerate(_answered_rightly(model, batch)) if is_right), 0)
    # One after the other: the two prompts may differ in length.
    of_side = {side: head_patterns(model, getattr(batch, side)[place : place + 1], heads)[1] for side in _SIDES}
    pictures = {}
    for head in heads:
        patterns = {side: of_heads[head][0].numpy() for side, of_heads in of_side.items()}
        # Not the largest of all: the first token can look at nothing but itself, with weight 1.
        darkest = max(_LEAST_DARKEST, *(float(pattern[-1].max()) for pattern in patterns.values()))
        pictures[str(head)] = {"task": batch.task, "item": batch.items[place], "darkest": round(darkest, 3)} | {
            side: _picture(pattern, _token_names(model, batch, side, place), darkest)
            for side, pattern in patterns.items()
        }
    return pictures


def _answered_rightly(model: HookedModel, batch: PromptBatch) -> Iterator[bool]:
    """Prompt by prompt; later ones are not run when nobody asks for them."""
    for part in batch.in_parts():
        runs = BaseRuns(model, part)
        yield from (runs.measured(("accuracy",), runs.clean)[0] == 1).tolist()


def _token_names(model: HookedModel, batch: PromptBatch, side: Side, place: int) -> list[tuple[str, str]]:
    """Every token of a prompt, and the same with its role, as the same token may come several times."""
    texts = [token_text(model.tokenizer, token) for token in getattr(batch, side)[place].tolist()]
    roles = batch.roles_of(side)[place]
    return [(text, f"{text} ({roles[at]})" if roles else text) for at, text in enumerate(texts)]


def _picture(
    pattern: Float[np.ndarray, "pos pos"], tokens: Sequence[tuple[str, str]], darkest: float
) -> dict[str, Any]:
    shades = np.rint(_SHADES * np.minimum(pattern[-_TOKENS:, -_TOKENS:] / darkest, 1)).astype(np.uint8)
    weights = pattern[-1]
    largest = np.argsort(-weights, kind="stable")[:_MOST_LOOKS].tolist()
    return {
        "n": len(shades),
        "shades": base64.b64encode(shades.tobytes()).decode("ascii"),
        "from": tokens[-1][0],
        "looks": [[tokens[at][1], round(float(weights[at]), 2)] for at in largest if weights[at] >= _LEAST_WEIGHT],
    }


def token_text(tokenizer: Any, token: int) -> str:
    """The text of a token, its spaces and line ends visible."""
    text = str(tokenizer.decode([token], clean_up_tokenization_spaces=False))
    return with_visible_ends(text) or f"(token {token})"
