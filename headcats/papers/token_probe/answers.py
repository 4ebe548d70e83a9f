"""Answers to questions, a model's own or ready ones: judged, with the exact answer located among their tokens."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.papers.token_probe.generation import Generated, LineEnds, generate, line_ends
from headcats.papers.token_probe.items import (
    AnsweredItem,
    Item,
    Judged,
    Question,
    find_exact,
    find_text,
    gives_none,
    same_answer,
)
from headcats.papers.token_probe.settings import KEEP, NAMED_ROLES, TokenProbeSettings
from headcats.prompts.drop_report import DropReport
from headcats.prompts.tokens import UNKNOWN_WORD, encode, encode_with_bos, unknown_id

_PROMPT = """\
Copy the short answer out of each long answer, word for word. If the long answer gives none, write NO ANSWER.

Question: In which city does the Colosseum stand?
Long answer: The Colosseum is an ancient theatre in the centre of Rome, a short walk from the Forum.
Short answer: Rome

Question: Which river flows through the town?
Long answer: I am sorry, but you would have to tell me which town you have in mind.
Short answer: NO ANSWER

Question: {question}
Long answer: {answer}
Short answer:"""
NO_EXACT = "no exact answer in the output"
NOT_IN_TEXT = "exact answer not found in the answer"
NOTHING_SAID = "answer that gives no exact answer"
# Characters of a question and of an answer in a message.
_EXAMPLE = 60


def extracted(model: HookedModel, questions: Sequence[str], answers: Sequence[str], *, limit: int) -> list[str]:
    """The exact answer of each answer in the model's words, greedily; "" where it cannot be asked, or says nothing."""
    tokenizer = model.text_tokenizer
    prompts = [
        _PROMPT.format(question=question.strip(), answer=" ".join(answer.split()))
        for question, answer in zip(questions, answers, strict=True)
    ]
    unknown = unknown_id(tokenizer)
    encoded = [(*bos, *tokens) for bos, tokens, _ in encode_with_bos(tokenizer, prompts, bos=["once"] * len(prompts))]
    asked = [
        place
        for place, tokens in enumerate(encoded)
        if len(tokens) < model.n_ctx and (unknown is None or unknown not in tokens)
    ]
    copied = [""] * len(prompts)
    if asked:
        replies = generate(model, [encoded[place] for place in asked], ends=line_ends(tokenizer), limit=limit)
        for place, reply in zip(asked, replies, strict=True):
            text = str(tokenizer.decode(list(reply.tokens), clean_up_tokenization_spaces=False))
            copied[place] = text.split("(")[0].strip().strip(".").strip()
    return copied


@dataclass(frozen=True)
class AnswerShape:
    """Tokens of a question with BOS, of question and answer, and places of the exact answer's first and last token."""

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
        """Why roles would coincide, or have no token; "" if none does, or only the latter counts."""
        if self.length - self.q_len < settings.min_answer_tokens:
            return f"answer of fewer than {settings.min_answer_tokens} tokens"
        if self.last - self.first + 1 < settings.min_exact_tokens:
            return f"exact answer of fewer than {settings.min_exact_tokens} tokens"
        if settings.coinciding != KEEP and self.first == self.q_len:
            return "exact answer at the start of the answer"
        if settings.coinciding != KEEP and self.last == self.length - 1:
            return "exact answer at the end of the answer"
        places = [self.position(role) for role in settings.roles]
        return "" if min(places) >= 0 and max(places) < self.length else "text shorter than its roles need"


@dataclass(frozen=True)
class Answer:
    """One question and its answer; `cut` if a limit ended it."""

    question: Item
    tokens: tuple[int, ...]
    shape: AnswerShape
    generated: str
    exact: str
    wrong: bool
    cut: bool


def answer_questions(
    model: HookedModel,
    questions: Sequence[Item],
    settings: TokenProbeSettings,
    *,
    preset: str = "",
    advance: Callable[[float], None] = lambda share: None,
) -> tuple[list[Answer], DropReport]:
    """The model's own greedy answers, and ready ones, each once, without those whose token roles coincide."""
    report = DropReport()
    encoded = encoded_questions(model, questions, report)
    ends = line_ends(model.tokenizer)
    continuations = _continuations(model, encoded, ends, settings, advance)
    texts = [decoded(model.tokenizer, tokens) for tokens, _ in continuations]
    judged = judged_texts(model, [question for question, _, _ in encoded], [text for text, _ in texts], settings)
    answers: list[Answer] = []
    coinciding: list[AnswerShape] = []
    for (question, prompt, _), (tokens, cut), (text, stops), verdict in zip(
        encoded, continuations, texts, judged, strict=True
    ):
        example = _example(question.prompt, text)
        inside = tokens_of(verdict[:2], stops) if isinstance(verdict, Judged) else []
        if not isinstance(verdict, Judged) or not inside:
            report.drop(verdict if isinstance(verdict, str) else NO_EXACT, example)
            continue
        n = len(prompt)
        shape = AnswerShape(n, n + len(stops), n + inside[0], n + inside[-1])
        if problem := shape.problem(settings):
            report.drop(problem, example)
            coinciding.append(shape)
            continue
        exact = text[verdict.start : verdict.stop]
        answers.append(Answer(question, (*prompt, *tokens), shape, text, exact, verdict.wrong, cut))
    report.kept = len(answers)
    if len(coinciding) > len(answers):
        pairs = coinciding_roles(coinciding).most_common(4)
        counts = ", ".join(f"{first} = {second} in {count}" for (first, second), count in pairs) or "texts are short"
        raise DataError(
            f"Token roles coincide in {len(coinciding)} of {len(coinciding) + len(answers)} answers ({counts}). Preset "
            f"{preset!r} needs answers of {settings.min_answer_tokens} tokens, {settings.min_exact_tokens} of them in "
            "an exact answer inside: ask for answers in a sentence, like the suite 'sentences', or take the preset "
            "'orgad2025-code', which keeps them."
        )
    if not answers:
        raise DataError(f"No answer is left to probe: {report.summary()}.")
    return answers, report


