"""One seed of the function probe: trained, tested on new items and on new tasks, and read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from headcats.errors import DataError, pluralize
from headcats.methods.function_probe.classifier import FunctionClassifier, fit_classifier, head_importance
from headcats.methods.function_probe.features import HeadFeatures
from headcats.methods.function_probe.settings import FunctionProbeSettings
from headcats.methods.function_probe.splits import held_out_texts, item_of, left_out_tasks, task_of
from headcats.statistics.accuracy import UNKNOWN, Accuracy, clustered_accuracy, largest_share
from headcats.statistics.random_streams import stream


@dataclass(frozen=True)
class SeedResult:
    """What one probe says.

    Attributes:
        importance: Signed mean gradient x activation on held-out texts, in units of the class logit.
        accuracy: On held-out items; clusters are items.
        chance: Accuracy of the best constant guess on them.
        function_accuracy: Accuracy on the held-out texts of each function.
        left_out: On tasks that were left out; clusters are tasks. Unknown where none was left out.
        left_out_chance: Accuracy of the best constant guess on them; NaN where unknown.
        by_task: (function, task) -> accuracy where it was left out.
    """

    importance: Float[np.ndarray, "function head"]
    accuracy: Accuracy
    chance: float
    function_accuracy: Float[np.ndarray, " function"]
    left_out: Accuracy
    left_out_chance: float
    by_task: dict[tuple[str, str], float]


def probe_seed(
    features: HeadFeatures,
    functions: Sequence[str],
    *,
    settings: FunctionProbeSettings,
    seed: int,
    probe: int,
    advance: Callable[[float, str], None] = lambda share, what: None,
) -> SeedResult:
    """Train and read one probe.

    Args:
        features: Features of texts of these functions only.
        functions: The classes.
        settings: See `FunctionProbeSettings`.
        seed: Seed of the study.
        probe: Number of the probe; split, initial weights, order and dropout come from `seed` and it alone.
        advance: To be called with the share of the work that is done, and what is being done.

    Raises:
        DataError: A probe does not converge, or its accuracy on held-out items is not above chance: the interval must
            lie above the accuracy of the best constant guess. Without that, importance would describe nothing.
    """
    texts = features.texts
    labels = torch.tensor([functions.index(text.category) for text in texts])
    held_out = held_out_texts(texts, functions, folds=settings.folds, seed=seed, probe=probe)
    rounds = left_out_tasks(texts, seed=seed, probe=probe) if probe < settings.left_out_seeds else []

    def fit(train: Bool[np.ndarray, " text"], number: int, what: str) -> "_Fitted":
        places = torch.from_numpy(np.flatnonzero(train))
        classifier = fit_classifier(
            features.values[places.to(features.values.device)],
            labels[places],
            n_classes=len(functions),
            settings=settings,
            seed=int(stream(seed, "function_probe", "fit", str(probe), what).integers(2**63 - 1)),
            advance=lambda share: advance((number + share) / (1 + len(rounds)), what),
        )
        return _Fitted(classifier, features.values, labels)

    main = fit(~held_out, 0, "probe of functions")
    right = main.right(held_out)
    items = np.array([item_of(text) for text in texts], dtype=object).astype(str)[held_out]
    accuracy, chance = clustered_accuracy(right, items), largest_share(labels.numpy()[held_out])
    _check_above_chance(accuracy, chance, items)
    by_task: dict[tuple[str, str], Bool[np.ndarray, " text"]] = {}
    for number, tasks in enumerate(rounds):
        out = np.array([task_of(text) in tasks for text in texts])
        fitted = fit(~out, number + 1, f"without tasks {number + 1} of {len(rounds)}")
        for task in sorted(tasks):
            by_task[task] = fitted.right(np.array([task_of(text) == task for text in texts]))
    importance = head_importance(
        main.classifier,
        features.values[torch.from_numpy(held_out).to(features.values.device)],
        labels[torch.from_numpy(held_out)],
        n_classes=len(functions),
    )
    return SeedResult(
        importance.numpy(),
        accuracy,
        chance,
        np.array([right[labels.numpy()[held_out] == number].mean() for number in range(len(functions))]),
        *_left_out(by_task),
        {task: float(correct.mean()) for task, correct in by_task.items()},
    )


@dataclass(frozen=True)
class _Fitted:
    classifier: FunctionClassifier
    values: Tensor
    labels: Tensor

    def right(self, tested: Bool[np.ndarray, " text"]) -> Bool[np.ndarray, " tested"]:
        places = torch.from_numpy(np.flatnonzero(tested))
        predicted = self.classifier.predict(self.values[places.to(self.values.device)])
        return (predicted == self.labels[places]).numpy()


def _left_out(by_task: dict[tuple[str, str], Bool[np.ndarray, " text"]]) -> tuple[Accuracy, float]:
    if not by_task:
        return UNKNOWN, float("nan")
    right = np.concatenate(list(by_task.values()))
    sizes = [len(correct) for correct in by_task.values()]
    return (
        clustered_accuracy(right, np.repeat(np.arange(len(sizes)), sizes)),
        largest_share(np.repeat([function for function, _ in by_task], sizes)),
    )


def _check_above_chance(accuracy: Accuracy, chance: float, items: Shaped[np.ndarray, " tested"]) -> None:
    if accuracy.low > chance:
        return
    right = f"The function probe is right for {accuracy.share:.3f} of the held-out texts"
    interval = f"{accuracy.low:.3f} to {accuracy.high:.3f}"
    if not clustered_accuracy(np.ones(len(items), dtype=bool), items).low > chance:
        n = len(np.unique(items))
        raise DataError(
            f"{right}, but they ask {pluralize(n, 'query item')}, too few to tell it from guessing the most frequent "
            f"function ({chance:.3f}), whatever the probe does (95 % interval {interval}): no importance is given. "
            "Give more texts with different query items per function."
        )
    raise DataError(
        f"{right} (95 % interval {interval}), and guessing the most frequent function for {chance:.3f}: not above "
        "chance, so no importance is given. Give more texts per function, or take functions that differ for this model."
    )
