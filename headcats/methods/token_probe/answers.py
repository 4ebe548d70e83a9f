"""A model's own answers to questions: generated, judged, with the exact answer located among their tokens."""

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from headcats.errors import DataError, OptionError
from headcats.methods.token_probe.passes import generate, line_ends
from headcats.methods.token_probe.settings import NAMED_ROLES, TokenProbeSettings
from headcats.models.adapter import HookedModel
from headcats.prompts.answers import UNKNOWN_WORD
from headcats.prompts.drop_report import DropReport
from headcats.prompts.tokens import check_bos, encode, encode_with_bos, unknown_id

# Characters of a question and of an answer in a message.
_EXAMPLE = 60


@dataclass(frozen=True)
class Question:
    r"""A prompt, its right answer, and the expression that finds the exact answer inside an answer.

    Attributes:
        prompt: What the model reads; it answers from there on.
        answer: A right answer, such as "the sum is 8 5 now".
        exact: Regular expression for the exact answer, such as `r"\d(?: \d)*"`: its first match, or the first group of
            that match.
        task: Task it belongs to, or "".
        item: What is asked; "" takes the prompt. Questions of one item are one cluster in every split and interval.
        bos: "once" puts BOS in front of the prompt if the tokenizer has one; "written" takes the prompt as it is, with
            special tokens of its own: a conversation in the words of a chat template.

    Raises:
        DataError: An empty prompt, or `exact` finds nothing in `answer`.
        OptionError: `exact` is not a regular expression.
        UnknownNameError: Another `bos`.

    Example:
        >>> import headcats as hc
        >>> hc.methods.token_probe.Question("4 7 plus 3 8 →", "the sum is 8 5 now", r"\d(?: \d)*").exact_answer
        '8 5'

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707, for the exact answer within an answer.
    """

    prompt: str
    answer: str
    exact: str
    task: str = ""
    item: str = ""
    bos: str = "once"

    def __post_init__(self) -> None:
        check_bos(self.bos)
        if not self.prompt.strip():
            raise DataError("A question needs a prompt; this one is empty.")
        try:
            re.compile(self.exact)
        except re.error as error:
            raise OptionError(f"{self.exact!r}, for the exact answer, is not a regular expression: {error}.") from None
        if find_exact(self.exact, self.answer) is None:
            raise DataError(
                f"The expression {self.exact!r} finds no exact answer in the right answer {self.answer!r} of "
                f"{self.prompt!r}: change one of them."
            )
        if not self.item:
            object.__setattr__(self, "item", self.prompt)

    @property
    def exact_answer(self) -> str:
        """The exact answer inside `answer`."""
        start, stop = find_exact(self.exact, self.answer) or (0, 0)
        return self.answer[start:stop]


def find_exact(exact: str, text: str) -> tuple[int, int] | None:
    """Characters `[start, stop)` of the first match of `exact`, of its first group if it has one; None without text."""
    match = re.search(exact, text)
    if match is None:
        return None
    start, stop = match.span(1 if match.re.groups and match.group(1) is not None else 0)
    return (start, stop) if text[start:stop].strip() else None


def same_answer(first: str, second: str) -> bool:
    """Whether two exact answers are the same, ignoring spaces, which not all tokenizers write back."""
    return "".join(first.split()) == "".join(second.split())


@dataclass(frozen=True)
class AnswerShape:
    """Tokens of a question (`q_len`, with the beginning of sequence), of question and answer (`length`), and the places
    of the first and last token of the exact answer.
    """

    q_len: int
    length: int
    first: int
    last: int

    def position(self, role: str) -> int:
        """Position of a role; below 0 for a role from the end that needs a longer text."""
        after = min(self.length - 1, self.last + 1)
        places = (self.q_len - 1, self.q_len, self.q_len + 1, self.first - 1, self.first, self.last, after)
        return places[NAMED_ROLES.index(role)] if role in NAMED_ROLES else self.length + int(role)

    def problem(self, settings: TokenProbeSettings) -> str:
        """Why roles would coincide; "" if they stay apart."""
        if self.length - self.q_len < settings.min_answer_tokens:
            return f"answer of fewer than {settings.min_answer_tokens} tokens"
        if self.last - self.first + 1 < settings.min_exact_tokens:
            return f"exact answer of fewer than {settings.min_exact_tokens} tokens"
        if self.first == self.q_len:
            return "exact answer at the start of the answer"
        if self.last == self.length - 1:
            return "exact answer at the end of the answer"
        return "" if min(map(self.position, settings.roles)) >= 0 else "text shorter than the roles from its end need"


