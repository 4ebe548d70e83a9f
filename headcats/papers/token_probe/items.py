"""What a token probe is asked about: questions that the model answers itself, and answers that are there already."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headcats.base.errors import DataError, OptionError
from headcats.prompts.tokens import check_bos

NO_ANSWER = "NO ANSWER"
"""What stands in place of an exact answer where an answer gives none."""


def find_exact(exact: str, text: str) -> tuple[int, int] | None:
    """Characters `[start, stop)` of the first match of `exact`, of its first group if it has one; None without text."""
    match = re.search(exact, text)
    if match is None:
        return None
    start, stop = match.span(1 if match.re.groups and match.group(1) is not None else 0)
    return (start, stop) if text[start:stop].strip() else None


def find_text(part: str, text: str) -> tuple[int, int] | None:
    """Characters `[start, stop)` of the first occurrence of a text without its outer spaces, ignoring case."""
    match = re.search(re.escape(part.strip()), text, re.IGNORECASE)
    return match.span() if match and part.strip() else None


def same_answer(first: str, second: str) -> bool:
    """True if two exact answers are the same, ignoring spaces, which not all tokenizers write back."""
    return "".join(first.split()) == "".join(second.split())


def first_found(text: str, answers: Sequence[str]) -> tuple[int, int] | None:
    """The occurrence that comes first; of several at one place that of the answer listed first."""
    spans = [span for span in (find_text(answer, text) for answer in answers) if span]
    return min(spans, key=lambda span: span[0], default=None)


def gives_none(exact: str) -> bool:
    """True if an exact answer says that there is none."""
    return exact.strip().upper().replace("_", " ") == NO_ANSWER


class Judged(NamedTuple):
    """An exact answer inside an answer: characters `[start, stop)`, and whether it is wrong."""

    start: int
    stop: int
    wrong: bool


@dataclass(frozen=True)
class Question:
    r"""A prompt that the model answers itself, its right answer, and how the exact answer is found inside an answer.

    With an expression `exact`, the exact answer is its first match, and wrong unless it is that of the right answer or
    an alias, ignoring spaces. Without one, it is whichever of the right answers (`answer`, `aliases`) and the known
    `wrong_answers` comes first in the answer, ignoring case. Where none of them is in it, the answer is wrong, and the
    model is asked to copy the exact answer out of it.

    Attributes:
        prompt: What the model reads; it answers from there on.
        answer: A right answer, such as "the sum is 8 5 now".
        exact: Regular expression for the exact answer, such as `r"\d(?: \d)*"`: its first match, or the first group of
            that match. "" looks for the right and wrong answers themselves.
        task: Task it belongs to, or "".
        item: What is asked; "" takes the prompt. Questions of one item are one cluster in every split and interval.
        bos: "once" puts in front of the prompt what the tokenizer itself writes there, else its BOS; "written" takes
            the prompt as it is, with special tokens of its own: a conversation in the words of a chat template.
        aliases: Other right answers.
        wrong_answers: Known wrong answers, such as the other options of a choice; without `exact` only.

    Raises:
        DataError: An empty prompt or answer, or `exact` finds nothing in `answer`.
        OptionError: `exact` is not a regular expression, or stands beside `wrong_answers`.
        UnknownNameError: Another `bos`.

    Example:
        >>> import headcats as hc
        >>> Question = hc.papers.token_probe.Question
        >>> Question("4 7 plus 3 8 →", "the sum is 8 5 now", r"\d(?: \d)*").exact_answer
        '8 5'
        >>> Question("Q: Where is the Louvre? A:", "Paris", aliases=("City of Light",)).right_answers
        ('Paris', 'City of Light')

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707, for the exact answer within an answer.
    """

    prompt: str
    answer: str
    exact: str = ""
    task: str = ""
    item: str = ""
    bos: str = "once"
    aliases: tuple[str, ...] = ()
    wrong_answers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_bos(self.bos)
        _check_text(self, "prompt", "answer", "exact", "task", "item")
        if not self.prompt.strip():
            raise DataError("A question needs a prompt; this one is empty.")
        _check_texts(self, "aliases", "wrong_answers")
        if self.exact:
            self._check_expression()
        elif not self.answer.strip():
            raise DataError(f"The question {self.prompt!r:.80} needs a right answer; it is empty.")
        if not self.item:
            object.__setattr__(self, "item", self.prompt)

    def _check_expression(self) -> None:
        try:
            re.compile(self.exact)
        except re.error as error:
            raise OptionError(f"{self.exact!r}, for the exact answer, is not a regular expression: {error}.") from None
        if self.wrong_answers:
            raise OptionError("A question takes `exact` or `wrong_answers`, not both: an expression finds them all.")
        if find_exact(self.exact, self.answer) is None:
            raise DataError(
                f"The expression {self.exact!r} finds no exact answer in the right answer {self.answer!r} of "
                f"{self.prompt!r}: change one of them."
            )

    @property
    def exact_answer(self) -> str:
        """The exact answer inside `answer`; all of it without an expression."""
        if not self.exact:
            return self.answer.strip()
        start, stop = find_exact(self.exact, self.answer) or (0, 0)
        return self.answer[start:stop]

    @property
    def right_answers(self) -> tuple[str, ...]:
        """The exact answer, and its aliases."""
        return self.exact_answer, *self.aliases

    def judge(self, text: str) -> Judged | None:
        """The exact answer inside an answer of the model; None where none can be found.

        Args:
            text: The answer.
        """
        if self.exact:
            span = find_exact(self.exact, text)
            if span is None:
                return None
            return Judged(*span, not any(same_answer(text[slice(*span)], right) for right in self.right_answers))
        right, wrong = (first_found(text, answers) for answers in (self.right_answers, self.wrong_answers))
        # As the authors have it: at the same place, of "man" and "manager", the wrong one counts.
        if right and (not wrong or right[0] < wrong[0]):
            return Judged(*right, False)
        return Judged(*wrong, True) if wrong else None


@dataclass(frozen=True)
class AnsweredItem:
    """A prompt with the answer that a model has given, and the exact answer inside it; nothing is generated.

    Attributes:
        prompt: What the model read.
        text: What it answered, as it follows the prompt, with the space in front if there is one.
        exact_answer: The exact answer, as it stands in `text`, ignoring case; where it is there several times, the
            first is read. "" takes, of a right answer, the alias that comes first in `text`; out of others the model
            is asked to copy it.
        wrong: Whether the answer is wrong; None compares it with the aliases.
        aliases: Right answers. Without a label the answer is right if one of them is in the exact answer, or in `text`
            where that is "", ignoring case.
        task: Task it belongs to, or "".
        item: What is asked, in the words of the question; "" takes the prompt. Answers to one item are one cluster in
            every split and interval.
        bos: As in `Question`.

    Raises:
        DataError: An empty text, a label that is neither true nor false, or neither a label nor aliases.
        UnknownNameError: Another `bos`.

    Example:
        >>> import headcats as hc
        >>> item = hc.papers.token_probe.AnsweredItem("Q: Where is the Louvre? A:", " It is in Rome.", "Rome",
        ...     aliases=("Paris", "City of Light"))
        >>> item.is_wrong
        True

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707, whose tables hold these columns.
    """

    prompt: str
    text: str
    exact_answer: str = ""
    wrong: bool | None = None
    aliases: tuple[str, ...] = ()
    task: str = ""
    item: str = ""
    bos: str = "once"

    def __post_init__(self) -> None:
        check_bos(self.bos)
        _check_text(self, "prompt", "text", "exact_answer", "task", "item")
        for name in ("prompt", "text"):
            if not getattr(self, name).strip():
                raise DataError(f"An answered item needs its {name}; it is empty (prompt {self.prompt!r:.60}).")
        _check_texts(self, "aliases")
        if self.wrong is not None:
            object.__setattr__(self, "wrong", self._label())
        if self.wrong is None and not self.aliases:
            raise DataError(
                f"The answer to {self.prompt!r:.60} has neither a label (`wrong`) nor right answers (`aliases`): give "
                "one of them."
            )
        if not self.item:
            object.__setattr__(self, "item", self.prompt)

    def _label(self) -> bool:
        """The label as True or False; "no" would count as true."""
        if not isinstance(self.wrong, bool | int | np.bool_ | np.integer) or self.wrong not in (0, 1):
            of = f"wrong, of the answer to {self.prompt!r:.60},"
            raise DataError(f"{of} must be True, False, 1, 0 or None; got {self.wrong!r:.40}.")
        return bool(self.wrong)

    @property
    def is_wrong(self) -> bool:
        """The label, or what the aliases say."""
        if self.wrong is not None:
            return self.wrong
        return first_found(self.exact_answer.strip() or self.text, self.aliases) is None

    @property
    def answer(self) -> str:
        """A right answer; "" where none is known."""
        return self.aliases[0] if self.aliases else ""

    def judge(self, text: str) -> Judged | None:
        """The exact answer inside the answer; None if it is not there.

        Args:
            text: What the tokenizer makes of the answer.
        """
        if self.exact_answer.strip():
            span = find_text(self.exact_answer, text)
        else:
            span = None if self.is_wrong else first_found(text, self.aliases)
        return span and Judged(*span, self.is_wrong)


Item = Question | AnsweredItem


def _check_text(item: object, *names: str) -> None:
    """Refuse anything but a text."""
    for name in names:
        if not isinstance(getattr(item, name), str):
            raise DataError(f"{name} must be a text; got {getattr(item, name)!r:.80}.")


def _check_texts(item: object, *names: str) -> None:
    """Refuse a text in place of a tuple of texts, and empty ones; a list becomes a tuple."""
    for name in names:
        texts = getattr(item, name)
        listed = isinstance(texts, Sequence) and not isinstance(texts, str)
        if not listed or not all(isinstance(text, str) and text.strip() for text in texts):
            raise DataError(f"{name} must be texts that are not empty, such as ('Paris', 'Paname'); got {texts!r:.80}.")
        object.__setattr__(item, name, tuple(texts))
