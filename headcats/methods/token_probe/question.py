"""A question that a model answers in its own words, and how to find the exact answer in them."""

import re
from dataclasses import dataclass

from headcats.errors import DataError, OptionError


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

    Raises:
        DataError: An empty prompt, or `exact` finds nothing in `answer`.
        OptionError: `exact` is not a regular expression.

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

    def __post_init__(self) -> None:
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
