"""The inputs and answers that a task could ask about, whatever a study draws of them."""

import functools
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headcats.prompts.pair import PromptPair, WordPair, differing_words, words_of
from headcats.tasks.definition import Task

Pairs = Sequence[WordPair] | Sequence[PromptPair]
_DRAWN, _DRAWN_OF_MANY = 512, 8192  # the second of a vocabulary so large that its words hardly repeat
# Inputs of which two draws share less are compared by their words.
_REPEATED = 0.1
# Of fewer that are in both draws, the number of all cannot be estimated.
_LEAST_REPEATED = 10
_NEARLY_ALL, _LEAST_WORDS = 0.9, 2  # clean prompts that have a word of the template; words of one

_LONGEST = 60  # characters of a template; of a longer one a checksum tells the rest


@dataclass(frozen=True)
class Vocabulary:
    """Texts that two independent draws gave; of a table both are the whole."""

    first: frozenset[str]
    second: frozenset[str]

    @functools.cached_property
    def seen(self) -> frozenset[str]:
        """Texts of either draw."""
        return self.first | self.second

    @functools.cached_property
    def n_repeated(self) -> int:
        """Number of texts in both draws."""
        return len(self.first & self.second)

    @functools.cached_property
    def size(self) -> float:
        """Number of texts that could be drawn, by capture and recapture."""
        if self.first == self.second:
            return len(self.first)
        estimate = len(self.first) * len(self.second) / max(self.n_repeated, _LEAST_REPEATED)
        return max(estimate, len(self.seen))

    def common(self, other: "Vocabulary") -> float:
        """Number of texts that both could draw."""
        shares_seen = (len(of.seen) / of.size for of in (self, other))
        return len(self.seen & other.seen) / next(shares_seen) / next(shares_seen)


@dataclass(frozen=True)
class Material:
    """Inputs and answers that a task could ask about."""

    inputs: Vocabulary
    """Of finished prompts, the words that differ between clean and corrupted."""
    answers: Vocabulary
    """Of finished prompts, with the distractors."""
    words: Vocabulary | None = None
    """Words of inputs that hardly ever repeat."""
    is_finished: bool = False
    """True of finished prompts."""
    template: str = ""
    """Words of nearly all clean prompts."""
    corruptions: frozenset[str] = frozenset()
    """Names of the corruptions of finished prompts."""

    @property
    def contrast(self) -> tuple[str, frozenset[str]] | None:
        """Template and corruptions; None where there is no template."""
        return (self.template, self.corruptions) if self.template else None

    def shared_inputs(self, other: "Material") -> float:
        """Share of the inputs of the task with fewer that the other one has, 0 to 1."""
        both = (self.words, other.words) if self.words and other.words else (self.inputs, other.inputs)
        return min(1.0, both[0].common(both[1]) / min(both[0].size, both[1].size))

    def shared_answers(self, other: "Material") -> float:
        """Share of the answers of the task with more that the other one has, 0 to 1."""
        return min(1.0, self.answers.common(other.answers) / max(self.answers.size, other.answers.size))


def material(task: Task) -> Material:
    """Inputs and answers of a task, from two draws that are independent of those of other tasks."""
    drawn = _material(_draws(task, n=_DRAWN))
    words = drawn.words or drawn.inputs
    if words.first != words.second and words.n_repeated < _LEAST_REPEATED:
        drawn = _material(_draws(task, n=_DRAWN_OF_MANY))
    return drawn


def _draws(task: Task, *, n: int) -> list[Pairs]:
    """Two draws; of a table, which gives more than is asked for, or of a file of word pairs the whole, twice."""
    seed = 2 * zlib.crc32(task.name.encode("utf-8"))
    first = task.pairs(n, seed=seed)
    kept = 0 if task.drops is None else task.drops.kept
    if kept > n and isinstance(first[0], tuple):
        first = task.pairs(kept, seed=seed)
    return [first, first if len(first) > n else task.pairs(n, seed=seed + 1)]


def _material(draws: Sequence[Pairs]) -> Material:
    prompts = [[pair for pair in pairs if isinstance(pair, PromptPair)] for pairs in draws]
    if any(prompts):
        inputs = _vocabulary(prompts, differing_words)
        answers = _vocabulary(prompts, lambda pair: (pair.answer.strip(), pair.distractor.strip()))
        corruptions = frozenset(pair.distractor_task for pair in prompts[0])
        return Material(inputs, answers, None, True, _template(prompts[0]), corruptions)
    words = [[pair for pair in pairs if not isinstance(pair, PromptPair)] for pairs in draws]
    inputs, answers = (_vocabulary(words, lambda pair, place=place: (pair[place],)) for place in range(2))
    if inputs.n_repeated >= _REPEATED * min(len(inputs.first), len(inputs.second)):
        return Material(inputs, answers)
    return Material(inputs, answers, _vocabulary(words, lambda pair: words_of(pair[0])))


def _vocabulary(draws: Sequence[Sequence], texts: Callable[..., Iterable[str]]) -> Vocabulary:
    first, second = (frozenset(text for pair in pairs for text in texts(pair)) for pairs in draws)
    return Vocabulary(first, second)


def _template(pairs: Sequence[PromptPair]) -> str:
    count = Counter(word for pair in pairs for word in set(words_of(pair.clean)))
    words = sorted(word for word, n in count.items() if n >= _NEARLY_ALL * len(pairs))
    text = " ".join(words) if len(words) >= _LEAST_WORDS else ""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… {zlib.crc32(text.encode('utf-8')):08x}"
