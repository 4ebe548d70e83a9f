"""A second, independent corruption of the same query: separates the effect of one wrong task from that of any.

If the first corruption shows another task, the second keeps the demonstrated inputs and shows

- the outputs of a third task that answers all these inputs, or, if there is none,
- random outputs of a third task for other inputs ("labels of NAME"), none of them an output of the task or of the first
  corruption.

The task's own outputs in a wrong order would be no control: heads that recognise the task by the kind of its outputs
still see that kind (on the bundled model such donors restored a head's whole effect in every task with a single
distractor task). If the first corruption is a permutation, the second is another one ("shuffled_labels"), with just
that limitation.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from headcats.prompts.pair import WordPair

# Random permutations tried before one is constructed.
ATTEMPTS = 50


class SecondLabels:
    """Outputs of second corruptions for one task; `strata`: distractor task -> its outputs for shared inputs."""

    def __init__(
        self,
        pairs: Mapping[str, str],
        others: Mapping[str, Sequence[WordPair]],
        strata: Mapping[str, Mapping[str, str]],
        *,
        corruption: str,
    ) -> None:
        self._permutes = corruption == "shuffled_labels"
        self._strata = strata
        self._outputs = {name: {output for _, output in others[name]} for name in sorted(others)}
        self._foreign = {name: sorted(w) for name, w in self._outputs.items() if w.isdisjoint(pairs.values())}

    def draw(
        self,
        demonstrations: Sequence[WordPair],
        labels: Sequence[str],
        distractor_task: str,
        draws: np.random.Generator,
    ) -> tuple[str, list[str]] | None:
        """Name and outputs, in the order of the demonstrations, of a second corruption; None if there is none.

        `labels` are the outputs in the corrupted prompt, `distractor_task` the task that it shows.
        """
        inputs, outputs = zip(*demonstrations, strict=True)
        if self._permutes:
            shuffles = (derange(outputs, draws) for _ in range(ATTEMPTS if len(set(outputs)) > 1 else 0))
            return next((("shuffled_labels", words) for words in shuffles if words != list(labels)), None)
        third_tasks = [
            name
            for name, answers in self._strata.items()
            if name != distractor_task
            and all(answers.get(word, label) != label for word, label in zip(inputs, labels, strict=True))
        ]
        if third_tasks:
            name = third_tasks[draws.integers(len(third_tasks))]
            return name, [self._strata[name][word] for word in inputs]
        first = self._outputs.get(distractor_task, set())
        foreign = [name for name, w in self._foreign.items() if len(w) >= len(inputs) and first.isdisjoint(w)]
        if not foreign:
            return None
        name = foreign[draws.integers(len(foreign))]
        words = self._foreign[name]
        return f"labels of {name}", [words[i] for i in draws.choice(len(words), size=len(inputs), replace=False)]


def derange(labels: Sequence[str], draws: np.random.Generator) -> list[str]:
    """A permutation that changes as many labels as possible: all, unless more than half of them are equal."""
    most = max(labels.count(label) for label in labels)
    changeable = min(len(labels), 2 * (len(labels) - most))
    for _ in range(ATTEMPTS):
        candidate = [labels[index] for index in draws.permutation(len(labels))]
        if sum(a != b for a, b in zip(candidate, labels, strict=True)) == changeable:
            return candidate
    # Rare if there are few distinct labels: sorted by label and shifted by the largest group, no group meets itself.
    order = sorted(draws.permutation(len(labels)).tolist(), key=lambda index: labels[index])
    moved = list(labels)
    for rank, index in enumerate(order):
        moved[index] = labels[order[(rank + most) % len(labels)]]
    return moved
