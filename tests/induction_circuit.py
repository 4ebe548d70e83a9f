"""A GPT-2 model whose attention heads are set by hand, each to one thing that a head is known to do.

The residual stream has four parts: what the token is, what the token before it is (written by a head), where it stands,
and the answer, which alone is unembedded. Token and position are one-hot. What is planted, by layer and head:

    L0H0  looks at the token before and writes it down for later layers
    L0H1  looks at the earlier occurrence of the same token, where there is one, and writes nothing
    L0H2  looks at the first token and writes nothing
    L0H3  looks at all tokens alike and writes nothing
    L1H0  looks at the token behind the earlier occurrence (induction) and raises it in the answer
    L1H1  looks as L1H0 and lowers it (anti-copying)
    L1H2  looks at the first token and raises whatever stands there
    L1H3  looks at all tokens alike, and raises the next token of the vocabulary (neither copying nor the opposite)
"""

from typing import Any

import torch
from toys import as_bridge, blank_gpt2, word_tokenizer

from headcats.models.adapter import HookedModel

D_VOCAB, N_CTX = 12, 20
_PART = D_VOCAB + N_CTX
_SURE = 30.0
# Small, so that the scale of the last norm is nearly that of the embeddings.
_WRITTEN = 0.1


def induction_circuit() -> HookedModel:
    """With a tokenizer that has BOS: the token before the first one, which has none, is taken to be itself."""
    tokenizer = word_tokenizer(["<bos>", "<unk>", *(f"w{i}" for i in range(D_VOCAB - 2))])
    return HookedModel(as_bridge(_circuit(), tokenizer), tokenizer=tokenizer)


def _circuit() -> Any:
    hf = blank_gpt2(d_vocab=D_VOCAB, n_embd=4 * _PART, n_layers=2, n_heads=4, n_ctx=N_CTX)
    token, before, position, answer = (slice(i * _PART, (i + 1) * _PART) for i in range(4))
    one = torch.eye(_PART)
    tokens, places = one[:, :D_VOCAB], one[:, D_VOCAB:]
    shift = torch.roll(torch.eye(N_CTX), 1, 1)  # from a place to the next one
    with torch.no_grad():
        hf.transformer.wte.weight[:, token] = tokens.T
        hf.transformer.wpe.weight[:, position] = places.T
        hf.lm_head.weight[:, answer] = tokens.T
        for layer, block in enumerate(hf.transformer.h):
            q, k, v = block.attn.c_attn.weight.view(4 * _PART, 3, 4, _PART).unbind(1)  # views: writes go through
            o = block.attn.c_proj.weight.view(4, _PART, 4 * _PART)
            if layer == 0:
                q[position, 0], k[position, 0] = _SURE * one, places @ shift @ places.T
                v[token, 0], o[0][:, before] = one, 1.5 * _WRITTEN * one
                # The token itself is the same one, too: what is nearer than one token does not count.
                q[token, 1], k[token, 1] = _SURE * tokens @ tokens.T, tokens @ tokens.T
                q[position, 1], k[position, 1] = -_SURE * places @ places.T, places @ places.T
                _look_at_first(q[:, 2], k[:, 2], position)
            else:
                for head, sign in ((0, 1), (1, -1)):
                    q[token, head], k[before, head] = _SURE * one, one
                    v[token, head], o[head][:, answer] = one, sign * _WRITTEN * one
                _look_at_first(q[:, 2], k[:, 2], position)
                following = torch.eye(_PART)
                following[:D_VOCAB, :D_VOCAB] = torch.roll(torch.eye(D_VOCAB), 1, 1)
                for head, written in ((2, one), (3, following)):
                    v[token, head], o[head][:, answer] = one, _WRITTEN * written
    return hf


def _look_at_first(q: torch.Tensor, k: torch.Tensor, position: slice) -> None:
    q[position, 0] = _SURE
    k[position.start + D_VOCAB, 0] = 1.0
