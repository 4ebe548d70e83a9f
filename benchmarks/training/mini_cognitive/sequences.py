"""Training sequences of the suites `cognitive` and `sentences`, and of words in cycles.

Few-shot sequences are as those of the model "mini" (`training.few_shot`), with inputs of several words:
tasks whose inputs have the same number of words share a batch. A question is a sequence of its own, and its loss is
taken at every word of the sentence that answers it, newline included. Words in cycles are a few words over and over, a
different number of them in each sequence: only the word before says what follows, so this is what teaches a model to
look up what stood behind a word earlier, on which most tasks with long inputs rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from training.few_shot import (
    SHARE_OF_ONE_DOMAIN,
    SHARE_RANDOM_LABELS,
    WordPair,
    answer_positions,
    domains,
    few_shot,
    random_labels,
)
from training.fit import Batch, Settings

PAIRS_PER_SEQUENCE = {1: 8, 2: 8, 4: 7, 7: 6}
"""Words of an input -> pairs of a sequence."""
# Words of the inputs that get `long_batches` a step.
LONG = (4, 7)
# Different words of a cycle, and words of a whole sequence.
SHORTEST_CYCLE, LONGEST_CYCLE, CYCLED_WORDS = 4, 10, 20


@dataclass(frozen=True)
class CognitiveSettings(Settings):
    """What the training of the model "mini-cognitive" depends on besides the tasks and the seed."""

    n_positions: int = 96
    sequences_per_task: int = 4
    """Few-shot sequences per step and task, on average."""
    long_batches: int = 2
    """Batches per step of inputs of four and of seven words, which are learned last; one of the others."""
    question_sequences: int = 64
    """Questions per step, the same number of each task of `sentences` on average."""
    question_weight: float = 1.0
    """Weight of their mean loss beside the mean loss over few-shot answers."""
    cycle_sequences: int = 32
    """Sequences per step of words in cycles."""
    cycle_weight: float = 0.5
    check_every: int = 250
    lag_weight: float = 8.0
    first_cycle: int = 4500
    later_cycle: int = 2000


class CognitiveSequences:
    """Draws training sequences as token ids."""

    def __init__(
        self,
        tasks: Mapping[str, Sequence[WordPair]],
        questions: Mapping[str, Sequence[WordPair]],
        vocabulary: Mapping[str, int],
        draws: np.random.Generator,
        *,
        settings: CognitiveSettings,
    ) -> None:
        """`tasks`: name -> (input, output) pairs, inputs of one length; `questions`: name -> (question, sentence)."""
        self.draws, self._settings = draws, settings
        self._boundary, self._newline, self._arrow = (vocabulary[special] for special in ("<|endoftext|>", "\n", "→"))
        self._pairs = {
            task: np.array([[vocabulary[word] for word in f"{text} {output}".split()] for text, output in pairs])
            for task, pairs in tasks.items()
        }
        self._lengths: dict[int, list[str]] = {}
        for task, rows in self._pairs.items():
            self._lengths.setdefault(rows.shape[1] - 1, []).append(task)
        # Cycles are of words that long inputs are made of, for those are the inputs that need the look-up.
        longest = self._lengths[max(self._lengths)]
        self._cycled = np.unique(np.concatenate([self._pairs[task].ravel() for task in longest]))
        self._domains = {
            task: domains(task, {name: tasks[name] for name in names})
            for names in self._lengths.values()
            for task in names
        }
        self.weights = dict.fromkeys(tasks, 1.0)
        self._questions = [
            [self._question(vocabulary, question, sentence) for question, sentence in pairs]
            for pairs in questions.values()
        ]
        rows = [row for kind in self._questions for row in kind]
        self._first_arrow, self._longest = min(row.index(self._arrow) for row in rows), max(map(len, rows))

    def batches(self) -> list[Batch]:
        """Few-shot tasks by the length of their inputs, questions, and words in cycles."""
        settings = self._settings
        sizes = {length: settings.sequences_per_task * len(names) for length, names in self._lengths.items()}
        repeats = {length: settings.long_batches if length in LONG else 1 for length in sizes}
        n_answers = sum(repeats[length] * size * PAIRS_PER_SEQUENCE[length] for length, size in sizes.items())
        few_shot_batches = []
        for length, size in sorted(sizes.items()):
            n_pairs = PAIRS_PER_SEQUENCE[length]
            positions = answer_positions(n_pairs, input_length=length)
            for _ in range(repeats[length]):
                tokens = self.few_shot_batch(length, size)
                few_shot_batches.append(Batch(f"inputs of {length}", tokens, positions, size * n_pairs / n_answers))
        questions, cycles = self.question_batch(settings.question_sequences), self.cycle_batch(settings.cycle_sequences)
        return [*few_shot_batches, questions, cycles]

    def few_shot_batch(self, length: int, n: int) -> Int[np.ndarray, "sequence pos"]:
        """`n` sequences of tasks whose inputs have `length` words."""
        names = self._lengths[length]
        weights = np.array([self.weights[name] for name in names])
        tasks = self.draws.choice(len(names), n, p=weights / weights.sum())
        return np.stack([self._sequence(names[index], PAIRS_PER_SEQUENCE[length]) for index in tasks])

    def question_batch(self, n: int) -> Batch:
        """`n` questions with their sentences, filled up with newlines that do not count."""
        tokens = np.full((n, self._longest), self._newline)
        positions = np.arange(self._first_arrow, self._longest - 1)
        counted = np.zeros((n, len(positions)), bool)
        for place, kind in enumerate(self.draws.integers(len(self._questions), size=n)):
            rows = self._questions[kind]
            row = rows[self.draws.integers(len(rows))]
            tokens[place, : len(row)] = row
            counted[place] = (positions >= row.index(self._arrow)) & (positions < len(row) - 1)
        return Batch("sentences", tokens, positions, self._settings.question_weight, counted)

    def cycle_batch(self, n: int) -> Batch:
        """`n` sequences of the boundary token and some words over and over, each a number of words of its own."""
        lengths = self.draws.integers(SHORTEST_CYCLE, LONGEST_CYCLE + 1, size=n)
        words = np.stack([self.draws.choice(self._cycled, LONGEST_CYCLE, replace=False) for _ in range(n)])
        places = np.arange(CYCLED_WORDS) % lengths[:, None]
        tokens = np.concatenate([np.full((n, 1), self._boundary), np.take_along_axis(words, places, 1)], 1)
        positions = np.arange(SHORTEST_CYCLE + 1, CYCLED_WORDS)
        # The first word that comes again cannot be known to.
        return Batch("cycles", tokens, positions, self._settings.cycle_weight, positions > lengths[:, None])

    def _sequence(self, task: str, n_pairs: int) -> Int[np.ndarray, " pos"]:
        pairs, shared = self._pairs[task], self._domains[task]
        if shared and self.draws.random() < SHARE_OF_ONE_DOMAIN:
            rows = shared[self.draws.integers(len(shared))]
            lines = pairs[rows[self.draws.choice(len(rows), n_pairs, replace=False)]]
        else:
            lines = pairs[self.draws.choice(len(pairs), n_pairs, replace=False)]
        outputs = lines[:, -1]
        if self.draws.random() < SHARE_RANDOM_LABELS:
            outputs = random_labels(outputs, pairs[self.draws.integers(len(pairs), size=n_pairs), -1], self.draws)
        return few_shot(lines[:, :-1], outputs, boundary=self._boundary, arrow=self._arrow, newline=self._newline)

    def _question(self, vocabulary: Mapping[str, int], question: str, sentence: str) -> list[int]:
        before, after = ([vocabulary[word] for word in text.split()] for text in (question, sentence))
        return [self._boundary, *before, self._arrow, *after, self._newline]
