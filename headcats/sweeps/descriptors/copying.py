"""The copying score of heads: do their OV circuits raise the very token that they attend to?"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headcats.models.circuit import Circuit
from headcats.models.head import Head
from headcats.sweeps.descriptors.paths import DirectPaths

# Tokens at once.
_CHUNK = 4096
# Of sums in fp32; those of the bundled models' heads are 1e5 times larger.
_ROUNDING = 1e-6


@torch.no_grad()
def copying_scores(paths: DirectPaths) -> tuple[dict[int, Float[Tensor, " head"]], dict[int, str]]:
    """Layer -> score of each head, and layer -> why it has none, or why one of its heads has none.

    The circuit of a head, `M = W_E N_1 W_V W_O N_f W_U`, maps tokens of the vocabulary to logits; N_1 and N_f are the
    norm before the attention and the final one, without their scales. M has rank d_head, so its eigenvalues other than
    0 are those of a matrix of that size, `W_O (N_f W_U W_E N_1) W_V`, whose middle is one product for all heads. The
    score is NaN for a head whose eigenvalues are all 0.
    """
    circuit, layers, reasons = paths.circuit, paths.layers, dict(paths.without)
    if circuit is None:
        return {}, reasons
    if isinstance(readout := circuit.readout, str):
        return {}, reasons | dict.fromkeys(layers, readout)
    if not circuit.reads_embeddings:
        return {}, reasons | dict.fromkeys(layers, "the residual stream begins with something else than embeddings")
    scores, product = dict[int, Tensor](), None
    for layer in layers:
        norm = circuit.attention_norm(layer)
        if isinstance(norm, str):
            reasons[layer] = norm
            continue
        product = _unembedding_by_embedding(circuit) if product is None else product
        # Rows are what is written, columns what is read.
        middle = norm.linear(readout.norm.read(product.T).T)
        values, W_O = circuit.values(middle, layer=layer), circuit.W_O(layer)
        inner = torch.bmm(W_O.to(values), values).double().cpu()
        try:
            # Not by torch, which does not converge on an exact permutation.
            eigenvalues = np.linalg.eigvals(inner.numpy())
        except np.linalg.LinAlgError as error:
            reasons[layer] = f"its eigenvalues cannot be computed ({error})"
            continue
        sizes = np.abs(eigenvalues).sum(-1)
        rounding = _ROUNDING * (W_O.norm(dim=(1, 2)) * values.norm(dim=(1, 2)).to(W_O)).cpu().numpy()
        score = np.full_like(sizes, np.nan)
        np.divide(eigenvalues.real.sum(-1), sizes, out=score, where=sizes > rounding)
        scores[layer] = torch.from_numpy(score)
        if zero := np.flatnonzero(np.isnan(score)).tolist():
            reasons[layer] = f"{', '.join(str(Head(layer, head)) for head in zero)}: no token changes any logit"
    return scores, reasons


def _unembedding_by_embedding(circuit: Circuit) -> Float[Tensor, "d_model d_model"]:
    """`W_U W_E` over the tokens that both have; W_U less its mean over the vocabulary, which no probability sees."""
    n = min(circuit.d_vocab, circuit.model.d_vocab)
    mean = torch.stack([_sum(circuit, start) for start in range(0, circuit.d_vocab, _CHUNK)]).sum(0) / circuit.d_vocab
    product = mean.new_zeros(len(mean), len(mean))
    for start in range(0, n, _CHUNK):
        tokens = torch.arange(start, min(start + _CHUNK, n))
        columns = circuit.unembedding(start, min(start + _CHUNK, n)) - mean[:, None]
        product += columns @ circuit.embeddings(tokens).to(columns)
    return product


def _sum(circuit: Circuit, start: int) -> Float[Tensor, " d_model"]:
    return circuit.unembedding(start, min(start + _CHUNK, circuit.d_vocab)).sum(-1)
