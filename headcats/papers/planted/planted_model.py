"""A GPT-2 whose weights are set by hand, so that the effect of every head on every task is known before it is run.

Why the truth is exact:

- **LayerNorm changes nothing.** Its epsilon is 1e8 and its weight 1e4, and the variance of the residual stream is below
  1, so dividing by sqrt(variance + 1e8) is dividing by 1e4 to the last bit of fp32; whatever is written into the stream
  sums to 0 over its dims (the last dim takes the balance), so its mean is 0.
- **Attention is fixed.** A head looks in equal parts at the first token, the noise slots and the slots of the tasks it
  works in (heads without a job: of all tasks); queries are constant, keys read positions, scores differ by 60. Values
  read words only. So nothing that a head or an MLP writes is read by a later head, and heads act on the answer side by
  side: linear heads add `effect` times the word in the slot, a blank being zero. A head does not look at the slots of
  other tasks. What it makes of the first token is the same in every prompt, so patches do not change it.
- **Pairs meet in the MLP of the last layer.** With a and b one where the first and the second head see the answer:
  `and` = relu(a + b - 1); `or` = a + b - relu(a + b - 1), whose linear part the heads write themselves.
- **The gap is 1 in every prompt.** What the heads leave of it is in the embedding of the query word.
- **Noise comes through the heads.** Every head (with a job or without, in every task) turns the two noise words into
  random multiples of all answers, by a table of its own. The tables sum to 0 over noise words, so the expected effect
  is exactly what was planted, and over heads, so the noise of all heads together is 0 in the unpatched runs. Half of
  its variance belongs to the item.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from headcats.models.adapter import HookedModel
from headcats.papers.planted.planted_tasks import (
    BOS,
    FIRST_SLOT,
    N_ANSWERS,
    N_HEADS,
    N_LAYERS,
    N_NOISE_WORDS,
    NOISE_SLOTS,
    NUMBERS,
    ROLES,
    TASKS,
    WORDS,
    Jobs,
    first_words,
    rest_of_gap,
)
from headcats.papers.planted.word_model import word_model
from headcats.statistics.random_streams import stream

_D_HEAD = 2 * N_ANSWERS  # what the slot says; what the first token and the noise words say
_D_MODEL = N_HEADS * _D_HEAD
_LAYER_NORM = 1e4
_BALANCE = _D_MODEL - 1


def _parts() -> dict[str, slice]:
    sizes = {"bos": 1, "words": N_ANSWERS + N_NOISE_WORDS, "position": len(ROLES)}
    sizes |= dict.fromkeys(("answer", "or", "and", "unread"), N_ANSWERS) | {"task": len(TASKS)}
    ends = torch.tensor(list(sizes.values())).cumsum(0).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


PART = _parts()
"""Dims of the residual stream by what stands there."""


def planted_model(jobs: Jobs, *, noise: float, seed: int) -> HookedModel:
    """A model whose heads do `jobs`."""
    hf = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(WORDS), n_embd=_D_MODEL, n_layer=N_LAYERS, n_head=N_HEADS, n_positions=len(ROLES),
            n_inner=2 * N_ANSWERS, activation_function="relu", layer_norm_epsilon=_LAYER_NORM**2, bos_token_id=0,
            eos_token_id=0, tie_word_embeddings=False,
        )
    )  # fmt: skip
    with torch.no_grad():
        for name, parameter in hf.named_parameters():
            parameter.fill_(_LAYER_NORM if ".ln_" in name and name.endswith("weight") else 0.0)
        _set_words(hf, jobs)
        constants, tables = constant_outputs(seed=seed), noise * noise_tables(seed=seed)
        for head, job in jobs.items():
            seen = [0, *(FIRST_SLOT + NUMBERS[task] for task in job.tasks or TASKS), *NOISE_SLOTS]
            attention, at = hf.transformer.h[head.layer].attn, (head.layer, head.head)
            _set_head(attention, head.head, seen, torch.cat((constants[at], tables[at])))
            o = attention.c_proj.weight.view(N_HEADS, _D_HEAD, _D_MODEL)[head.head]
            # Attention spreads over what is seen, so the output makes up for it.
            one = len(seen) * torch.eye(N_ANSWERS)
            o[N_ANSWERS:, PART["answer"]] = one
            if job.kind == "none":
                o[:N_ANSWERS, PART["unread"]] = 0.1 * one
            if job.kind != "and":
                o[:N_ANSWERS, PART["answer"]] = job.effect * one
            if job.kind in ("or", "and"):
                o[:N_ANSWERS, PART[job.kind]] = one
            o[:, _BALANCE] = -o.sum(1)
        _set_pairs(hf.transformer.h[-1].mlp, jobs)
    return word_model(hf, WORDS, name="planted")


def noise_tables(*, seed: int) -> Float[Tensor, "layer head word answer"]:
    """Output of each head for each noise word: multiples of the answers, whose mean over words and over heads is 0.

    Scaled so that for two random words the difference between two answers has a standard deviation of 1.
    """
    tables = stream(seed, "toy noise").standard_normal((N_LAYERS, N_HEADS, N_NOISE_WORDS, N_ANSWERS))
    tables -= tables.mean(2, keepdims=True)
    tables -= tables.mean((0, 1), keepdims=True)
    # Two words times two answers: four independent numbers.
    return torch.from_numpy(tables / tables.std() / 2).float()


def constant_outputs(*, seed: int) -> Float[Tensor, "layer head 1 answer"]:
    """Output of each head about the answers in every prompt; 0 for all heads together."""
    constants = 0.1 * stream(seed, "toy constants").standard_normal((N_LAYERS, N_HEADS, 1, N_ANSWERS))
    return torch.from_numpy(constants - constants.mean((0, 1), keepdims=True)).float()


def _set_words(hf: Any, jobs: Jobs) -> None:
    words = hf.transformer.wte.weight
    words[BOS, PART["bos"]] = 1.0
    for task, number in NUMBERS.items():
        first_answer, first_noise, first_query = first_words(task)
        words[first_answer:first_query, PART["words"]] = torch.eye(N_ANSWERS + N_NOISE_WORDS)
        hf.lm_head.weight[first_answer:first_noise, PART["answer"]] = torch.eye(N_ANSWERS)
        # Half of it in clean prompts for the answer, half in corrupted ones for the distractor.
        queries = slice(first_query, first_query + N_ANSWERS)
        words[queries, PART["answer"]] = rest_of_gap(jobs, task) / 2 * torch.eye(N_ANSWERS)
        # A query makes all answers of its own task likelier.
        words[queries, PART["task"].start + number] = 1.0
        hf.lm_head.weight[first_answer:first_noise, PART["task"].start + number] = 1.0
    hf.transformer.wpe.weight[:, PART["position"]] = torch.eye(len(ROLES))
    for weight in (words, hf.transformer.wpe.weight):
        weight[:, _BALANCE] = -weight.sum(1)


def _set_head(attention: Any, head: int, seen: list[int], said: Float[Tensor, "word answer"]) -> None:
    # Views: writes go through.
    _, k, v = attention.c_attn.weight.view(_D_MODEL, 3, N_HEADS, _D_HEAD).unbind(1)
    attention.c_attn.bias.view(3, N_HEADS, _D_HEAD)[0, head, 0] = 60 * _D_HEAD**0.5
    k[[PART["position"].start + place for place in seen], head, 0] = 1.0
    first_noise = PART["words"].start + N_ANSWERS
    v[PART["words"].start : first_noise, head, :N_ANSWERS] = torch.eye(N_ANSWERS)
    v[PART["bos"], head, N_ANSWERS:] = said[:1]
    v[first_noise : PART["words"].stop, head, N_ANSWERS:] = said[1:]


def _set_pairs(mlp: Any, jobs: Jobs) -> None:
    mlp.c_fc.bias.fill_(-1.0)
    for number, kind in enumerate(("or", "and")):
        effect = next((job.effect for job in jobs.values() if job.kind == kind), 0.0)
        neurons = slice(number * N_ANSWERS, (number + 1) * N_ANSWERS)
        mlp.c_fc.weight[PART[kind], neurons] = torch.eye(N_ANSWERS)
        out = (-effect if kind == "or" else effect) * torch.eye(N_ANSWERS)
        mlp.c_proj.weight[neurons, PART["answer"]] = out
        mlp.c_proj.weight[neurons, _BALANCE] = -out.sum(1)
