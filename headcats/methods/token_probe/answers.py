"""From questions to answers that a probe can read: generated, judged, with the exact answer found in the tokens."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headcats.errors import DataError, ModelError
from headcats.methods.token_probe.generation import LineEnds, generate
from headcats.methods.token_probe.question import Question, find_exact, same_answer
from headcats.methods.token_probe.roles import AnswerShape, coinciding
from headcats.methods.token_probe.settings import TokenProbeSettings
from headcats.models.adapter import HookedModel
from headcats.prompts.encode import UNKNOWN_WORD, DropReport
from headcats.prompts.tokens import bos_of, unknown_id

_NO_EXACT = "no exact answer in the output"
# Characters of a question and of an answer in a message.
_SHOWN = 60


@dataclass(frozen=True)
class Answer:
    """One question with what the model answered.

    Attributes:
        question: The question.
        tokens: Question and answer, the beginning-of-sequence token in front where there is one.
        shape: Where the parts lie in `tokens`.
        generated: The answer as text.
        exact: The exact answer in it.
        wrong: It is not the right one.
        cut: The answer was ended by a limit and not by the model.
    """

    question: Question
    tokens: tuple[int, ...]
    shape: AnswerShape
    generated: str
    exact: str
    wrong: bool
    cut: bool


def answer_questions(
    model: HookedModel,
    questions: Sequence[Question],
    settings: TokenProbeSettings,
    *,
    preset: str = "",
    advance: Callable[[float], None] = lambda share: None,
) -> tuple[list[Answer], DropReport]:
    """The model's own answers, greedily generated, those left whose token roles stay apart.

    An answer is wrong if its exact answer differs from that of the right answer, spaces aside.

    Args:
        model: A model with its tokenizer.
        questions: What is asked; of two questions with the same prompt the first is kept.
        settings: Lengths that are needed, and the limit of an answer.
        preset: Name of the settings, for messages.
        advance: Called with the share that is done.

    Returns:
        The answers in the order of the questions, and the report with the reasons "asked before", "word unknown to the
        tokenizer", "longer than the context", "the tokenizer does not keep the exact answer", "no exact answer in the
        output", and those of `AnswerShape.problem`.

    Raises:
        ModelError: The model has no tokenizer.
        DataError: No answer is left, or the roles coincide in most answers.
    """
    report = DropReport()
    encoded = _encoded(model, questions, report)
    ends = LineEnds(model.tokenizer)
    prompts = [tokens for _, tokens in encoded]
    continuations = generate(model, prompts, ends=ends, limit=settings.max_new_tokens, advance=advance)
    answers: list[Answer] = []
    refused: list[AnswerShape] = []
    for (question, tokens), generated in zip(encoded, continuations, strict=True):
        text, stops = written(model.tokenizer, generated.tokens)
        span = find_exact(question.exact, text)
        inside = [] if span is None else tokens_of(span, stops)
        if span is None or not inside:
            report.drop(_NO_EXACT, _example(question, text))
            continue
        n = len(tokens)
        shape = AnswerShape(n, n + len(stops), n + inside[0], n + inside[-1])
        if problem := shape.problem(settings):
            report.drop(problem, _example(question, text))
            refused.append(shape)
            continue
        exact = text[span[0] : span[1]]
        wrong = not same_answer(exact, question.exact_answer)
        answers.append(Answer(question, (*tokens, *generated.tokens), shape, text, exact, wrong, generated.cut))
    report.kept = len(answers)
    if len(refused) > len(answers):
        raise DataError(_coinciding_message(refused, len(answers), settings, preset))
    if not answers:
        raise DataError(f"No answer is left to probe: {report.summary()}.")
    return answers, report


def _example(question: Question, text: str) -> str:
    return " -> ".join(repr(textwrap.shorten(quoted, _SHOWN, placeholder=" ...")) for quoted in (question.prompt, text))


def written(tokenizer: Any, tokens: Sequence[int]) -> tuple[str, list[int]]:
    """An answer as the tokenizer writes it, and where each of its tokens ends in that text."""
    texts = [_decode(tokenizer, tokens[: count + 1]) for count in range(len(tokens))]
    return (texts[-1] if texts else ""), [len(text) for text in texts]


def tokens_of(span: tuple[int, int], stops: Sequence[int]) -> list[int]:
    """Places of the tokens with at least one character in the span."""
    starts = [0, *stops[:-1]]
    return [
        place
        for place, (start, stop) in enumerate(zip(starts, stops, strict=True))
        if max(start, span[0]) < min(stop, span[1])
    ]


def _encoded(
    model: HookedModel, questions: Sequence[Question], report: DropReport
) -> list[tuple[Question, tuple[int, ...]]]:
    """The questions that can be asked, with the tokens of their prompts."""
    tokenizer = model.tokenizer
    if tokenizer is None:
        raise ModelError(
            f"Model {model.name!r} has no tokenizer, and answers are read as text: hc.load_model(model, tokenizer=...)."
        )
    if not questions:
        raise DataError("No question was given; a token probe needs some hundred.")
    bos, unknown = bos_of(tokenizer), unknown_id(tokenizer)
    prompts = tokenizer([question.prompt for question in questions], add_special_tokens=False)["input_ids"]
    rights = tokenizer([question.answer for question in questions], add_special_tokens=False)["input_ids"]
    seen: set[str] = set()
    encoded = []
    for question, prompt, right in zip(questions, prompts, rights, strict=True):
        exact = find_exact(question.exact, text := _decode(tokenizer, right))
        if question.prompt in seen:
            problem = "asked before"
        elif unknown is not None and unknown in (*prompt, *right):
            problem = UNKNOWN_WORD
        elif len(bos) + len(prompt) + len(right) > model.n_ctx:
            problem = "longer than the context"
        elif exact is None or not same_answer(text[exact[0] : exact[1]], question.exact_answer):
            problem = "the tokenizer does not keep the exact answer"
        else:
            problem = ""
            encoded.append((question, (*bos, *prompt)))
        if problem:
            report.drop(problem, repr(question.prompt))
        seen.add(question.prompt)
    if not encoded:
        raise DataError(f"None of the {len(questions)} questions can be asked: {report.summary()}.")
    return encoded


def _decode(tokenizer: Any, tokens: Sequence[int]) -> str:
    return str(tokenizer.decode(list(tokens), clean_up_tokenization_spaces=False))


def _coinciding_message(refused: list[AnswerShape], kept: int, settings: TokenProbeSettings, preset: str) -> str:
    pairs = coinciding(refused).most_common(4)
    counts = ", ".join(f"{first_role} = {second_role} in {count}" for (first_role, second_role), count in pairs)
    return (
        f"Token roles coincide in {len(refused)} of {len(refused) + kept} answers ({counts or 'texts are short'}). "
        f"Preset {preset!r} needs answers of at least {settings.min_answer_tokens} tokens with an exact answer of at "
        f"least {settings.min_exact_tokens} tokens inside: ask for answers in a sentence, like the suite 'sentences'."
    )
