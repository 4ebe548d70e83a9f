"""Answers of a model to the same questions, drawn again and again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.bounds import MOST_STEPS
from headcats.errors import DataError, OptionError
from headcats.models.adapter import adapt
from headcats.models.checks import check_model
from headcats.models.generation import Choose, continued, line_ends
from headcats.papers.token_probe.answers import NOTHING_SAID, Answer, answer_questions, decoded, judged_texts
from headcats.papers.token_probe.extraction import NO_ANSWER
from headcats.papers.token_probe.fit import check_items
from headcats.papers.token_probe.items import AnsweredItem, Item, Judged, Question, Resample
from headcats.papers.token_probe.settings import PRESETS, TokenProbeSettings
from headcats.prompts.drop_report import DropReport
from headcats.registry import preset_of
from headcats.statistics.random_streams import stream

TOP_K = 50
"""The authors' call leaves it at the default of transformers."""


def resampled(
    model: Any,
    questions: Sequence[Any],
    *,
    n_samples: int = 30,
    temperature: float = 1.0,
    preset: str | TokenProbeSettings = "orgad2025",
    seed: int = 0,
) -> tuple[list[AnsweredItem], DropReport]:
    """Questions with the model's greedy answer, and `n_samples` further ones drawn at random: for `error_types`.

    Each token is drawn from the softmax of its logits over the temperature, among the 50 most probable. Exact answers
    are found as in `Question`; where that fails, the model is asked to copy them out.

    Args:
        model: As in `token_probe`.
        questions: `Question`, or `AnsweredItem` with aliases, whose answer stays the one it has.
        n_samples: Answers of each question.
        temperature: Above 0.
        preset: As in `token_probe`, for the length of answers and which of them are left out.
        seed: Seed of the draws.

    Returns:
        The questions that have a usable greedy answer, as `AnsweredItem` with `resamples`; and what was left out, with
        its reasons.

    Raises:
        DataError: As in `token_probe`.
        OptionError: A number of samples or a temperature out of range.
        ModelError: As in `token_probe`.
        UnknownNameError: An unknown preset.

    Example:
        >>> import headcats as hc
        >>> task = hc.suite("sentences").named(["say_product"])[0]
        >>> Question = hc.papers.token_probe.Question
        >>> questions = [Question(f"{word} →", answer, task.exact) for word, answer in task.pairs(3, seed=0)[:3]]
        >>> items, report = hc.papers.token_probe.resampled(hc.load_model("mini-cognitive"), questions, n_samples=2)
        >>> len(items) == report.kept, {len(item.resamples) for item in items}
        (True, {2})

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707: 30 answers at temperature 1.
    """
    if isinstance(n_samples, bool) or not isinstance(n_samples, int) or not 1 <= n_samples <= MOST_STEPS:
        raise OptionError(f"n_samples must be a whole number from 1 to {MOST_STEPS:,}; got {n_samples!r}.")
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 < temperature < np.inf:
        raise OptionError(f"temperature must be above 0; got {temperature!r}. The greedy answer is there besides.")
    adapted, settings = adapt(model), preset_of("token_probe", preset, PRESETS)
    check_model(adapted)
    questions = check_items(questions, of="resampled")
    _check_right_answers(questions)
    name = preset if isinstance(preset, str) else "custom"
    answers, report = answer_questions(adapted, questions, settings, preset=name)
    ends = line_ends(adapted.tokenizer)
    prompts = [answer.tokens[: answer.shape.q_len] for answer in answers]
    texts: list[str] = []
    for sample in range(n_samples):
        choose = _drawing(temperature, stream(seed, "token_probe", "resample", str(sample)))
        drawn = continued(adapted, prompts, choose, ends=ends, limit=settings.max_new_tokens)
        texts += [decoded(adapted.tokenizer, answer.tokens)[0] for answer in drawn]
    asked = [_as_question(answer.question) for answer in answers]
    verdicts = judged_texts(adapted, asked * n_samples, texts, settings)
    resamples = [_resample(text, verdict) for text, verdict in zip(texts, verdicts, strict=True)]
    items = [_item(answer, tuple(resamples[place :: len(answers)])) for place, answer in enumerate(answers)]
    return items, report


def _drawing(temperature: float, draws: np.random.Generator) -> Choose:
    """Draws from the most probable tokens; the same questions together give the same draws."""
    generator = torch.Generator().manual_seed(int(draws.integers(2**63)))

    def choose(logits: Float[Tensor, "text d_vocab"]) -> Int[Tensor, " text"]:
        values, tokens = logits.cpu().topk(min(TOP_K, logits.shape[1]))
        places = torch.multinomial((values / temperature).softmax(-1), 1, generator=generator)
        return tokens.gather(1, places)[:, 0]

    return choose


def _check_right_answers(questions: Sequence[Item]) -> None:
    """Refuse, before anything is drawn, what further answers could not be judged by."""
    for item in questions:
        if isinstance(item, AnsweredItem) and not item.aliases:
            raise DataError(f"Further answers to {item.prompt!r:.60} need right answers (`aliases`) to be judged by.")


def _as_question(item: Item) -> Question:
    """What further answers are judged by."""
    if isinstance(item, Question):
        return item
    first, *others = item.aliases
    return Question(item.prompt, first, task=item.task, item=item.item, bos=item.bos, aliases=tuple(others))


def _resample(text: str, verdict: Judged | str) -> Resample:
    if isinstance(verdict, Judged):
        return Resample(text, text[verdict.start : verdict.stop], verdict.wrong)
    return Resample(text, NO_ANSWER if verdict == NOTHING_SAID else "", True)


def _item(answer: Answer, resamples: tuple[Resample, ...]) -> AnsweredItem:
    question = answer.question
    aliases = question.aliases if isinstance(question, AnsweredItem) else question.right_answers
    named = {"task": question.task, "item": question.item, "bos": question.bos}
    return AnsweredItem(
        question.prompt, answer.generated, answer.exact, answer.wrong, aliases, resamples=resamples, **named
    )
