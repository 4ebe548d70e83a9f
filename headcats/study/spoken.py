"""Tasks that are answered in sentences, as `validate` judges them: by the answers that the model writes itself."""

import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from headcats.errors import DataError
from headcats.methods.suite_inputs import SuiteInputs
from headcats.methods.token_probe import token_probe
from headcats.probes.functions.accuracy import clustered_accuracy
from headcats.probes.tokens.answers import answer_questions
from headcats.probes.tokens.settings import PRESETS
from headcats.study.plan import Study
from headcats.tasks import Task

SETTINGS = PRESETS["orgad2025"]


def is_spoken(study: Study, task: Task) -> bool:
    """Whether a task is judged by its sentences: it says where the exact answer is, and no method reads its prompts."""
    return task.exact is not None and not study.task_methods


def spoken_entry(study: Study, task: Task, inputs: SuiteInputs) -> dict[str, Any]:
    """What `validate` says of a task that is answered in sentences.

    The model is asked the first `n_prompts` of the questions that `token_probe` asks in a run.

    Returns:
        `category`, `source`, `refusal` and `seconds`; and where answers are left `questions` (kept, dropped by reason,
        an example of each), `n_right`, `n_wrong` and `right` (share of right answers) with `low` and `high` (95 %
        interval).
    """
    started = time.monotonic()
    entry: dict[str, Any] = {
        "category": study.suite.category_of(task).name,
        "source": task.source,
        "refusal": "",
    }
    try:
        questions = token_probe.ask(replace(inputs, tasks=(task,)), questions=study.n_prompts)
        answers, report = answer_questions(inputs.model, questions, SETTINGS, preset="orgad2025")
    except DataError as problem:
        entry["refusal"] = str(problem)
    else:
        right = np.array([not one.wrong for one in answers])
        share, low, high = clustered_accuracy(right, np.array([one.question.item for one in answers], dtype=str))
        entry |= {"questions": asdict(report), "n_right": int(right.sum()), "n_wrong": int((~right).sum())}
        entry |= {"right": share, "low": low, "high": high}
    return entry | {"seconds": round(time.monotonic() - started, 3)}
