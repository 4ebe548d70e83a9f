"""Tasks that are answered in sentences, as `validate` judges them: by the answers that the model writes itself."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from headcats.errors import DataError
from headcats.methods.token_probe.answers import answer_questions
from headcats.methods.token_probe.question import Question
from headcats.methods.token_probe.settings import PRESETS
from headcats.models.adapter import HookedModel
from headcats.statistics.accuracy import clustered_accuracy


def answers_entry(model: HookedModel, ask: Callable[[], Sequence[Question]], *, preset: str) -> dict[str, Any]:
    """What `validate` says of a task: how many answers are right, and why others are left out.

    Args:
        model: The model.
        ask: Makes the questions; a DataError of it is the reason why the task is skipped.
        preset: Preset of the probe.

    Returns:
        `refusal` and `needed` (answers of either kind that a probe needs); and where answers are left `questions`
        (kept, dropped by reason, an example of each), `n_right`, `n_wrong` and `right` (share of right answers) with
        `low` and `high` (95 % interval).
    """
    settings = PRESETS[preset]
    entry: dict[str, Any] = {"refusal": "", "needed": settings.min_class}
    try:
        answers, report = answer_questions(model, ask(), settings, preset=preset)
    except DataError as problem:
        return entry | {"refusal": str(problem)}
    right = np.array([not answer.wrong for answer in answers])
    share, low, high = clustered_accuracy(right, np.array([answer.question.item for answer in answers], dtype=str))
    entry |= {"questions": asdict(report), "n_right": int(right.sum()), "n_wrong": int((~right).sum())}
    return entry | {"right": share, "low": low, "high": high}
