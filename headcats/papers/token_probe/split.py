"""Judged answers, of one data set or several, split so that no query item is on both sides."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool

from headcats.errors import DataError, pluralize
from headcats.models.adapter import HookedModel
from headcats.papers.token_probe.answers import Answer, answer_questions
from headcats.papers.token_probe.items import Item
from headcats.papers.token_probe.probe import JudgedPrompts
from headcats.papers.token_probe.settings import TokenProbeSettings
from headcats.prompts.drop_report import DropReport
from headcats.statistics.random_streams import stream


@dataclass(frozen=True, eq=False)
class SplitAnswers:
    """Answers with their labels and the side of the split on which each is."""

    answers: Sequence[Answer]
    report: DropReport
    wrong: Bool[np.ndarray, " prompt"]
    tasks: Sequence[str]
    items: Sequence[str]
    test: Bool[np.ndarray, " prompt"]
    seed: int
    resamples: int

    def positions(self, roles: Sequence[str]) -> list[list[int]]:
        """The position of every role in every text."""
        return [[answer.shape.position(role) for role in roles] for answer in self.answers]

    @property
    def tokens(self) -> list[tuple[int, ...]]:
        """Question and answer, as the model reads them."""
        return [answer.tokens for answer in self.answers]

    def judged(
        self, places: Bool[np.ndarray, " prompt"] | None = None, labels: Bool[np.ndarray, " prompt"] | None = None
    ) -> JudgedPrompts:
        """The held-out prompts, or those at `places`, by whether they are wrong or by other labels."""
        chosen = np.flatnonzero(self.test if places is None else places).tolist()
        return JudgedPrompts(
            (self.wrong if labels is None else labels)[chosen],
            [self.tasks[place] for place in chosen],
            [self.items[place] for place in chosen],
            resamples=self.resamples,
            draws=stream(self.seed, "token_probe", "bootstrap"),
        )


def split_answers(
    model: HookedModel,
    questions: Sequence[Item],
    settings: TokenProbeSettings,
    *,
    preset: str,
    seed: int,
    advance: Callable[[float], None] = lambda share: None,
) -> SplitAnswers:
    """Judged answers to questions of one data set; a DataError where there is nothing to predict."""
    answers, report = answer_questions(model, questions, settings, preset=preset, advance=advance)
    split = split_of(answers, [answer.question.task for answer in answers], report, settings, seed=seed)
    check_classes(split.wrong, settings, report)
    _check_sides(split, np.ones(len(answers), dtype=bool))
    return split


def split_sets(
    model: HookedModel,
    datasets: Mapping[str, Sequence[Item]],
    settings: TokenProbeSettings,
    *,
    preset: str,
    seed: int,
) -> SplitAnswers:
    """Judged answers of several data sets, whose names are the tasks; an item of two sets is on one side in both."""
    answers: list[Answer] = []
    names: list[str] = []
    total = DropReport()
    for name, questions in datasets.items():
        try:
            of_set, report = answer_questions(model, list(questions), settings, preset=preset)
            check_classes(np.array([answer.wrong for answer in of_set], dtype=bool), settings, report)
        except DataError as problem:
            raise DataError(f"Data set {name!r}: {problem}") from None
        answers += of_set
        names += [name] * len(of_set)
        total.add(report)
    split = split_of(answers, names, total, settings, seed=seed)
    for name in datasets:
        _check_sides(split, np.array(names, dtype=object) == name, f"Data set {name!r}: ")
    return split


def split_of(
    answers: Sequence[Answer], tasks: Sequence[str], report: DropReport, settings: TokenProbeSettings, *, seed: int
) -> SplitAnswers:
    """Answers with a fifth, or the share that the settings say, of their items held out."""
    wrong = np.array([answer.wrong for answer in answers], dtype=bool)
    items = [answer.question.item for answer in answers]
    test = held_out(items, tasks, wrong, share=settings.test_share, seed=seed)
    return SplitAnswers(answers, report, wrong, tasks, items, test, seed, settings.resamples)


def _check_sides(split: SplitAnswers, places: Bool[np.ndarray, " prompt"], prefix: str = "") -> None:
    if any(len(set(split.wrong[side & places].tolist())) < 2 for side in (split.test, ~split.test)):
        n = len({item for item, chosen in zip(split.items, places, strict=True) if chosen})
        raise DataError(
            f"{prefix}{pluralize(n, 'query item')} cannot be split so that right and wrong answers are on both sides. "
            "Ask about more items."
        )


def check_classes(wrong: Bool[np.ndarray, " prompt"], settings: TokenProbeSettings, report: DropReport) -> None:
    """Refuse answers with too few right or wrong ones among them."""
    n, n_wrong = len(wrong), int(wrong.sum())
    if min(n_wrong, n - n_wrong) >= settings.min_class:
        return
    dropped = f" ({report.summary()})" if report.dropped else ""
    raise DataError(
        f"There is nothing to predict: {n_wrong} of {n} answers are wrong{dropped}, and a probe of errors needs at "
        f"least {settings.min_class} right and {settings.min_class} wrong ones. Ask more questions, or "
        f"{'harder' if n_wrong < n - n_wrong else 'easier'} ones."
    )


def held_out(
    items: Sequence[str], tasks: Sequence[str], wrong: Bool[np.ndarray, " prompt"], *, share: float, seed: int
) -> Bool[np.ndarray, " prompt"]:
    """True for the prompts of a random `share` of the query items; an item is never on both sides.

    Items are drawn evenly (every fifth of a random order) from those with and those without a wrong answer, task by
    task, so that both sides have the same classes and tasks as nearly as numbers allow.
    """
    answers = (
        pd.DataFrame({"item": items, "wrong": wrong, "task": tasks})
        .groupby("item")
        .agg({"wrong": "any", "task": "first"})
    )
    names, strata = answers.index.tolist(), list(answers.itertuples(index=False, name=None))
    draws = stream(seed, "token_probe", "split")
    order = sorted(draws.permutation(len(names)).tolist(), key=strata.__getitem__)
    offset = draws.random()
    test_items = {
        names[place]
        for rank, place in enumerate(order)
        if math.floor((rank + 1) * share + offset) > math.floor(rank * share + offset)
    }
    return np.array([item in test_items for item in items], dtype=bool)
