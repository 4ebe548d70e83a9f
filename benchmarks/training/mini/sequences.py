"""Training sequences: few-shot prompts of the suite's tasks, some with random labels, and repeated words.

A sequence is the boundary token and lines of `x → y`. The loss is taken at every answer, so one sequence of eight pairs
trains prompts of 0 to 7 demonstrations. Three kinds:

* clean: all pairs are of one task. In half of the table tasks' sequences the inputs come from those that one other task
  answers differently, so that the kind of word alone does not give the task away;
* random labels: outputs of the same task in random order. Without them the outputs' vocabulary is enough to recognise
  the task, and shuffled labels would change nothing;
* repeated words: ten random words twice; copying them is what list tasks need to work on words they rarely see.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

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

Ids = Int[np.ndarray, "sequence pos"]

PAIRS_PER_SEQUENCE = 8
LISTS_PER_SEQUENCE = 6
REPEATED_WORDS = 10
# Tables are drawn by the root of their size, none more rarely than one of this many pairs.
LEAST_TABLE_SIZE = 64

# What each list task answers, given three items and the numbers they stand for.
LIST_ANSWERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "list_first": lambda items, values: items[:, 0],
    "list_middle": lambda items, values: items[:, 1],
    "list_last": lambda items, values: items[:, 2],
    "list_max": lambda items, values: np.take_along_axis(items, values.argmax(1)[:, None], 1)[:, 0],
    "list_min": lambda items, values: np.take_along_axis(items, values.argmin(1)[:, None], 1)[:, 0],
}
NUMBER_LIST_TASKS = ("list_max", "list_min")


@dataclass(frozen=True)
class MiniSettings(Settings):
    """What the training of the model "mini" depends on besides the tasks and the seed."""

    table_sequences: int = 72
    """Sequences per step of table tasks, of list tasks and of repeated words."""
    list_sequences: int = 36
    repeated_sequences: int = 16
    repeated_weight: float = 0.3
    """Weight of the repeated words' loss beside the mean loss over answers."""


def held_out(lists: Int[np.ndarray, "list 3"]) -> Bool[np.ndarray, " list"]:
    """Lists (token ids of their items) that no training sequence holds: an arbitrary eighth of all."""
    return (lists @ np.array([7919, 104729, 1299709])) % 8 == 0


