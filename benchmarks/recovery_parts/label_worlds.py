"""Worlds in which labels of tasks mean something, or nothing, and what the verdicts of `evidence` say of them.

A study has the effects of every head on every task, measured with independent noise on two halves of the items, and the
damage by sets of heads on the second half: the sum of their effects with the same kind of noise. headcats' own
functions choose the heads and do the statistics.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from headcats.evidence.chosen_heads import chosen_sets
from headcats.evidence.relabelling import draw_labellings
from headcats.evidence.specificity import tested_categories
from headcats.evidence.verdicts import ALPHA, NOT_SUPPORTED, SUPPORTED
from headcats.models.head import Head

Effects = Float[np.ndarray, "task head"]
CATEGORIES = ("A", "B", "C", "D")


@dataclass(frozen=True)
class LabelStudy:
    """Sizes of a study."""

    tasks: int = 5
    items: int = 32  # query items per task, half of them for each half
    sd: float = 0.15  # standard deviation of the effect of a head on an item
    relabellings: int = 200  # as in `hc.run_evidence`

    @property
    def labels(self) -> np.ndarray:
        """Category of every task."""
        return np.repeat(np.arange(len(CATEGORIES)), self.tasks)


HEADS = [Head(layer, head) for layer in range(6) for head in range(8)]
FRAGILITY = np.array([1.0, 2.0, 4.0, 8.0])
"""How much more the tasks of the second, third and fourth category react to every head."""


def _generic(labels: np.ndarray, rng: np.random.Generator) -> Effects:
    """Six heads that serve every task alike, with effects of .1 to .3."""
    profile = np.zeros(len(HEADS))
    profile[rng.permutation(len(HEADS))[:6]] = rng.uniform(0.1, 0.3, 6)
    return np.tile(profile, (len(labels), 1))


def _by_category(effects: Effects, labels: np.ndarray, largest: float = 2.0) -> Effects:
    return effects * (largest * FRAGILITY / FRAGILITY.max())[labels][:, None]


def _own_heads(labels: np.ndarray, rng: np.random.Generator, categories: int = 4, effect: float = 0.1) -> Effects:
    """Three heads of its own for every category, without any other effect."""
    effects, order = np.zeros((len(labels), len(HEADS))), rng.permutation(len(HEADS))
    for category in range(categories):
        effects[np.ix_(labels == category, order[3 * category : 3 * category + 3])] = effect
    return effects


def _by_task(effects: Effects, rng: np.random.Generator, spread: float) -> Effects:
    return effects * np.exp(rng.normal(0, spread, len(effects)))[:, None]


def _vocabularies(study: LabelStudy) -> tuple[np.ndarray, np.ndarray]:
    """Number of every task's vocabulary, two tasks of a category each, and which tasks are linked beyond it.

    The last task of every vocabulary shares words with the first of the next one, a chain through all categories.
    """
    numbers = np.cumsum([task % 2 == 0 for _ in CATEGORIES for task in range(study.tasks)]) - 1
    follows = np.diff(numbers).astype(bool)
    return numbers, np.diag(follows, k=1) | np.diag(follows, k=-1)


def _by_words(labels: np.ndarray, rng: np.random.Generator) -> Effects:
    """Generic heads, and three heads of .1 for every vocabulary."""
    vocabulary, _ = _vocabularies(LabelStudy(tasks=len(labels) // len(CATEGORIES)))
    effects, order = _generic(labels, rng), rng.permutation(len(HEADS))
    for number in set(vocabulary.tolist()):
        effects[np.ix_(vocabulary == number, order[3 * number : 3 * number + 3])] += 0.1
    return effects


WORDS = "heads of their own for words, which one or two tasks ask about"
CEILING = "three categories at the ceiling"
"""Their tasks react fifty times less to everything, noise among it."""
World = Callable[[np.ndarray, np.random.Generator], Effects]
NULL: dict[str, World] = {
    "no effect at all": lambda labels, rng: np.zeros((len(labels), len(HEADS))),
    "identical tasks": _generic,
    "fragility by category, 1 2 4 8, weakest .05 of .2": lambda labels, rng: _by_category(
        _generic(labels, rng), labels
    ),
    "the same, twice as strong": lambda labels, rng: _by_category(_generic(labels, rng), labels, 4.0),
    "fragility by task": lambda labels, rng: _by_task(_generic(labels, rng), rng, 0.8),
    "task x head noise": lambda labels, rng: _generic(labels, rng) + rng.normal(0, 0.08, (len(labels), len(HEADS))),
    "task x head noise, fragility by category": lambda labels, rng: _by_category(
        _generic(labels, rng) + rng.normal(0, 0.08, (len(labels), len(HEADS))), labels
    ),
    "every effect times a random factor, fragility by category": lambda labels, rng: _by_category(
        _generic(labels, rng) * np.exp(rng.normal(0, 0.5, (len(labels), len(HEADS)))), labels
    ),
    CEILING: _generic,
    WORDS: _by_words,
}
"""Name -> effects of a world in which the labels mean nothing, or nothing but how easily tasks break."""
POWER: dict[str, World] = {
    "three heads of its own, .1": _own_heads,
    "three heads of its own, .05": lambda labels, rng: _own_heads(labels, rng, effect=0.05),
    "the same among generic heads": lambda labels, rng: _generic(labels, rng) + _own_heads(labels, rng),
    "the same, fragility by task": lambda labels, rng: _by_task(
        _generic(labels, rng) + _own_heads(labels, rng), rng, 0.5
    ),
}
"""Name -> effects of a world in which every category has heads of its own."""
PARTLY: dict[str, World] = {
    "three of four have heads of their own, .1": lambda labels, rng: _generic(labels, rng) + _own_heads(labels, rng, 3),
    "three of four have heads of their own, .3": lambda labels, rng: (
        _generic(labels, rng) + _own_heads(labels, rng, 3, 0.3)
    ),
}
"""Name -> effects of a world in which the last category has none."""


def verdicts(name: str, study: LabelStudy, rng: np.random.Generator) -> dict[str, Any]:
    """Per category, whether it is supported, and whether either statistic alone would be enough; and the error rate."""
    labels = study.labels
    true = (NULL | POWER | PARTLY)[name](labels, rng)
    reacts = np.where(labels == 0, 1.0, 0.02)[:, None] if name == CEILING else 1.0
    noise = study.sd / np.sqrt(study.items / 2)
    chosen_on, matched, ablated = (reacts * (true + rng.normal(0, noise, true.shape)) for _ in range(3))
    labellings = draw_labellings(
        labels,
        *(_vocabularies(study) if name == WORDS else [np.arange(len(labels))]),
        n_categories=len(CATEGORIES),
        n=study.relabellings,
        seed=int(rng.integers(2**31)),
    )
    tasks = [f"task{place}" for place in range(len(labels))]
    chosen = dict(zip(tasks, chosen_sets(chosen_on, labellings, HEADS), strict=True))
    shares = {
        task: np.array([ablated[place, [HEADS.index(head) for head in members]].sum() for members in sets])
        for place, (task, (sets, _)) in enumerate(chosen.items())
    }
    tested, _ = tested_categories((chosen_on, matched), labellings, chosen, shares, categories=CATEGORIES, measured={})
    return {
        "supported": (tested["verdict"] == SUPPORTED).values.tolist(),
        "not_supported": (tested["verdict"] == NOT_SUPPORTED).values.tolist(),
        "signature": (tested["signature_p"] <= ALPHA).values.tolist(),
        "causal": (tested["causal_p"] <= ALPHA).values.tolist(),
        "error_rate": tested["error_rate"].item(),
    }
