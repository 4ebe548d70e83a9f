"""A second, independent corruption of the same query: it tells what one wrong task does from what any wrong one does.

The demonstrations keep their inputs and show, where the first corruption shows another task,

- the outputs of a third task that answers all these inputs (`second_task` is its name), or, where there is none,
- words that a third task gives for other inputs, at random ("labels of NAME"), none of them an output of the task or of
  the first corruption.

The task's own outputs in a wrong order would be no control there: heads that tell the task by the kind of its outputs
see it in them unchanged (measured on the bundled model: such donors brought back all of a head's effect, on every task
of one distractor task). Where the first corruption is a permutation itself, the second is another one
("shuffled_labels"), and this is its limit.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from headcats.prompts.derangement import ATTEMPTS, derange

WordPair = tuple[str, str]


class SecondLabels:
    """Outputs of second corruptions for one task.

    Args:
        pairs: The task's own outputs by input.
        others: Every other task's pairs, by name.
        strata: Distractor task -> its outputs on shared inputs.
        corruption: "other_task" or "shuffled_labels", the kind of the first corruption.
    """

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
        own = set(pairs.values())
        outputs = {name: {output for _, output in others[name]} for name in sorted(others)}
        self._outputs = outputs
        self._foreign = {name: sorted(words) for name, words in outputs.items() if not words & own}

    def draw(
        self,
        demonstrations: Sequence[WordPair],
        labels: Sequence[str],
        shown: str,
        draws: np.random.Generator,
    ) -> tuple[str, list[str]] | None:
        """What a second corruption shows, and its outputs in the order of the demonstrations; None if there is none.

        Args:
            demonstrations: (input, output) of the clean prompt.
            labels: Outputs in the corrupted prompt.
            shown: What the corrupted prompt shows.
            draws: Where chance comes from.
        """
        if self._permutes:
            return self._permuted(demonstrations, labels, draws)
        fitting = [
            name
            for name, outputs in self._strata.items()
            if name != shown
            and all(
                outputs.get(given, label) != label for (given, _), label in zip(demonstrations, labels, strict=True)
            )
        ]
        if fitting:
            name = fitting[draws.integers(len(fitting))]
            return name, [self._strata[name][given] for given, _ in demonstrations]
        foreign = [
            name
            for name, words in self._foreign.items()
            if len(words) >= len(demonstrations) and not self._outputs.get(shown, set()) & set(words)
        ]
        if not foreign:
            return None
        name = foreign[draws.integers(len(foreign))]
        words = self._foreign[name]
        chosen = draws.choice(len(words), size=len(demonstrations), replace=False)
        return f"labels of {name}", [words[index] for index in chosen]

    @staticmethod
    def _permuted(
        demonstrations: Sequence[WordPair], labels: Sequence[str], draws: np.random.Generator
    ) -> tuple[str, list[str]] | None:
        own = [output for _, output in demonstrations]
        if len(set(own)) < 2:
            return None
        for _ in range(ATTEMPTS):
            shuffled = derange(own, draws)
            if shuffled != list(labels):
                return "shuffled_labels", shuffled
        return None
