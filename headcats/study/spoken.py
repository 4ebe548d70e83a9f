"""Tasks that are answered in sentences, as `validate` judges them: by the answers that the model writes itself."""

import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from headcats.errors import DataError
from headcats.methods.options import default_value
from headcats.methods.spec import MethodSpec
from headcats.methods.suite_inputs import SuiteInputs
from headcats.methods.token_probe import token_probe
from headcats.probes.functions.accuracy import clustered_accuracy
from headcats.probes.tokens.answers import answer_questions
from headcats.probes.tokens.settings import PRESETS
from headcats.study.plan import Study
from headcats.tasks import Task


def is_spoken(study: Study, task: Task) -> bool:
    """Whether a task is judged by its sentences: it says where the exact answer is, and token_probe alone needs it."""
    return task.exact is not None and not study.task_methods and _probe(study) is not None


def _probe(study: Study) -> MethodSpec | None:
    """The token probe of a study, the first where there are several."""
    return next((spec for spec in study.suite_methods if spec.method.name == token_probe.name), None)


def spoken_entry(study: Study, task: Task, inputs: SuiteInputs) -> dict[str, Any]:
    """What `validate` says of a task that is answered in sentences.

    The model is asked the first `n_prompts` of the questions that the study's `token_probe` asks in a run.

    Returns:
        `category`, `source`, `refusal`, `seconds` and `needed` (answers of either kind that a probe needs); and where
        answers are left `questions` (kept, dropped by reason, an example of each), `n_right`, `n_wrong` and `right`
        (share of right answers) with `low` and `high` (95 % interval).
    """
    started, probe = time.monotonic(), _probe(study)
    options = dict(probe.options) if probe else {}
    preset = str(options.get("preset", default_value(token_probe.options["preset"])))
    asked = int(options.get("questions", default_value(token_probe.options["questions"])))
    settings = PRESETS[preset]
    entry: dict[str, Any] = {
        "category": study.suite.category_of(task).name,
        "source": task.source,
        "refusal": "",
        "needed": settings.min_class,
    }
    try:
        questions = token_probe.ask(replace(inputs, tasks=(task,)), questions=min(study.n_prompts, asked))
        answers, report = answer_questions(inputs.model, questions, settings, preset=preset)
    except DataError as problem:
        entry["refusal"] = str(problem)
    else:
        right = np.array([not one.wrong for one in answers])
        share, low, high = clustered_accuracy(right, np.array([one.question.item for one in answers], dtype=str))
        entry |= {"questions": asdict(report), "n_right": int(right.sum()), "n_wrong": int((~right).sum())}
        entry |= {"right": share, "low": low, "high": high}
    return entry | {"seconds": round(time.monotonic() - started, 3)}
