"""Independent sources: tasks that share words, a template or a group are one replicate of a category, not several.

Compared is all that a task could ask about, not what a study draws of it: the number of prompts changes nothing.
"""

import functools
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy
from jaxtyping import Bool, Float, Int

from headcats.prompts.pair import PromptPair, WordPair, differing_words, words_of
from headcats.tasks.definition import Task

SHARED_WORDS = 1 / 3
"""Share of inputs or answers from which on two tasks are linked."""
_TIE = 1e-9  # means of shares are rounded
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
    """Words that differ between clean and corrupted, of finished prompts."""
    answers: Vocabulary
    """Answers with the distractors, of finished prompts."""
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


@dataclass(frozen=True)
class Sources:
    """Sources of the tasks of a suite; keys are tasks, in the order of the suite."""

    labels: Mapping[str, str]
    """The group that the user names, or the first task of the source."""
    joined_by: Mapping[str, str]
    """What a task shares with others of its source, such as "inputs, answers"; "" of a task alone."""
    linked: Mapping[str, tuple[str, ...]]
    """Tasks of other sources that share at least a third of its inputs or answers."""
    templates: Mapping[str, str]
    """Of finished prompts alone: words of nearly all clean ones, in alphabetical order; "" where there are none."""


def independent_sources(tasks: Sequence[Task]) -> Sources:
    """Find which tasks are one source, from their pairs, for which each is asked with seeds of its own.

    Two tasks are linked if they share a third of their inputs, of the task with fewer, or of their answers, of the
    task with more: a few answers, such as digits, are part of many others. The number of texts that a task can draw is
    estimated from two draws (Lincoln-Petersen). Lists of words hardly ever repeat: two tasks with such inputs are
    compared by their words. The inputs of finished prompts are the words that differ between clean and corrupted.

    One source are tasks that are linked on average (average linkage), those of finished prompts with one template and
    corruption, and those of one `group`; a group with the name of a task holds it too. Answers that all tasks share,
    and a template and corruption that all have, join none: no category can differ from another by them.

    References:
        Sokal & Michener (1958), Univ. Kansas Sci. Bull. 38, 1409 (average linkage); Seber (1982), The Estimation of
        Animal Abundance (Lincoln-Petersen).
    """
    names, materials = [task.name for task in tasks], [material(task) for task in tasks]
    inputs, answers = _matrix(materials, Material.shared_inputs), _matrix(materials, Material.shared_answers)
    if (answers >= SHARED_WORDS).all():
        answers = np.eye(len(tasks))
    contrasts = _overlap([{of_task.contrast} - {None} for of_task in materials])
    reasons = {
        "inputs": inputs >= SHARED_WORDS,
        "answers": answers >= SHARED_WORDS,
        "template and corruption": contrasts & (not contrasts.all()),
        "group": _overlap([{task.group, task.name} - {None} for task in tasks]),
    }
    shared = np.maximum(inputs, answers)
    joined = _averaged(shared) | reasons["template and corruption"] | reasons["group"]
    numbers = scipy.sparse.csgraph.connected_components(joined)[1]
    together = numbers[:, None] == numbers
    linked = (shared >= SHARED_WORDS) & ~together
    others = together & ~np.eye(len(tasks), dtype=bool)
    labels, joined_by = {}, {}
    for place, (name, of_task) in enumerate(zip(names, materials, strict=True)):
        members = np.flatnonzero(together[place]).tolist()
        labels[name] = next(filter(None, (tasks[member].group for member in members)), names[members[0]])
        joined_by[name] = ", ".join(
            "differing words" if reason == "inputs" and of_task.is_finished else reason
            for reason, alike in reasons.items()
            if (alike & others)[place].any()
        )
    return Sources(
        labels,
        joined_by,
        {name: tuple(names[other] for other in np.flatnonzero(row)) for name, row in zip(names, linked, strict=True)},
        {name: of_task.template for name, of_task in zip(names, materials, strict=True) if of_task.is_finished},
    )


def _matrix(
    materials: Sequence[Material], share: Callable[[Material, Material], float]
) -> Float[np.ndarray, "task task"]:
    """Shares of all pairs of tasks, each with itself 1."""
    shares = np.eye(len(materials))
    for row, column in combinations(range(len(materials)), 2):
        shares[row, column] = shares[column, row] = share(materials[row], materials[column])
    return shares


def _overlap(marks: Sequence[AbstractSet[Hashable]]) -> Bool[np.ndarray, "task task"]:
    """True where two tasks have a mark in common."""
    return np.array([[not one.isdisjoint(other) for other in marks] for one in marks])


def _averaged(shared: Float[np.ndarray, "task task"]) -> Bool[np.ndarray, "task task"]:
    """True for tasks of one cluster: its tasks share a third on average (average linkage)."""
    if len(shared) < 2:
        return np.ones_like(shared, dtype=bool)
    tree = scipy.cluster.hierarchy.linkage(1 - shared[np.triu_indices(len(shared), k=1)], "average")
    clusters: Int[np.ndarray, " task"] = scipy.cluster.hierarchy.fcluster(tree, 1 - SHARED_WORDS + _TIE, "distance")
    return clusters[:, None] == clusters