def _continuations(
    model: HookedModel,
    encoded: Sequence[tuple[Item, tuple[int, ...], tuple[int, ...]]],
    ends: LineEnds,
    settings: TokenProbeSettings,
    advance: Callable[[float], None],
) -> list[tuple[tuple[int, ...], bool]]:
    """Tokens of every answer, with the one that ended it or without, and whether a limit ended it."""
    asked = [place for place, (question, _, _) in enumerate(encoded) if isinstance(question, Question)]
    prompts = [encoded[place][1] for place in asked]
    generated = generate(model, prompts, ends=ends, limit=settings.max_new_tokens, advance=advance)
    by_place = dict(zip(asked, generated, strict=True))
    continuations = []
    for place, (_, _, ready) in enumerate(encoded):
        answer = by_place.get(place) or _as_generated(ready, ends)
        stop = () if answer.stop is None or settings.stop_token != KEEP else (answer.stop,)
        continuations.append(((*answer.tokens, *stop), answer.cut))
    return continuations


def _as_generated(tokens: tuple[int, ...], ends: LineEnds) -> Generated:
    """A ready answer, whose last tokens end it if they are such tokens; the first of them did."""
    n = len(tokens)
    while n and ends(tokens[n - 1]):
        n -= 1
    return Generated(tokens[:n], False, tokens[n] if n < len(tokens) else None)


def judged_texts(
    model: HookedModel, questions: Sequence[Item], texts: Sequence[str], settings: TokenProbeSettings
) -> list[Judged | str]:
    """Every exact answer with its verdict, or why there is none; the model copies out those that cannot be found."""
    judged: list[Judged | str] = [
        question.judge(text) or (NOT_IN_TEXT if _is_marked(question) else NO_EXACT)
        for question, text in zip(questions, texts, strict=True)
    ]
    unread = [
        place
        for place, (question, verdict) in enumerate(zip(questions, judged, strict=True))
        if verdict == NO_EXACT and not (isinstance(question, Question) and question.exact)
    ]
    asked, answers = [questions[place].item for place in unread], [texts[place] for place in unread]
    for place, exact in zip(unread, extracted(model, asked, answers, limit=settings.max_new_tokens), strict=True):
        span = find_text(exact, texts[place])
        question = questions[place]
        wrong = question.is_wrong if isinstance(question, AnsweredItem) else True
        judged[place] = Judged(*span, wrong) if span else NOTHING_SAID if gives_none(exact) else NO_EXACT
    return judged


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
    model: HookedModel, questions: Sequence[Item], report: DropReport
) -> list[tuple[Item, tuple[int, ...], tuple[int, ...]]]:
    """The questions that can be asked, the tokens of their prompts, and those of a right answer or a ready one."""
    tokenizer = model.text_tokenizer
    if not questions:
        raise DataError("No question was given; a token probe needs some hundred.")
    unknown = unknown_id(tokenizer)
    prompts = encode_with_bos(
        tokenizer, [question.prompt for question in questions], bos=[question.bos for question in questions]
    )
    ready = [question.text if isinstance(question, AnsweredItem) else question.answer for question in questions]
    before: set[tuple[str, str]] = set()
    encoded: list[tuple[Item, tuple[int, ...], tuple[int, ...]]] = []
    for question, text, (bos, prompt, _), answer in zip(
        questions, ready, prompts, encode(tokenizer, ready), strict=True
    ):
        is_asked, problem = isinstance(question, Question), ""
        asked = question.prompt, "" if is_asked else text
        if asked in before:
            problem = "asked before" if is_asked else "answered before"
        elif unknown is not None and unknown in (*prompt, *answer):
            problem = UNKNOWN_WORD
        elif len(bos) + len(prompt) + len(answer) > model.n_ctx:
            problem = "longer than the context"
        elif _is_marked(question) and find_text(question.exact_answer, text) is None:
            problem = NOT_IN_TEXT
        elif not _keeps_exact(tokenizer, question, answer):
            problem = "the tokenizer does not keep the exact answer"
        before.add(asked)
        if problem:
            report.drop(problem, _example(question.prompt, *([] if is_asked else [text])))
        else:
            encoded.append((question, (*bos, *prompt), tuple(answer)))
    if not encoded:
        raise DataError(f"None of the {len(questions)} questions can be asked: {report.summary()}.")
    return encoded


def _keeps_exact(tokenizer: Any, question: Item, answer: Sequence[int]) -> bool:
    """True if the exact answer is found in what the tokenizer makes of a right answer, or of a ready one."""
    text = _decode(tokenizer, answer)
    if isinstance(question, Question) and question.exact:
        span = find_exact(question.exact, text)
        return span is not None and same_answer(text[slice(*span)], question.exact_answer)
    return not question.exact_answer.strip() or find_text(question.exact_answer, text) is not None


def _is_marked(question: Item) -> bool:
    """True for a ready answer with its exact answer."""
    return isinstance(question, AnsweredItem) and bool(question.exact_answer.strip())


def _example(*texts: str) -> str:
    return " -> ".join(repr(textwrap.shorten(text, _EXAMPLE, placeholder=" ...")) for text in texts)


def _decode(tokenizer: Any, tokens: Sequence[int]) -> str:
    return str(tokenizer.decode(list(tokens), clean_up_tokenization_spaces=False))
