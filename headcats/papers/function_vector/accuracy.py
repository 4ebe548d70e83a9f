"""One task of steering: its prompts, the vectors of its few-shot ones, and the accuracy of its zero-shot ones."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from scipy import stats
from torch import Tensor

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.hooks import hook_after
from headcats.papers.function_vector.settings import PAPERS_DEMOS, SteeringSettings
from headcats.prompts.answered import AnsweredText, encode_answered, few_shot_texts, with_one_token_answers
from headcats.prompts.drop_report import DropReport
from headcats.prompts.encode import usable_pairs
from headcats.prompts.template import check_writable, find_template
from headcats.scores.blocks import first_half
from headcats.statistics.task import PromptEffects, estimate, intervals
from headcats.tasks.definition import Task, word_pairs

_OPTION = 'settings=function_vector.SteeringSettings(template="{name}")'
_ROWS = 256  # prompts, each once for every vector, in one forward pass


class Rows(NamedTuple):
    """Prompts of one length, with the token that answers each and its query item."""

    tokens: Tensor
    answer: Tensor
    items: tuple[str, ...]


class SteeringPrompts(NamedTuple):
    """Few-shot and zero-shot prompts of a task, in batches of one length, and drop reason -> number of word pairs."""

    few_shot: list[Rows]
    zero_shot: list[Rows]
    dropped: dict[str, int]


def steering_prompts(task: Task, model: HookedModel, settings: SteeringSettings, *, seed: int) -> SteeringPrompts:
    """Few-shot prompts of the first half of the items, zero-shot prompts of the second."""
    settings = settings.completed({})
    template = find_template(str(settings.template)).written_by(model.text_tokenizer)
    demos = settings.n_demos or PAPERS_DEMOS
    candidates = word_pairs(task, seed=seed)
    check_writable(template, model.text_tokenizer, candidates, option=_OPTION)
    pairs, report = usable_pairs(candidates, model.tokenizer, template=template, answers="single")
    if not pairs:
        raise DataError(f"no usable word pair ({report.summary()})")
    halves: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for pair in pairs:
        halves[not first_half(pair[0], seed=seed)].append(pair)
    if len(halves[0]) <= demos or not halves[1]:
        raise DataError(
            f"{len(halves[0])} of its {len(pairs)} word pairs can be demonstrations and {len(halves[1])} queries; "
            f"{demos} demonstrations and their query need {demos + 1}: use fewer demonstrations, or another seed"
        )
    texts = partial(few_shot_texts, template=template, seed=seed, task=task.name)
    n_queries = min(settings.n_prompts, len(halves[1]))
    few_shot = texts(halves[0], n=settings.n_reference, n_demos=demos, purpose="function vector")
    zero_shot = texts(halves[1], n=n_queries, n_demos=0, purpose="steered")
    return SteeringPrompts(_encode(few_shot, model, report), _encode(zero_shot, model, report), report.dropped)


def _encode(texts: list[AnsweredText], model: HookedModel, total: DropReport) -> list[Rows]:
    """Prompts whose answer is one token; those dropped are added to `total`."""
    batches, report = encode_answered(texts, model.tokenizer, n_ctx=model.n_ctx)
    rows = [
        Rows(batch.tokens[:, :-1], batch.tokens[:, -1], tuple(text.item for text in batch.texts))
        for batch in with_one_token_answers(batches, report)
    ]
    if not rows:
        raise DataError(f"no prompt left of {len(texts)} ({report.summary()})")
    total.add(report)
    return rows


def function_vectors(
    model: HookedModel, batches: Sequence[Tensor], sets: Sequence[Sequence[Head]]
) -> Float[Tensor, "set d_model"]:
    """Per set of heads, the sum of their mean outputs `z @ W_O` at the last position of all prompts, in fp32 on the
    CPU.
    """
    sums: dict[int, Tensor] = {}
    for batch in batches:
        for tokens in batch.split(_ROWS):
            for layer, z in model.capture(tokens, first=-1)[1].items():
                total = z[:, 0].float().sum(0).cpu()
                sums[layer] = sums[layer] + total if layer in sums else total
    n = sum(map(len, batches))
    W_O = {layer: model.W_O(layer).float().cpu() for layer in {head.layer for heads in sets for head in heads}}
    outputs = [[sums[head.layer][head.head] / n @ W_O[head.layer][head.head] for head in heads] for heads in sets]
    return torch.stack([torch.stack(of_set).sum(0) for of_set in outputs])


def right_answers(
    model: HookedModel, tokens: Tensor, answer: Tensor, vectors: Float[Tensor, "set d_model"], *, layer: int
) -> Bool[Tensor, "set prompt"]:
    """True where the largest logit is the answer's, with each vector added after block `layer` at the last position."""
    parts = []
    size = max(1, _ROWS // len(vectors))
    for rows, answers in zip(tokens.split(size), answer.split(size), strict=True):

        def add(stream: Tensor, n: int = len(rows)) -> Tensor:
            stream = stream.clone()
            stream[:, -1] += vectors.repeat_interleave(n, 0).to(stream.device, stream.dtype)
            return stream

        logits = model.run(rows.repeat(len(vectors), 1), hooks={hook_after(layer): add})
        parts.append(logits.argmax(-1).cpu().unflatten(0, (len(vectors), len(rows))) == answers)
    return torch.cat(parts, 1)


def steered_task(
    model: HookedModel,
    few_shot: Sequence[Rows],
    zero_shot: Sequence[Rows],
    sets: Sequence[Sequence[Head]],
    *,
    task: str,
    seed: int,
) -> xr.Dataset:
    """One task of what `steer` returns, its bootstrap named by `task` and `seed`; the first of `sets` is tested."""
    vectors = function_vectors(model, [rows.tokens for rows in few_shot], sets)
    layers = range(model.n_layers)
    by_layer = [
        torch.cat([right_answers(model, *rows[:2], vectors, layer=layer) for rows in zero_shot], 1).numpy()
        for layer in layers
    ]
    right = np.stack(by_layer, axis=-1).astype(np.float64)  # [set, prompt, layer]
    base, demonstrated = (_unsteered(model, batches) for batches in (zero_shot, few_shot))
    steered, random = right[0], right[1:]
    differences = np.concatenate([steered - base[:, None], steered - random.mean(0)], axis=1)
    items = np.array([item for rows in zero_shot for item in rows.items])
    effects = PromptEffects(differences, np.ones(len(items)), items, np.full(len(items), ""))
    estimated = estimate(effects, task=task, seed=seed)
    low, high = intervals({task: estimated}, seed=seed)[task]
    gains = {
        f"{name}{suffix}": ("layer", half)
        for suffix, values in (("", estimated.effect), ("_low", low), ("_high", high))
        for name, half in zip(("gain", "excess"), np.split(values, 2), strict=True)
    }
    p_value = np.maximum(*np.split(_sign_test(differences), 2))
    bounds = np.array([_wilson(column) for column in steered.T])
    return xr.Dataset(
        {
            "accuracy": ("layer", steered.mean(0)),
            "low": ("layer", bounds[:, 0]),
            "high": ("layer", bounds[:, 1]),
            "base": base.mean(),
            "base_low": _wilson(base)[0],
            "base_high": _wilson(base)[1],
            "control": (("layer", "draw"), random.mean(1).T),
            "few_shot": demonstrated.mean(),
            **gains,
            "p_value": ("layer", p_value),
            "n": len(items),
            "n_reference": sum(len(rows.tokens) for rows in few_shot),
        },
        coords={"layer": list(layers), "draw": np.arange(len(random))},
    )


def _unsteered(model: HookedModel, batches: Sequence[Rows]) -> Float[np.ndarray, " prompt"]:
    right = [
        model.logits(tokens).argmax(-1).cpu() == answers
        for rows in batches
        for tokens, answers in zip(rows.tokens.split(_ROWS), rows.answer.split(_ROWS), strict=True)
    ]
    return torch.cat(right).numpy().astype(np.float64)


def _sign_test(differences: Float[np.ndarray, "prompt column"]) -> Float[np.ndarray, " column"]:
    """One-sided p that no more prompts are above 0 than below; ties are left out."""
    above, below = (differences > 0).sum(0), (differences < 0).sum(0)
    return stats.binom.sf(above - 1, above + below, 0.5)


def _wilson(right: Float[np.ndarray, " prompt"]) -> tuple[float, float]:
    bounds = stats.binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
    return float(bounds.low), float(bounds.high)