@dataclass(frozen=True)
class Answer:
    """One question and the model's answer; `cut` if a limit ended the answer, not the model."""

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
    """The model's own greedy answers, without those whose token roles coincide.

    An answer is wrong if its exact answer differs from that of the right answer, ignoring spaces. Of questions with the
    same prompt the first is kept. `preset` names the settings in messages. A ModelError without tokenizer; a DataError
    if no answer is left, or the roles coincide in most answers.
    """
    report = DropReport()
    encoded = encoded_questions(model, questions, report)
    prompts = [tokens for _, tokens in encoded]
    ends, limit = line_ends(model.tokenizer), settings.max_new_tokens
    answers: list[Answer] = []
    coinciding: list[AnswerShape] = []
    continuations = generate(model, prompts, ends=ends, limit=limit, advance=advance)
    for (question, prompt), generated in zip(encoded, continuations, strict=True):
        text, stops = decoded(model.tokenizer, generated.tokens)
        span = find_exact(question.exact, text)
        inside = tokens_of(span, stops) if span else []
        excerpts = (textwrap.shorten(part, _EXAMPLE, placeholder=" ...") for part in (question.prompt, text))
        example = " -> ".join(map(repr, excerpts))
        if span is None or not inside:
            report.drop("no exact answer in the output", example)
            continue
        n = len(prompt)
        shape = AnswerShape(n, n + len(stops), n + inside[0], n + inside[-1])
        if problem := shape.problem(settings):
            report.drop(problem, example)
            coinciding.append(shape)
            continue
        exact = text[slice(*span)]
        wrong = not same_answer(exact, question.exact_answer)
        answers.append(Answer(question, (*prompt, *generated.tokens), shape, text, exact, wrong, generated.cut))
    report.kept = len(answers)
    if len(coinciding) > len(answers):
        pairs = coinciding_roles(coinciding).most_common(4)
        counts = ", ".join(f"{first} = {second} in {count}" for (first, second), count in pairs) or "texts are short"
        raise DataError(
            f"Token roles coincide in {len(coinciding)} of {len(coinciding) + len(answers)} answers ({counts}). Preset "
            f"{preset!r} needs answers of {settings.min_answer_tokens} tokens, {settings.min_exact_tokens} of them in "
            "an exact answer inside: ask for answers in a sentence, like the suite 'sentences'."
        )
    if not answers:
        raise DataError(f"No answer is left to probe: {report.summary()}.")
    return answers, report


def decoded(tokenizer: Any, tokens: Sequence[int]) -> tuple[str, list[int]]:
    """An answer as the tokenizer writes it, and where each of its tokens ends in that text."""
    texts = [_decode(tokenizer, tokens[: count + 1]) for count in range(len(tokens))]
    return (texts[-1] if texts else ""), [len(text) for text in texts]


def tokens_of(span: tuple[int, int], stops: Sequence[int]) -> list[int]:
    """Places of the tokens with at least one character in the span."""
    ends = enumerate(zip([0, *stops[:-1]], stops, strict=True))
    return [place for place, (start, stop) in ends if max(start, span[0]) < min(stop, span[1])]


def coinciding_roles(shapes: Iterable[AnswerShape]) -> Counter[tuple[str, str]]:
    """Pairs of named roles at the same position -> in how many answers."""
    pairs = list(combinations(NAMED_ROLES, 2))
    return Counter(pair for shape in shapes for pair in pairs if shape.position(pair[0]) == shape.position(pair[1]))


def encoded_questions(
    model: HookedModel, questions: Sequence[Question], report: DropReport
) -> list[tuple[Question, tuple[int, ...]]]:
    """The questions that can be asked, and the tokens of their prompts."""
    tokenizer = model.text_tokenizer
    if not questions:
        raise DataError("No question was given; a token probe needs some hundred.")
    unknown = unknown_id(tokenizer)
    prompts = encode_with_bos(
        tokenizer, [question.prompt for question in questions], bos=[question.bos for question in questions]
    )
    right_answers = encode(tokenizer, [question.answer for question in questions])
    prompts_before: set[str] = set()
    encoded = []
    for question, (bos, prompt, _), right in zip(questions, prompts, right_answers, strict=True):
        span = find_exact(question.exact, text := _decode(tokenizer, right))
        problem = ""
        if question.prompt in prompts_before:
            problem = "asked before"
        elif unknown is not None and unknown in (*prompt, *right):
            problem = UNKNOWN_WORD
        elif len(bos) + len(prompt) + len(right) > model.n_ctx:
            problem = "longer than the context"
        elif span is None or not same_answer(text[slice(*span)], question.exact_answer):
            problem = "the tokenizer does not keep the exact answer"
        prompts_before.add(question.prompt)
        if problem:
            report.drop(problem, repr(question.prompt))
        else:
            encoded.append((question, (*bos, *prompt)))
    if not encoded:
        raise DataError(f"None of the {len(questions)} questions can be asked: {report.summary()}.")
    return encoded


def _decode(tokenizer: Any, tokens: Sequence[int]) -> str:
    return str(tokenizer.decode(list(tokens), clean_up_tokenization_spaces=False))
