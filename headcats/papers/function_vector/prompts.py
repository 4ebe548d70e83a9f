"""Prompts of steering: few-shot ones for the function vector, zero-shot ones that it is added to."""

from functools import partial
from typing import NamedTuple

from torch import Tensor

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.papers.function_vector.settings import PAPERS_DEMOS, SteeringSettings
from headcats.prompts.answered import AnsweredText, encode_answered, few_shot_texts, with_one_token_answers
from headcats.prompts.drop_report import DropReport
from headcats.prompts.encode import usable_pairs
from headcats.prompts.template import check_writable, find_template
from headcats.scores.blocks import first_half
from headcats.tasks.definition import Task, word_pairs

_OPTION = 'settings=function_vector.SteeringSettings(template="{name}")'


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
    """Few-shot prompts of the first half of the items, zero-shot prompts of the second.

    A DataError if a half has too few word pairs or none of its prompts can be encoded; an OptionError if the model's
    tokenizer does not know the template's own text.
    """
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
