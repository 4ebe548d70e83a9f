"""Where the roles of a text's tokens are, and which of them fall together."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from headcats.methods.token_probe.settings import (
    AFTER,
    BEFORE,
    FIRST,
    FIRST_ANSWER,
    LAST,
    LAST_Q,
    NAMED_ROLES,
    SECOND_ANSWER,
    TokenProbeSettings,
)


@dataclass(frozen=True)
class AnswerShape:
    """Where question, answer and exact answer lie in a text, in tokens from 0.

    Attributes:
        q_len: Tokens of the question, the beginning-of-sequence token included.
        length: Tokens of question and answer.
        first: First token of the exact answer.
        last: Its last token.
    """

    q_len: int
    length: int
    first: int
    last: int

    def position(self, role: str) -> int:
        """Position of a role; below 0 where a text is shorter than a role from the end needs.

        last_q = q_len - 1; first_answer = q_len; exact_answer_before_first = first - 1;
        exact_answer_after_last = min(length - 1, last + 1); "-8" = length - 8.
        """
        places = {
            LAST_Q: self.q_len - 1,
            FIRST_ANSWER: self.q_len,
            SECOND_ANSWER: self.q_len + 1,
            BEFORE: self.first - 1,
            FIRST: self.first,
            LAST: self.last,
            AFTER: min(self.length - 1, self.last + 1),
        }
        return places[role] if role in places else self.length + int(role)

    def problem(self, settings: TokenProbeSettings) -> str:
        """Why its roles would coincide, "" where they stay apart."""
        if self.length - self.q_len < settings.min_answer_tokens:
            return f"answer of fewer than {settings.min_answer_tokens} tokens"
        if self.last - self.first + 1 < settings.min_exact_tokens:
            return f"exact answer of fewer than {settings.min_exact_tokens} tokens"
        if self.first == self.q_len:
            return "exact answer at the start of the answer"
        if self.last == self.length - 1:
            return "exact answer at the end of the answer"
        return "" if min(map(self.position, settings.roles)) >= 0 else "text shorter than the roles from its end need"


def coinciding(shapes: Iterable[AnswerShape]) -> Counter[tuple[str, str]]:
    """Pairs of named roles at the same position -> in how many answers."""
    return Counter(
        (first, second)
        for shape in shapes
        for first, second in combinations(NAMED_ROLES, 2)
        if shape.position(first) == shape.position(second)
    )