class Sequences:
    """Draws training sequences as token ids."""

    def __init__(
        self,
        tables: Mapping[str, Sequence[WordPair]],
        list_words: Sequence[str],
        vocabulary: Mapping[str, int],
        draws: np.random.Generator,
        *,
        settings: MiniSettings,
    ) -> None:
        """The vocabulary holds all words of the tasks, the special tokens and the numbers 0 to 99."""
        self.draws, self._settings = draws, settings
        self._boundary, self._newline, self._arrow, self._comma = (
            vocabulary[special] for special in ("<|endoftext|>", "\n", "→", ",")
        )
        # A tokenizer lists its vocabulary in a random order; sorted, a seed gives the same sequences again.
        self._words = np.array(sorted(token for word, token in vocabulary.items() if word[0] not in "<\n→,"))
        self._list_words = np.array([vocabulary[word] for word in list_words])
        self._numbers = np.array([vocabulary[str(number)] for number in range(100)])
        self._values = np.zeros(len(vocabulary), int)
        self._values[self._numbers] = np.arange(100)
        self._pairs = {
            task: np.array([(vocabulary[word], vocabulary[output]) for word, output in pairs])
            for task, pairs in tables.items()
        }
        self._domains = {task: domains(task, tables) for task in tables}
        self.weights = {task: max(len(pairs), LEAST_TABLE_SIZE) ** 0.5 for task, pairs in tables.items()}
        self.weights |= dict.fromkeys(LIST_ANSWERS, 1.0)

    def batches(self) -> list[Batch]:
        """Table tasks, list tasks and repeated words: the mean loss over answers, and the repeated words' beside it."""
        settings = self._settings
        n_tables, n_lists = settings.table_sequences * PAIRS_PER_SEQUENCE, settings.list_sequences * LISTS_PER_SEQUENCE
        tables, lists = self.table_batch(settings.table_sequences), self.list_batch(settings.list_sequences)
        return [
            Batch(
                "tables", tables, answer_positions(PAIRS_PER_SEQUENCE, input_length=1), n_tables / (n_tables + n_lists)
            ),
            Batch("lists", lists, answer_positions(LISTS_PER_SEQUENCE, input_length=5), n_lists / (n_tables + n_lists)),
            repeated_words(
                self._words,
                settings.repeated_sequences,
                boundary=self._boundary,
                weight=settings.repeated_weight,
                draws=self.draws,
            ),
        ]

    def table_batch(self, n: int) -> Ids:
        """`n` sequences of table tasks: the boundary token and `PAIRS_PER_SEQUENCE` pairs."""
        return np.stack([self._table_sequence(task) for task in self._tasks(self._pairs, n)])

    def list_batch(self, n: int) -> Ids:
        """`n` sequences of list tasks: the boundary token and `LISTS_PER_SEQUENCE` lists with their answers."""
        return np.stack([self._list_sequence(task) for task in self._tasks(LIST_ANSWERS, n)])

    def _tasks(self, names: Mapping[str, object], n: int) -> list[str]:
        weights = np.array([self.weights[name] for name in names])
        return [list(names)[index] for index in self.draws.choice(len(names), n, p=weights / weights.sum())]

    def _table_sequence(self, task: str) -> Int[np.ndarray, " pos"]:
        pairs, domains = self._pairs[task], self._domains[task]
        rows = np.arange(len(pairs))
        if domains and self.draws.random() < SHARE_OF_ONE_DOMAIN:
            rows = domains[self.draws.integers(len(domains))]
        inputs, outputs = pairs[self.draws.permutation(rows)[:PAIRS_PER_SEQUENCE]].T
        if self.draws.random() < SHARE_RANDOM_LABELS:
            outputs = random_labels(outputs, self.draws.choice(pairs[:, 1], PAIRS_PER_SEQUENCE), self.draws)
        return self._sequence(inputs[:, None], outputs)

    def _list_sequence(self, task: str) -> Int[np.ndarray, " pos"]:
        items = self._lists(task)
        outputs = LIST_ANSWERS[task](items, self._values[items])
        if self.draws.random() < SHARE_RANDOM_LABELS:
            which = self.draws.integers(3, size=len(items))
            outputs = random_labels(outputs, items[np.arange(len(items)), which], self.draws)
        comma = np.full(len(items), self._comma)
        return self._sequence(np.stack([items[:, 0], comma, items[:, 1], comma, items[:, 2]], 1), outputs)

    def _lists(self, task: str) -> Int[np.ndarray, "list 3"]:
        """Lists of three different items, none of them held out: all of numbers, all of words, or some of each.

        A fifth of the word lists draws from the whole vocabulary, so that copying does not depend on the word.
        """
        n = LISTS_PER_SEQUENCE
        words = self._words if self.draws.random() < 0.2 else self._list_words
        share_numbers = 1.0 if task in NUMBER_LIST_TASKS else self.draws.choice([0.0, 0.5, 1.0], p=[0.45, 0.3, 0.25])
        of_numbers = self.draws.random(n) < share_numbers
        items = np.zeros((n, 3), int)
        redraw = np.ones(n, bool)
        while redraw.any():
            fresh = np.where(
                of_numbers[:, None], self.draws.choice(self._numbers, (n, 3)), self.draws.choice(words, (n, 3))
            )
            items[redraw] = fresh[redraw]
            repeats = (items == np.roll(items, 1, axis=1)).any(1)
            redraw = repeats | held_out(items)
        return items

    def _sequence(self, inputs: Int[np.ndarray, "pair input"], outputs: Int[np.ndarray, " pair"]) -> np.ndarray:
        return few_shot(inputs, outputs, boundary=self._boundary, arrow=self._arrow, newline=self._newline)


def repeated_words(
    words: Int[np.ndarray, " word"], n: int, *, boundary: int, weight: float, draws: np.random.Generator
) -> Batch:
    """`n` sequences of the boundary token and `REPEATED_WORDS` random words, twice."""
    repeated = draws.choice(words, (n, REPEATED_WORDS))
    tokens = np.concatenate([np.full((n, 1), boundary), repeated, repeated], 1)
    # The first repeated word cannot be known to be one.
    return Batch("repeated words", tokens, np.arange(REPEATED_WORDS + 1, 2 * REPEATED_WORDS), weight)
