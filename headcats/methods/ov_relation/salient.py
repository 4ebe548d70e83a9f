"""The tokens that move a head most, and what it writes for them."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from headcats.errors import DataError, OptionError
from headcats.methods.ov_relation.extremes import top_tokens
from headcats.methods.ov_relation.settings import RelationSettings, settings_of
from headcats.models.adapter import HookedModel, adapt
from headcats.models.circuit import Circuit
from headcats.models.head import Head

DIRECTIONS = ("raised", "lowered")
_ROWS = 4096  # tokens of the vocabulary at once


def salient_tokens(
    model: Any,
    head: Head | str | tuple[int, int],
    *,
    n: int = 30,
    k: int | None = None,
    preset: str | RelationSettings = "maps2025",
    first_mlp: str = "preset",
) -> xr.Dataset:
    """The source tokens with the largest gain of a head, and the tokens that it raises and lowers most for each.

    `gain = |E W_V W_O| / |E|` over the whole vocabulary, E as in `ov_relation`: how much longer or shorter the head
    makes what it reads. Targets: the largest, and the smallest, of `E W_V W_O W_U`.

    Args:
        model: As for `ov_relation`.
        head: "L9H6", "9.6", `Head(9, 6)` or (9, 6).
        n: How many sources.
        k: How many targets per source and direction; the preset's k if None.
        preset: As for `ov_relation`.
        first_mlp: As for `ov_relation`.

    Returns:
        `gain (source)`, a ratio of norms without unit, the largest first; `target (direction, source, place)`: token
        ids, "raised" from the largest value down, "lowered" from the smallest up, of equal values the smallest id
        first. Coordinates `source_token (source)`, and as text `source_text (source)` and `target_text (direction,
        source, place)` ("" without a tokenizer). A source whose embedding is 0 has no gain and comes last.

    Raises:
        DataError: A head that the model does not have.
        OptionError: `n` or `k` below 1.
        ModelError: As for `ov_relation`.

    Example:
        >>> import headcats as hc
        >>> found = hc.methods.ov_relation.salient_tokens(hc.load_model("mini"), "L0H3", n=3, k=2)
        >>> found.gain.dims, found.target.dims
        (('source',), ('direction', 'source', 'place'))
        >>> bool((found.gain.diff("source") <= 0).all())  # the largest gain first
        True

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965 (salient operations).
    """
    settings = settings_of(preset, first_mlp=first_mlp)
    k = settings.k if k is None else k
    for name, value in (("n", n), ("k", k)):
        if value < 1:
            raise OptionError(f"{name} must be at least 1, got {value}.")
    adapted = adapt(model)
    parsed = Head.parse(head) if isinstance(head, str) else Head(*head)
    if not 0 <= parsed.head < adapted.n_heads.get(parsed.layer, 0):
        raise DataError(f"Model {adapted.name!r} has no head {parsed}: layers {adapted.layers}, heads from 0.")
    circuit = Circuit(adapted)
    first_mlp_read = settings.first_mlp and parsed.layer > 0
    gain = _gains(circuit, parsed, first_mlp_read)
    # Stable: of equal gains, the smallest id first.
    sources = gain.argsort(descending=True, stable=True)[:n]
    outputs = circuit.values(_read(circuit, sources, first_mlp_read), layer=parsed.layer)[parsed.head]
    W_O, n_targets = circuit.W_O(parsed.layer)[parsed.head], min(k, circuit.d_vocab)
    targets = torch.stack(
        [
            top_tokens(sign * outputs, W_O, circuit.unembedding, k=n_targets, d_vocab=circuit.d_vocab).cpu()
            for sign in (1, -1)
        ]
    )
    dims = ("direction", "source", "place")
    return xr.Dataset(
        {"gain": ("source", gain[sources].cpu().double().numpy()), "target": (dims, targets.numpy())},
        coords={
            "direction": list(DIRECTIONS),
            "source": np.arange(len(sources)),
            "place": np.arange(n_targets),
            "source_token": ("source", sources.cpu().numpy()),
            "source_text": ("source", _texts(adapted, sources)),
            "target_text": (dims, _texts(adapted, targets)),
        },
        attrs={"method": "salient_tokens", "head": str(parsed), "model": adapted.name},
    )


def _gains(circuit: Circuit, head: Head, first_mlp: bool) -> Float[Tensor, " token"]:
    weight = circuit.W_O(head.layer)[head.head]
    parts = []
    n_tokens = len(circuit.model.model.W_E)
    for start in range(0, n_tokens, _ROWS):
        rows = _read(circuit, torch.arange(start, min(start + _ROWS, n_tokens)), first_mlp)
        values = circuit.values(rows, layer=head.layer)[head.head]
        size = rows.to(values.device).norm(dim=-1)
        gain = (values @ weight.to(values.device)).norm(dim=-1) / size
        parts.append(torch.where(size > 0, gain, -torch.inf))
    return torch.cat(parts)


def _read(circuit: Circuit, tokens: Tensor, first_mlp: bool) -> Tensor:
    rows = circuit.embeddings(tokens)
    return circuit.after_first_mlp(rows) if first_mlp else rows


def _texts(model: HookedModel, tokens: Tensor) -> np.ndarray:
    words = (
        [""] * tokens.numel()
        if model.tokenizer is None
        else [model.tokenizer.decode([token]) for token in tokens.flatten().tolist()]
    )
    return np.array(words, dtype=object).astype(str).reshape(tokens.shape)
