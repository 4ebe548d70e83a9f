"""GPT-2 models whose weights are set by hand, so that the effect of every head is known before anything is run.

A prompt is `[bos, slot 1, slot 2, query]`. The residual stream has parts: what the token is, what the answer
is, and the position. A planted head looks from the query at one slot and copies the token there into the answer part;
the unembedding reads the answer part. All other heads read positions only and write to a fourth part that nobody
reads: they say something, but the same thing in every prompt. Token and position are both one-hot, so LayerNorm scales
every prompt alike, and there is no MLP.
"""

from collections.abc import Mapping
from typing import Any

import torch
from toys import as_bridge, blank_gpt2, word_tokenizer

from headcats.prompts.batch import PromptBatch

N_LAYERS, N_HEADS, N_TOKENS = 2, 4, 24
_PART = 32  # residual dims per part, and d_head
_BOS, _QUERY, _NEUTRAL = 0, 1, 2
FIRST_CONTENT = 3
_LAST = 3


def planted_model(
    slots: Mapping[tuple[int, int], int],
    *,
    seed: int = 0,
    n_layers: int = N_LAYERS,
    written: float = 1.0,
    read: float = 1.0,
) -> Any:
    """A TransformerBridge in which each head (layer, head) of `slots` moves the token of its slot to the answer.

    It is `written` to the stream so large, of which the answer's logit is `read` times.
    """
    hf = blank_gpt2(d_vocab=N_TOKENS, n_embd=4 * _PART, n_layers=n_layers, n_heads=N_HEADS, n_ctx=8)
    token, answer, position, unread = (slice(i * _PART, (i + 1) * _PART) for i in range(4))
    draws = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        hf.transformer.wte.weight[:, token] = torch.eye(N_TOKENS, _PART)
        hf.transformer.wpe.weight[:, position] = torch.eye(8, _PART)
        hf.lm_head.weight[:, answer] = read * torch.eye(N_TOKENS, _PART)
        for layer, block in enumerate(hf.transformer.h):
            q, k, v = block.attn.c_attn.weight.view(4 * _PART, 3, N_HEADS, _PART).unbind(1)  # views: writes go through
            o = block.attn.c_proj.weight.view(N_HEADS, _PART, 4 * _PART)
            for head in range(N_HEADS):
                slot = slots.get((layer, head))
                if slot is None:
                    for projection in (q[position, head], k[position, head], v[position, head]):
                        projection.copy_(0.3 * torch.randn(_PART, _PART, generator=draws))
                    # Small: LayerNorm would make the rest of the stream small otherwise.
                    o[head][:, unread] = 0.02 * torch.randn(_PART, _PART, generator=draws)
                else:
                    q[2 * _PART + _LAST, head, 0] = k[2 * _PART + slot, head, 0] = 4.0
                    v[token, head] = torch.eye(_PART)
                    o[head][:, answer] = written * torch.eye(_PART)
    return as_bridge(hf, word_tokenizer())


def slot_batch(*changed: int, n: int = 20, seed: int = 0, task: str = "") -> PromptBatch:
    """Prompts whose answer stands in the slots `changed`, the distractor in the corrupted prompts, and a third token in
    the second corruption.

    The other slot holds the same token everywhere.
    """
    draws = torch.Generator().manual_seed(seed)
    pairs = [FIRST_CONTENT + torch.randperm(N_TOKENS - FIRST_CONTENT, generator=draws)[:3] for _ in range(n)]
    answer, distractor, third = torch.stack(pairs).T
    clean = torch.tensor([_BOS, _NEUTRAL, _NEUTRAL, _QUERY]).repeat(n, 1)
    corrupted, second = clean.clone(), clean.clone()
    for slot in changed:
        clean[:, slot], corrupted[:, slot], second[:, slot] = answer, distractor, third
    keys = tuple(f"{task} {number}" for number in range(n))
    return PromptBatch(
        clean=clean,
        corrupted=corrupted,
        answer=answer.clone(),
        distractor=distractor.clone(),
        keys=keys,
        items=keys,
        distractor_tasks=("other",) * n,
        labels=(("bos", "slot1", "slot2", "query"),) * n,
        corrupted_labels=(("bos", "slot1", "slot2", "query"),) * n,
        task=task,
        second=second,
        second_tasks=("third",) * n,
    )
