"""Worlds in which labels of tasks mean something, or nothing, and what the verdicts of `evidence` say of them.

A study has the effects of every head on every task, measured with independent noise on two halves of the items, and the
damage by sets of heads on the second half: the sum of their effects with the same kind of noise. headcats' own
functions find the sources, choose the heads and do the statistics.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headcats.evidence.chosen_heads import chosen_sets
from headcats.evidence.confounders import stratified_labellings
from headcats.evidence.likeness import alike_sources
from headcats.evidence.specificity import tested_categories
from headcats.evidence.verdicts import NOT_SUPPORTED, SUPPORTED
from headcats.models.head import Head
from headcats.tasks.definition import Task
from headcats.tasks.independent_sources import independent_sources

Effects = Float[np.ndarray, "task head"]
Generator = np.random.Generator
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


@dataclass(frozen=True)
class Truth:
    """What a study is drawn from."""

    effects: Effects
    labels: Int[np.ndarray, " task"]
    sources: Int[np.ndarray, " task"] | None = None  # that evidence is told of; None: every task is its own
    covariates: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    reacts: Float[np.ndarray, " task"] | None = None  # how much a task reacts to everything, noise among it
    noise: Float[np.ndarray, " head"] | None = None  # of every head, in multiples of the study's
    grouped: bool = False  # the user names a group for every task, so tasks are told apart however alike they are


World = Callable[[LabelStudy, Generator], Truth]
HEADS = [Head(layer, head) for layer in range(8) for head in range(8)]
FRAGILITY = np.array([1.0, 2.0, 4.0, 8.0])
"""How much more the tasks of the second, third and fourth category react to every head."""


def _generic(n_tasks: int, rng: Generator) -> Effects:
    """Six heads that serve every task alike, with effects of .1 to .3."""
    profile = np.zeros(len(HEADS))
    profile[rng.permutation(len(HEADS))[:6]] = rng.uniform(0.1, 0.3, 6)
    return np.tile(profile, (n_tasks, 1))


def _by_category(effects: Effects, labels: np.ndarray, largest: float = 2.0) -> Effects:
    return effects * (largest * FRAGILITY / FRAGILITY.max())[labels][:, None]


def _own_heads(labels: np.ndarray, rng: Generator, categories: int = 4, effect: float = 0.1) -> Effects:
    """Three heads of its own for every category, without any other effect."""
    effects, order = np.zeros((len(labels), len(HEADS))), rng.permutation(len(HEADS))
    for category in range(categories):
        effects[np.ix_(labels == category, order[3 * category : 3 * category + 3])] = effect
    return effects


def _generic_and_own(labels: np.ndarray, rng: Generator, *, effect: float) -> Effects:
    """Generic heads, and heads of their own for three of four categories."""
    return _generic(len(labels), rng) + _own_heads(labels, rng, 3, effect)


def _by_task(effects: Effects, rng: Generator, spread: float) -> Effects:
    return effects * np.exp(rng.normal(0, spread, len(effects)))[:, None]


def _plain(make: Callable[[np.ndarray, Generator], Effects], *, grouped: bool = False) -> World:
    """World of unrelated tasks, of which nothing else is known."""
    return lambda study, rng: Truth(make(study.labels, rng), study.labels, grouped=grouped)


def _ceiling(study: LabelStudy, rng: Generator) -> Truth:
    labels = study.labels
    return Truth(_generic(len(labels), rng), labels, reacts=np.where(labels == 0, 1.0, 0.02))


def _chained_words(study: LabelStudy, rng: Generator) -> Truth:
    """Generic heads, and three of .1 for every vocabulary of 30 words, which two tasks of a category ask about.

    The last task of every vocabulary shares 20 others with the first of the next one, a chain through all categories.
    """
    vocabulary = np.cumsum([task % 2 == 0 for _ in CATEGORIES for task in range(study.tasks)]) - 1
    items = [{f"{number} {word}" for word in range(30)} for number in vocabulary]
    for task in np.flatnonzero(np.diff(vocabulary)):
        for linked in items[task : task + 2]:
            linked |= {f"{vocabulary[task]} and the next: {word}" for word in range(20)}
    effects, order = _generic(len(vocabulary), rng), rng.permutation(len(HEADS))
    for number in set(vocabulary.tolist()):
        effects[np.ix_(vocabulary == number, order[3 * number : 3 * number + 3])] += 0.1
    return Truth(effects, study.labels, _sources([sorted(words) for words in items], n_drawn=None))


def _lexical(study: LabelStudy, rng: Generator) -> Truth:
    """Every category has one vocabulary of 400 words, of which 64 are drawn, and three heads that read them."""
    labels = study.labels
    words = [[f"{label} {word}" for word in range(400)] for label in labels]
    return Truth(_generic(len(labels), rng) + _own_heads(labels, rng, effect=0.2), labels, _sources(words, n_drawn=64))


def _sources(words: Sequence[Sequence[str]], n_drawn: int | None) -> np.ndarray:
    """Sources of tasks that ask about some words; that draw so many, or give all."""

    def make(place: int, n: int, *, seed: int) -> list[tuple[str, str]]:
        drawn = range(len(words[place]))
        if n_drawn is not None:
            drawn = np.random.default_rng(seed).permutation(len(words[place]))[:n_drawn].tolist()
        return [(words[place][word], f"answer {place} {word}") for word in drawn]

    tasks = [Task(f"t{place}", "A", "simulated", partial(make, place)) for place in range(len(words))]
    labels = independent_sources(tasks).labels
    return np.unique([labels[task.name] for task in tasks], return_inverse=True)[1]


def reworded(
    study: LabelStudy,
    rng: Generator,
    *,
    tasks: int,
    wordings: int,
    categories: int = 4,
    effect: float = 0.2,
    spread: float = 0.45,
    varied: float = 0.0,
) -> Truth:
    """Labels dealt to tasks, each in some wordings: six generic heads, and three of its own for every task.

    Effects of generic heads vary over tasks (log-normal, `spread`); all vary over wordings by `varied`.
    """
    order = rng.permutation(len(HEADS))
    true = np.zeros((tasks, len(HEADS)))
    true[:, order[:6]] = rng.uniform(0.1, 0.4, 6) * np.exp(rng.normal(0, spread, (tasks, 6)))
    for row in true:
        row[rng.choice(order[6:], 3, replace=False)] += effect
    dealt = rng.permutation(np.arange(tasks) % categories)
    effects = np.repeat(true, wordings, axis=0)
    return Truth(effects * np.exp(rng.normal(0, varied, effects.shape)), np.repeat(dealt, wordings))


def heterogeneous(
    study: LabelStudy, rng: Generator, *, effect: float, tasks: int, categories: int = 4, without: int = 0
) -> Truth:
    """Two heads of its own for every category but the last `without`, their effect log-normal over tasks (.6).

    A fifth of the tasks are without them. Six generic heads of .1 to .4 vary over tasks (log-normal, .45). Length,
    accuracy and corruption of tasks are drawn at random. The sizes were chosen before this rule was: with them the rule
    before it has the power that an outside attack had measured in a world of the same description.
    """
    labels = np.repeat(np.arange(categories), tasks)
    n, order = len(labels), rng.permutation(len(HEADS))
    effects = np.zeros((n, len(HEADS)))
    effects[:, order[:6]] = rng.uniform(0.1, 0.4, 6) * np.exp(rng.normal(0, 0.45, (n, 6)))
    for category in range(categories - without):
        rows, heads = np.flatnonzero(labels == category), order[6 + 2 * category : 8 + 2 * category]
        own = np.exp(rng.normal(0, 0.6, tasks)) * (rng.random(tasks) >= 0.2)
        effects[np.ix_(rows, heads)] += effect * own[:, None]
    return Truth(effects, labels, covariates=_unrelated(n, rng))


def _unrelated(n: int, rng: Generator) -> dict[str, list]:
    return {
        "prompt length": rng.normal(20, 5, n).tolist(),
        "accuracy": rng.uniform(0.5, 1, n).tolist(),
        "corruption": [("", "shuffled_labels")[int(shuffled)] for shuffled in rng.random(n) < 0.3],
    }


def dealt(study: LabelStudy, rng: Generator, **sizes: Any) -> Truth:
    """Labels dealt at random to the tasks of the heterogeneous world."""
    truth = heterogeneous(study, rng, **sizes)
    return Truth(truth.effects[rng.permutation(len(truth.labels))], truth.labels, covariates=truth.covariates)


def corrupted(study: LabelStudy, rng: Generator, *, shuffled: tuple[int, ...]) -> Truth:
    """Categories of which some have another corruption, with three heads of .3 for either."""
    return _two_corruptions(np.isin(study.labels, shuffled), study.labels, rng)


def partly_corrupted(study: LabelStudy, rng: Generator, *, shares: tuple[float, ...]) -> Truth:
    """The same, where so many tasks of every category have the other corruption."""
    labels = study.labels
    return _two_corruptions(rng.random(len(labels)) < np.array(shares)[labels], labels, rng)


def _two_corruptions(other: Bool[np.ndarray, " task"], labels: Int[np.ndarray, " task"], rng: Generator) -> Truth:
    effects, order = _varied(len(labels), rng), rng.permutation(len(HEADS))
    for place, rows in enumerate((other, ~other)):
        effects[np.ix_(rows, order[3 * place : 3 * place + 3])] += 0.3
    names = [("", "shuffled_labels")[int(shuffled)] for shuffled in other]
    return Truth(effects, labels, covariates=_unrelated(len(labels), rng) | {"corruption": names})


def longer(study: LabelStudy, rng: Generator, *, step: float, tasks: int | None = None) -> Truth:
    """Categories whose prompts differ in length by so many standard deviations from one to the next.

    Effects of six heads grow or fall with length.
    """
    labels = study.labels if tasks is None else replace(study, tasks=tasks).labels
    length = step * labels + rng.normal(0, 1, len(labels))
    slopes = np.zeros(len(HEADS))
    slopes[rng.permutation(len(HEADS))[:6]] = rng.choice([-1, 1], 6) * 0.15
    effects = _varied(len(labels), rng) + slopes * ((length - length.mean()) / length.std())[:, None]
    return Truth(effects, labels, covariates=_unrelated(len(labels), rng) | {"prompt length": length.tolist()})


def _varied(n: int, rng: Generator) -> Effects:
    return _generic(n, rng) * np.exp(rng.normal(0, 0.3, (n, len(HEADS))))


def _unequal_noise(study: LabelStudy, rng: Generator) -> Truth:
    truth = dealt(study, rng, effect=0.2, tasks=study.tasks)
    return Truth(truth.effects, truth.labels, noise=np.exp(rng.normal(0, 0.7, len(HEADS))))


def _with_noise(labels: np.ndarray, rng: Generator) -> Effects:
    return _generic(len(labels), rng) + rng.normal(0, 0.08, (len(labels), len(HEADS)))


def _with_factors(labels: np.ndarray, rng: Generator) -> Effects:
    return _generic(len(labels), rng) * np.exp(rng.normal(0, 0.5, (len(labels), len(HEADS))))


NULL: dict[str, World] = {
    "no effect at all": _plain(lambda labels, rng: np.zeros((len(labels), len(HEADS)))),
    "identical tasks": _plain(lambda labels, rng: _generic(len(labels), rng)),
    "fragility by category, 1 2 4 8, weakest .05 of .2": _plain(
        lambda labels, rng: _by_category(_generic(len(labels), rng), labels)
    ),
    "the same, twice as strong": _plain(lambda labels, rng: _by_category(_generic(len(labels), rng), labels, 4.0)),
    "fragility by task": _plain(lambda labels, rng: _by_task(_generic(len(labels), rng), rng, 0.8)),
    "task x head noise": _plain(_with_noise),
    "task x head noise, fragility by category": _plain(
        lambda labels, rng: _by_category(_with_noise(labels, rng), labels)
    ),
    "every effect times a random factor, fragility by category": _plain(
        lambda labels, rng: _by_category(_with_factors(labels, rng), labels)
    ),
    "three categories at the ceiling": _ceiling,
    "heads of their own for words, which one or two tasks ask about": _chained_words,
    "one vocabulary of 400 words per category, 64 drawn, with heads of its own": _lexical,
    "12 tasks x 2 wordings": partial(reworded, tasks=12, wordings=2),
    "8 tasks x 3 wordings": partial(reworded, tasks=8, wordings=3),
    "10 tasks x 2 wordings, two categories": partial(reworded, tasks=10, wordings=2, categories=2),
    "12 tasks x 2 wordings that vary by .2": partial(reworded, tasks=12, wordings=2, varied=0.2),
    "8 tasks x 3 wordings that vary by .2": partial(reworded, tasks=8, wordings=3, varied=0.2),
    "12 tasks x 2 wordings, own heads of .1, generic ones constant": partial(
        reworded, tasks=12, wordings=2, effect=0.1, spread=0.0
    ),
    "heterogeneous tasks, labels dealt, 5 tasks": partial(dealt, effect=0.4, tasks=5),
    "heterogeneous tasks, labels dealt, 10 tasks": partial(dealt, effect=0.2, tasks=10),
    "the same, heads of unequal noise": _unequal_noise,
}
"""Name -> a world in which labels mean nothing, or only how easily tasks break or which words they are about."""
CONFOUNDED: dict[str, World] = {
    "two of four categories have another corruption": partial(corrupted, shuffled=(2, 3)),
    "one of four categories has another corruption": partial(corrupted, shuffled=(3,)),
    "categories differ in length, heads scale with it": partial(longer, step=5),
}
"""Name -> a world in which a property of tasks goes with their labels and does all that labels seem to do."""
MILDLY: dict[str, World] = {
    **{
        f"lengths of categories {step:g} SD apart, {tasks} tasks": partial(longer, step=step, tasks=tasks)
        for tasks in (5, 10)
        for step in (0.4, 0.7, 1.0)
    },
    "another corruption in .1, .1, .7 and .7 of the tasks": partial(partly_corrupted, shares=(0.1, 0.1, 0.7, 0.7)),
}
"""Name -> a world in which a property goes with labels too little to be found every time."""
POWER: dict[str, World] = {
    "three heads of its own, .1, the same on all tasks": _plain(_own_heads),
    "the same, each task named as a group": _plain(_own_heads, grouped=True),
    "the same, .05": _plain(lambda labels, rng: _own_heads(labels, rng, effect=0.05), grouped=True),
    "the same, .1 among generic heads": _plain(
        lambda labels, rng: _generic(len(labels), rng) + _own_heads(labels, rng), grouped=True
    ),
    "the same, fragility by task": _plain(
        lambda labels, rng: _by_task(_generic(len(labels), rng) + _own_heads(labels, rng), rng, 0.5), grouped=True
    ),
    **{
        f"heterogeneous tasks, own effect {effect:g}, {tasks} tasks": partial(heterogeneous, effect=effect, tasks=tasks)
        for effect, tasks in ((0.1, 5), (0.2, 5), (0.4, 5), (0.1, 10), (0.2, 10), (0.4, 10))
    },
}
"""Name -> a world in which every category has heads of its own."""
PARTLY: dict[str, World] = {
    f"three of four have heads of their own, {effect:g}, each task named as a group": _plain(
        partial(_generic_and_own, effect=effect), grouped=True
    )
    for effect in (0.1, 0.3)
} | {
    f"three of four, heterogeneous, {effect:g}": partial(heterogeneous, effect=effect, tasks=5, without=1)
    for effect in (0.3, 0.6, 1.0)
}
"""Name -> a world in which the last category has none."""
WORLDS = NULL | CONFOUNDED | MILDLY | POWER | PARTLY


def verdicts(name: str, study: LabelStudy, rng: Generator) -> dict[str, Any]:
    """Verdicts of a study of one of the worlds."""
    return of_truth(WORLDS[name](study, rng), study, rng)


def of_truth(truth: Truth, study: LabelStudy, rng: Generator) -> dict[str, Any]:
    """Per category, whether it is supported, without naming a property, or not supported; p, and the size."""
    true, labels = truth.effects, truth.labels
    n_categories = int(labels.max()) + 1
    reacts = np.ones(len(labels)) if truth.reacts is None else truth.reacts
    scale = np.ones(len(HEADS)) if truth.noise is None else truth.noise
    sd = study.sd / np.sqrt(study.items / 2) * scale
    chosen_on, matched, ablated = (reacts[:, None] * (true + rng.normal(0, 1, true.shape) * sd) for _ in range(3))
    sources = np.arange(len(labels)) if truth.sources is None else truth.sources
    stratified = stratified_labellings(
        labels,
        alike_sources((chosen_on, matched), labels, sources, apart=[truth.grouped] * len(labels)),
        None,
        truth.covariates,
        n_categories=n_categories,
        n=study.relabellings,
        seed=int(rng.integers(2**31)),
    )
    tasks = [f"task{place}" for place in range(len(labels))]
    chosen = dict(zip(tasks, chosen_sets(chosen_on, stratified.labellings, HEADS), strict=True))
    place_of = {head: place for place, head in enumerate(HEADS)}
    shares = {
        task: np.array([ablated[place, [place_of[head] for head in members]].sum() for members in sets])
        for place, (task, (sets, _)) in enumerate(chosen.items())
    }
    names = CATEGORIES[:n_categories]
    tested, _ = tested_categories((chosen_on, matched), stratified, chosen, shares, categories=names)
    return outcomes(tested)


def outcomes(tested: Any) -> dict[str, Any]:
    """What is counted, of a table of verdicts."""
    supported = (tested["verdict"] == SUPPORTED).values
    named = tested["coincide"].item() != ""
    return {
        "supported": supported.tolist(),
        "unnamed": (supported & (not named)).tolist(),
        "named": [named],
        "not_supported": (tested["verdict"] == NOT_SUPPORTED).values.tolist(),
        "p": tested["p"].values.tolist(),
        "low": tested["specificity_low"].values.tolist(),
        "high": tested["specificity_high"].values.tolist(),
        "specificity": tested["specificity"].values.tolist(),
        "sources": len(np.unique(tested["source_of_task"])),
        "size": tested["size"].item(),
    }
