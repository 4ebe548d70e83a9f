"""A clean prompt and its corrupted prompt, as text, and pairs that show one contrast."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headcats.base.errors import DataError, unstorable

WordPair = tuple[str, str]
"""Input and output of a task."""
_BEFORE_A_WORD = ",;:?!"
# Positions of a method that are no roles.
_TAKEN = ("last", "answer", "all", "each")


class Span(NamedTuple):
    """Half-open range of characters `[start, stop)` of a prompt."""

    start: int
    stop: int


@dataclass(frozen=True)
class SecondCorruption:
    """A second corrupted prompt with the query of a pair, drawn independently of the first.

    Attributes:
        text: The prompt, without the answer.
        distractor_task: Task that it shows, or the name of the corruption.
        roles: Role name -> span in `text`.

    Raises:
        DataError: An empty text or task, or a role outside the text.

    Example:
        >>> import headcats as hc
        >>> hc.SecondCorruption("The opposite of old is", "antonym").distractor_task
        'antonym'
    """

    text: str
    distractor_task: str
    roles: Mapping[str, Span] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.text and self.distractor_task):
            raise DataError("A second corruption needs a text and a distractor task.")
        for name, span in self.roles.items():
            check_span(f"Second corruption {self.text!r}", name, span, self.text)


@dataclass(frozen=True)
class PromptPair:
    """A clean prompt, a corrupted prompt that differs from it in the tested respect only, and the two answers.

    Prompts of unequal length can be patched at their last token, and at roles that have as many tokens in both.
    Statistics resample items: paraphrases of one case share an item. `hc.run` and `headcats validate` warn of pairs
    with different items whose answer, distractor and differing words are the same.

    Attributes:
        key: Name of the pair in errors and drop reports, unique within its task.
        item: The query, or any name of the case: the cluster of every statistic.
        clean: Text of the clean prompt, without the answer.
        corrupted: Text of the corrupted prompt, likewise.
        answer: Right continuation of the clean prompt, with the space that the template puts before it.
        distractor: Continuation that the corrupted prompt suggests instead; differs from `answer`.
        distractor_task: Task that the corrupted prompt shows, or the name of the corruption.
        roles: Role name -> (span in `clean`, span in `corrupted`), in the order of the text.
        second: A second corruption of the same query (a `SecondCorruption`), or None.

    Raises:
        DataError: An empty text, or one that results cannot hold; an answer that is its own distractor or lacks its
            leading space; a role outside its text, or one called "last", "answer", "all" or "each".

    Example:
        >>> import headcats as hc
        >>> pair = hc.PromptPair(
        ...     key="Italy 1",
        ...     item="Italy",
        ...     clean="France → Paris, Italy →",
        ...     corrupted="France → French, Italy →",
        ...     answer=" Rome",
        ...     distractor=" Italian",
        ...     distractor_task="country_language",
        ... )
        >>> pair.item, dict(pair.roles), pair.second
        ('Italy', {}, None)
    """

    key: str
    item: str
    clean: str
    corrupted: str
    answer: str
    distractor: str
    distractor_task: str = "corrupted"
    roles: Mapping[str, tuple[Span, Span]] = field(default_factory=dict)
    second: SecondCorruption | None = None

    def __post_init__(self) -> None:
        if not (self.clean and self.corrupted and self.answer and self.distractor):
            raise DataError(f"Prompt pair {self.key!r} has an empty clean, corrupted, answer or distractor text.")
        for text in (self.item, self.clean, self.corrupted, self.answer, self.distractor, self.distractor_task):
            if problem := unstorable(text):
                raise DataError(f"Prompt pair {self.key!r} needs text that results can hold; got {text!r}, {problem}.")
        if self.answer == self.distractor:
            raise DataError(
                f"Prompt pair {self.key!r}: answer and distractor are both {self.answer!r}; they must differ, "
                "or the logit difference is always 0."
            )
        for answer, other in ((self.answer, self.distractor), (self.distractor, self.answer)):
            if lacks_space(self.clean, answer, other=other):
                raise DataError(
                    f"Prompt pair {self.key!r}: {answer!r} would continue the last word of {self.clean[-20:]!r}; write "
                    f"{f' {answer}'!r}, with its leading space. To continue a word on purpose, pass tokens: "
                    "hc.PromptBatch.from_tokens."
                )
        for name, spans in self.roles.items():
            for text, span in zip((self.clean, self.corrupted), spans, strict=True):
                check_span(f"Prompt pair {self.key!r}", name, span, text)


def lacks_space(prompt: str, answer: str, *, other: str) -> bool:
    """True if an answer would continue the last word of a prompt, in a script that puts spaces between words.

    A capital before a digit (`H` and `2O`) says that this is meant, unless the `other` answer has a space.
    """
    last, first = prompt[-1], answer[0]
    is_spaced = " " in prompt or (other[0] == " " and not other.isspace())
    is_word = last.islower() or last in _BEFORE_A_WORD or (last.isalpha() and (first.isalpha() or other[0] == " "))
    return is_spaced and is_word and first.isalnum()


def check_role(role: object, *, owner: str = "") -> None:
    """Raise a DataError for what is no name of a role, or names other positions."""
    if not isinstance(role, str) or not role or "[" in role:
        raise DataError(f"{owner}a role is a name without '[', such as 'x1'; got {role!r}.")
    if role in _TAKEN:
        raise DataError(f"{owner}no role may be called {role!r}, which names positions of its own; rename it.")


def check_span(owner: str, role: str, span: Span, text: str) -> None:
    """Raise a DataError if the span does not lie in its text, or the role bears the name of other positions."""
    check_role(role, owner=f"{owner}: ")
    if not 0 <= span[0] < span[1] <= len(text):
        raise DataError(f"{owner}: role {role!r} spans characters {tuple(span)} of a text of {len(text)}.")


def near_duplicates(pairs: Sequence[PromptPair]) -> list[PromptPair]:
    """Find pairs whose contrast a pair of another item has too.

    Two contrasts are one if answer, distractor and the replaced words are, wherever they stand, with what replaces
    them; capitals and punctuation do not count. Prompts of unequal length are compared by the words that one of the two
    lacks.
    """
    items = defaultdict[tuple[object, ...], set[str]](set)
    contrasts = [(pair.answer, pair.distractor, frozenset(_replaced(pair).items())) for pair in pairs]
    for pair, contrast in zip(pairs, contrasts, strict=True):
        items[contrast].add(pair.item)
    return [pair for pair, contrast in zip(pairs, contrasts, strict=True) if len(items[contrast]) > 1]


def differing_words(pair: PromptPair) -> set[str]:
    """Words, without capitals, that one prompt has and the other lacks or has in another place."""
    return {word for replaced in _replaced(pair) for word in replaced if word}


def words_of(text: str) -> list[str]:
    """Words and numbers of a text, without capitals."""
    return re.findall(r"\w+", text.casefold())


def _replaced(pair: PromptPair) -> Counter[tuple[str, str]]:
    """(word, what replaces it); of prompts of unequal length the words that one lacks, beside ""."""
    clean, corrupted = words_of(pair.clean), words_of(pair.corrupted)
    if len(clean) == len(corrupted):
        return Counter(words for words in zip(clean, corrupted, strict=True) if words[0] != words[1])
    removed, added = Counter(clean) - Counter(corrupted), Counter(corrupted) - Counter(clean)
    return Counter({(word, ""): n for word, n in removed.items()} | {("", word): n for word, n in added.items()})
