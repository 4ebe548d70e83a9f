"""The source tokens that a head amplifies most, and what it writes for them."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from headcats.base.errors import check_count
from headcats.models.adapter import HookedModel, adapt
from headcats.models.circuit import Circuit, unprocessed_circuit
from headcats.models.head import Head
from headcats.papers.ov_relation.settings import RelationSettings, settings_of

_ROWS, _COLUMNS = 4096, 16_384  # tokens of the vocabulary at once, as sources and as targets


def salient_tokens(
    model: Any,
    head: Head | str | tuple[int, int],
    *,
    n: int = 30,
    k: int | None = None,
    preset: str | RelationSettings = "maps2025",
    first_mlp: str = "preset",
) -> xr.Dataset:
    """The source tokens with the largest gain of a head, and the tokens it raises and lowers most for each.

    `gain = |E W_V W_O| / |E|` over the whole vocabulary, with E as in `ov_relation`: how much the head scales what it
    reads. Targets: the largest and the smallest of `E W_V W_O W_U`.

    Args:
        model: As for `ov_relation`.
        head: "L9H6", "9.6", `Head(9, 6)` or (9, 6).
        n: Number of sources.
        k: Targets per source and direction; the preset's k if None.
        preset: As for `ov_relation`.
        first_mlp: As for `ov_relation`.

    Returns:
        `gain (source)`, a ratio of norms without a unit, largest first; `target (direction, source, place)`: token ids,
        "raised" from the largest value down, "lowered" from the smallest up, smallest id first among equal values.
        Coordinates `source_token (source)`, and as text `source_text (source)` and `target_text (direction, source,
        place)` ("" without a tokenizer). A source whose embedding is 0 has gain -inf and comes last.

    Raises:
        DataError: A head that the model does not have.
        OptionError: `n` or `k` below 1.
        ModelError: As for `ov_relation`.

    Example:
        >>> import headcats as hc
        >>> salient = hc.papers.ov_relation.salient_tokens(hc.load_model("mini"), "L0H3", n=3, k=2)
        >>> salient.gain.dims, salient.target.dims
        (('source',), ('direction', 'source', 'place'))
        >>> bool((salient.gain.diff("source") <= 0).all())  # the largest gain first
        True

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965 (salient operations).
    """
    settings = settings_of(preset, first_mlp=first_mlp)
    k = settings.k if k is None else k
    check_count("n", n)
    check_count("k", k)
    adapted = adapt(model)
    layer, number = parsed = adapted.find_head(head)
    circuit = unprocessed_circuit(adapted)
    uses_mlp = settings.first_mlp and layer > 0
    gain = _gains(circuit, parsed, uses_mlp)
    # Stable: of equal gains, the smallest id first.
    sources = gain.argsort(descending=True, stable=True)[:n]
    outputs = circuit.values(_embeddings(circuit, sources, uses_mlp), layer=layer)[number]
    residual = outputs @ circuit.W_O(layer)[number]
    starts = range(0, circuit.d_vocab, _COLUMNS)
    columns = (circuit.unembedding(start, min(start + _COLUMNS, circuit.d_vocab)) for start in starts)
    values = torch.cat([residual @ part.to(residual.device) for part in columns], dim=-1)
    # Of equal tokens, the smallest id first.
    targets = torch.stack(
        [(sign * values).argsort(dim=-1, descending=True, stable=True)[:, :k].cpu() for sign in (1, -1)]
    )
    dims = ("direction", "source", "place")
    return xr.Dataset(
        {"gain": ("source", gain[sources].cpu().double().numpy()), "target": (dims, targets.numpy())},
        coords={
            "direction": ["raised", "lowered"],
            "source": np.arange(len(sources)),
            "place": np.arange(targets.shape[-1]),
            "source_token": ("source", sources.cpu().numpy()),
            "source_text": ("source", _texts(adapted, sources)),
            "target_text": (dims, _texts(adapted, targets)),
        },
        attrs={"method": "salient_tokens", "head": str(parsed), "model": adapted.name},
    )


def _gains(circuit: Circuit, head: Head, uses_mlp: bool) -> Float[Tensor, " token"]:
    weight = circuit.W_O(head.layer)[head.head]
    parts = []
    for tokens in torch.arange(circuit.model.d_vocab).split(_ROWS):
        rows = _embeddings(circuit, tokens, uses_mlp)
        values = circuit.values(rows, layer=head.layer)[head.head]
        size = rows.to(values.device).norm(dim=-1)
        gain = (values @ weight.to(values.device)).norm(dim=-1) / size
        parts.append(torch.where(size > 0, gain, -torch.inf))
    return torch.cat(parts)


def _embeddings(circuit: Circuit, tokens: Tensor, uses_mlp: bool) -> Tensor:
    rows = circuit.embeddings(tokens)
    return circuit.after_first_mlp(rows) if uses_mlp else rows


def _texts(model: HookedModel, tokens: Tensor) -> np.ndarray:
    decode = model.tokenizer.decode if model.tokenizer else lambda ids: ""
    return np.array([decode([token]) for token in tokens.flatten().tolist()], dtype=str).reshape(tokens.shape)
