"""Few-shot sequences as token ids: lines of `x → y`, some with random labels."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int

WordPair = tuple[str, str]

LEAST_SHARED_INPUTS = 12
SHARE_RANDOM_LABELS = 0.18
SHARE_OF_ONE_DOMAIN = 0.5


def answer_positions(n_pairs: int, *, input_length: int) -> Int[np.ndarray, " answer"]:
    """Positions of the arrows, from 0, in a sequence of `n_pairs` whose inputs are `input_length` tokens long."""
    return input_length + 1 + (input_length + 3) * np.arange(n_pairs)


def random_labels(
    outputs: Int[np.ndarray, " pair"], random_outputs: Int[np.ndarray, " pair"], draws: np.random.Generator
) -> Int[np.ndarray, " pair"]:
    """`random_outputs`, in half of the cases after a first block in which the true `outputs` change places.

    The block is what a prompt with shuffled labels looks like.
    """
    labels = random_outputs.copy()
    if draws.random() < 0.5:
        block = int(draws.integers(2, len(outputs)))
        labels[:block] = outputs[:block][_derangement(block, draws)]
    return labels


def few_shot(
    inputs: Int[np.ndarray, "pair input"], outputs: Int[np.ndarray, " pair"], *, boundary: int, arrow: int, newline: int
) -> Int[np.ndarray, " pos"]:
    """The boundary token and one line of `x → y` for each pair."""
    arrows, newlines = np.full(len(inputs), arrow), np.full(len(inputs), newline)
    rows = np.concatenate([inputs, arrows[:, None], outputs[:, None], newlines[:, None]], 1)
    return np.concatenate([[boundary], rows.ravel()])


def _derangement(n: int, draws: np.random.Generator) -> Int[np.ndarray, " place"]:
    """A random order of `n >= 2` in which nothing keeps its place."""
    while True:
        order = draws.permutation(n)
        if (order != np.arange(n)).all():
            return order


def domains(task: str, tables: Mapping[str, Sequence[WordPair]]) -> list[np.ndarray]:
    """Rows of the inputs that another task answers differently, one array for each task with enough of them."""
    rows_by_task = []
    for distractor, pairs in tables.items():
        answers = dict(pairs)
        rows = [row for row, (word, output) in enumerate(tables[task]) if answers.get(word, output) != output]
        if distractor != task and len(rows) >= LEAST_SHARED_INPUTS:
            rows_by_task.append(np.array(rows))
    return rows_by_task
