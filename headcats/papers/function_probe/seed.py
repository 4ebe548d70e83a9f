"""One seed of the function probe: trained, tested on new items and new tasks, and its importance read."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn import functional

from headcats.base.errors import DataError, pluralize
from headcats.papers.accuracy import UNKNOWN, Accuracy, accuracy_difference_p, clustered_accuracy, largest_share
from headcats.papers.function_probe.features import HeadFeatures
from headcats.papers.function_probe.settings import FunctionProbeSettings
from headcats.papers.function_probe.splits import held_out_texts, items_of, left_out_tasks, task_of
from headcats.statistics.random_streams import stream

# Texts per backward pass of the importance.
_CHUNK = 64
# A feature whose spread over the training texts is at most this share of the largest spread shows only rounding.
_CONSTANT = 1e-6


@dataclass(frozen=True)
class FunctionClassifier:
    """`logits = output(relu(hidden(flattened u)))`, where `u` is one linear map of each head's standardised feature."""

    mean: Float[Tensor, "head feature"]
    scale: Float[Tensor, "head feature"]
    """1 / standard deviation over the training texts, 0 for a feature that does not vary."""
    parameters: tuple[Tensor, ...]
    """Weights and biases of projection, hidden and output, in this order."""

    def project(self, features: Float[Tensor, "text head feature"]) -> Float[Tensor, "text head projection"]:
        """`u`: what the shared projection makes of each head's feature."""
        return functional.linear((features - self.mean) * self.scale, self.parameters[0], self.parameters[1])

    def logits(
        self, projected: Float[Tensor, "text head projection"], *, kept: Float[Tensor, "text hidden"] | None = None
    ) -> Float[Tensor, "text function"]:
        """Class logits from `u`; `kept` multiplies the hidden units (dropout, in training only)."""
        _, _, weight, bias, out_weight, out_bias = self.parameters
        hidden = functional.relu(functional.linear(projected.flatten(1), weight, bias))
        return functional.linear(hidden if kept is None else hidden * kept, out_weight, out_bias)

    @torch.no_grad()
    def predict(self, features: Float[Tensor, "text head feature"]) -> Int[Tensor, " text"]:
        """The class of the largest logit, on the CPU."""
        parts = [self.logits(self.project(part)).argmax(1).cpu() for part in features.split(_CHUNK)]
        return torch.cat(parts) if parts else torch.empty(0, dtype=torch.long)


def fit_classifier(
    features: Float[Tensor, "text head feature"],
    classes: Int[Tensor, " text"],
    *,
    n_classes: int,
    settings: FunctionProbeSettings,
    seed: int,
    advance: Callable[[float], None] = lambda share: None,
) -> FunctionClassifier:
    """Train a probe by cross-entropy; initial weights (PyTorch's), order and dropout come from `seed` alone."""
    draws = torch.Generator().manual_seed(seed)
    n, heads, width = features.shape
    device = features.device
    mean, deviation = features.mean(0), features.std(0, correction=0)
    varies = deviation > _CONSTANT * deviation.max()
    scale = torch.where(varies, 1 / torch.where(varies, deviation, 1.0), 0.0)
    sizes = ((settings.projection, width), (settings.hidden, heads * settings.projection), (n_classes, settings.hidden))
    parameters = tuple(
        ((2 * torch.rand(shape, generator=draws) - 1) / math.sqrt(fan_in)).to(device).requires_grad_()
        for out, fan_in in sizes
        for shape in ((out, fan_in), (out,))
    )
    probe = FunctionClassifier(mean, scale, parameters)
    optimizer = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)
    loss = torch.zeros(())
    for epoch in range(settings.epochs):
        total = torch.zeros((), device=device)
        for places in torch.randperm(n, generator=draws).split(settings.batch_size):
            keep = torch.rand(len(places), settings.hidden, generator=draws) >= settings.dropout
            logits = probe.logits(
                probe.project(features[places.to(device)]), kept=keep.to(device) / (1 - settings.dropout)
            )
            step_loss = functional.cross_entropy(logits, classes[places].to(device))
            optimizer.zero_grad()
            step_loss.backward()
            optimizer.step()
            total += step_loss.detach() * len(places)
        loss = total / n
        advance((epoch + 1) / settings.epochs)
    _check_converged(float(loss), n_classes, settings)
    return FunctionClassifier(mean, scale, tuple(parameter.detach() for parameter in parameters))


def head_importance(
    probe: FunctionClassifier,
    features: Float[Tensor, "text head feature"],
    classes: Int[Tensor, " text"],
    *,
    n_classes: int,
) -> Float[Tensor, "function head"]:
    """Signed gradient x activation of each head: mean over the texts of class c of `mean_64(d logit_c / d u * u)`.

    In units of the class logit, whether the probe gets the texts right or not; NaN for a class without texts.
    """
    sums = torch.zeros(n_classes, features.shape[1], dtype=torch.float64)
    for places in torch.arange(len(classes)).split(_CHUNK):
        with torch.enable_grad():
            projected = probe.project(features[places.to(features.device)]).detach().requires_grad_()
            logits = probe.logits(projected)
            class_logits = logits.gather(1, classes[places].to(features.device)[:, None]).sum()
            (gradient,) = torch.autograd.grad(class_logits, projected)
        sums.index_add_(0, classes[places], (gradient * projected.detach()).mean(2).double().cpu())
    counts = torch.bincount(classes, minlength=n_classes)
    return (sums / torch.where(counts > 0, counts.double(), torch.nan)[:, None]).float()


def _check_converged(loss: float, n_classes: int, settings: FunctionProbeSettings) -> None:
    if loss < math.log(n_classes):
        return
    advice = "Give more texts per function or more epochs, or check that the functions differ at all"
    if not math.isfinite(loss):
        advice = "Look for infinite head outputs (a 16-bit model; load it in float32)"
    raise DataError(
        f"The function probe did not converge: after {settings.epochs} epochs its training loss is {loss:.3f}, and "
        f"guessing between {n_classes} functions gives {math.log(n_classes):.3f}. {advice}; or take a smaller "
        f"learning_rate than {settings.learning_rate:g} (FunctionProbeSettings)."
    )


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
    """Train and read one probe; all draws come from `seed` and the number of the `probe` alone.

    A DataError if it does not converge or is not above chance on held-out items: its importance would describe nothing.
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
    """Right answers of a probe of the answer's word embeddings; one that does not converge guesses the largest
    function.
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
