"""Judged answers, split so that no query item is on both sides."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool

from headcats.base.errors import DataError, pluralize
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

    def judged(self) -> JudgedPrompts:
        """The held-out prompts."""
        held_out = np.flatnonzero(self.test).tolist()
        return JudgedPrompts(
            self.wrong[held_out],
            [self.tasks[place] for place in held_out],
            [self.items[place] for place in held_out],
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
    """Judged answers, with a share of their items held out; a DataError where there is nothing to predict."""
    answers, report = answer_questions(model, questions, settings, preset=preset, advance=advance)
    wrong = np.array([answer.wrong for answer in answers], dtype=bool)
    check_classes(wrong, settings, report)
    tasks, items = ([getattr(answer.question, name) for answer in answers] for name in ("task", "item"))
    test = held_out(items, tasks, wrong, share=settings.test_share, seed=seed)
    if any(len(set(wrong[side].tolist())) < 2 for side in (test, ~test)):
        raise DataError(
            f"{pluralize(len(set(items)), 'query item')} cannot be split so that right and wrong answers are on both "
            "sides. Ask about more items."
        )
    return SplitAnswers(answers, report, wrong, tasks, items, test, seed, settings.resamples)


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
