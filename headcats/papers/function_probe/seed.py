"""One seed of the function probe: trained, tested on new items and new tasks, and its importance read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from headcats.base.errors import DataError, pluralize
from headcats.papers.function_probe.classifier import FunctionClassifier, fit_classifier, head_importance
from headcats.papers.function_probe.features import HeadFeatures
from headcats.papers.function_probe.settings import FunctionProbeSettings
from headcats.papers.function_probe.splits import held_out_texts, items_of, left_out_tasks, task_of
from headcats.statistics.accuracy import (
    UNKNOWN,
    Accuracy,
    accuracy_difference_p,
    clustered_accuracy,
    largest_share,
)
from headcats.statistics.random_streams import stream


@dataclass(frozen=True)
class SeedResult:
    """Result of one probe; chance is the accuracy of the best constant guess."""

    importance: Float[np.ndarray, "function head"]
    """Signed mean gradient x activation on held-out texts, in units of the class logit."""
    accuracy: Accuracy
    """On held-out items; clusters are items."""
    chance: float
    function_accuracy: Float[np.ndarray, " function"]
    left_out: Accuracy
    """On left-out tasks; clusters are tasks. NaN if none was left out."""
    left_out_chance: float
    by_task: dict[tuple[str, str], float]
    """(function, task) -> accuracy when it was left out."""
    words: Accuracy
    """On held-out items, of a probe of the chosen answer words alone."""
    words_p: float
    """Two-sided p that both probes are right equally often."""


def probe_seed(
    features: HeadFeatures,
    functions: Sequence[str],
    *,
    settings: FunctionProbeSettings,
    seed: int,
    probe: int,
    advance: Callable[[float, str], None] = lambda share, step: None,
) -> SeedResult:
    """Train and read one probe on the features of texts of these functions only.

    Split, initial weights, order and dropout come from `seed` and the number of the `probe` alone. A DataError if a
    probe does not converge, or the interval of its accuracy on held-out items is not above chance: its importance would
    describe nothing.
    """
    texts = features.texts
    labels = torch.tensor([functions.index(text.category) for text in texts])
    held_out = held_out_texts(texts, functions, folds=settings.folds, seed=seed, probe=probe)
    rounds = left_out_tasks(texts, seed=seed, probe=probe) if probe < settings.left_out_seeds else []

    def fit(train: Bool[np.ndarray, " text"], number: int, step: str) -> FunctionClassifier:
        return fit_classifier(
            features.at(train).values,
            labels[torch.from_numpy(train)],
            n_classes=len(functions),
            settings=settings,
            seed=int(stream(seed, "function_probe", "fit", str(probe), step).integers(2**63 - 1)),
            advance=lambda share: advance((number + share) / (1 + len(rounds)), step),
        )

    def right_for(classifier: FunctionClassifier, tested: Bool[np.ndarray, " text"]) -> Bool[np.ndarray, " tested"]:
        return (classifier.predict(features.at(tested).values) == labels[torch.from_numpy(tested)]).numpy()

    classifier = fit(~held_out, 0, "probe of functions")
    right, tested_labels = right_for(classifier, held_out), labels[torch.from_numpy(held_out)]
    items = items_of(texts)[held_out]
    accuracy, chance = clustered_accuracy(right, items), largest_share(tested_labels.numpy())
    _check_above_chance(accuracy, chance, items)
    by_task: dict[tuple[str, str], Bool[np.ndarray, " text"]] = {}
    for number, tasks in enumerate(rounds, start=1):
        train = np.array([task_of(text) not in tasks for text in texts])
        without_tasks = fit(train, number, f"without tasks {number} of {len(rounds)}")
        for task in sorted(tasks):
            by_task[task] = right_for(without_tasks, np.array([task_of(text) == task for text in texts]))
    importance = head_importance(classifier, features.at(held_out).values, tested_labels, n_classes=len(functions))
    words = _right_by_words(features, labels, held_out, settings=settings, seed=seed, probe=probe)
    return SeedResult(
        importance.numpy(),
        accuracy,
        chance,
        np.array([right[tested_labels.numpy() == number].mean() for number in range(len(functions))]),
        *_left_out(by_task),
        {task: float(correct.mean()) for task, correct in by_task.items()},
        clustered_accuracy(words, items),
        accuracy_difference_p(right, words, items, rng=stream(seed, "function_probe", "words", str(probe))),
    )


def _right_by_words(
    features: HeadFeatures,
    labels: Int[Tensor, " text"],
    held_out: Bool[np.ndarray, " text"],
    *,
    settings: FunctionProbeSettings,
    seed: int,
    probe: int,
) -> Bool[np.ndarray, " tested"]:
    """True where a probe of the same kind, reading the embedding of the answer's words and no head, is right.

    One that does not converge knows nothing, and guesses the most frequent function.
    """
    train, tested = (torch.from_numpy(places) for places in (~held_out, held_out))
    n_classes = int(labels.max()) + 1
    try:
        classifier = fit_classifier(
            features.words[train.to(features.words.device), None],
            labels[train],
            n_classes=n_classes,
            settings=settings,
            seed=int(stream(seed, "function_probe", "fit", str(probe), "words").integers(2**63 - 1)),
        )
    except DataError:
        guess = torch.bincount(labels[train], minlength=n_classes).argmax()
        return (labels[tested] == guess).numpy()
    return (classifier.predict(features.words[tested.to(features.words.device), None]) == labels[tested]).numpy()


def _left_out(by_task: dict[tuple[str, str], Bool[np.ndarray, " text"]]) -> tuple[Accuracy, float]:
    if not by_task:
        return UNKNOWN, float("nan")
    right = np.concatenate(list(by_task.values()))
    sizes = [len(correct) for correct in by_task.values()]
    functions = np.repeat([function for function, _ in by_task], sizes)
    return clustered_accuracy(right, np.repeat(np.arange(len(sizes)), sizes)), largest_share(functions)


def _check_above_chance(accuracy: Accuracy, chance: float, items: Shaped[np.ndarray, " tested"]) -> None:
    if accuracy.low > chance:
        return
    right = (
        f"The function probe is right for {accuracy.share:.3f} of the held-out texts (95 % interval {accuracy.low:.3f} "
        f"to {accuracy.high:.3f}), and guessing the most frequent function for {chance:.3f}"
    )
    if not clustered_accuracy(np.ones(len(items), dtype=bool), items).low > chance:
        n = pluralize(len(np.unique(items)), "query item")
        raise DataError(
            f"{right}: {n} are too few to show a difference. Give more texts with different query items per function."
        )
    raise DataError(
        f"{right}: not above chance, so no importance is reported. Give more texts per function, or take functions "
        "that differ for this model."
    )
