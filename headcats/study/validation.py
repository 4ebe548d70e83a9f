"""`validate`: what a run would score, before any head is touched."""

import logging
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.models.loading import load_model
from headcats.prompts.batch import PromptBatch
from headcats.prompts.tokens import bos_of, token_texts, written_front
from headcats.results.records import LONG_ANSWER, TaskRecord
from headcats.study.distractors import settle_distractors
from headcats.study.method_run import suite_inputs
from headcats.study.options import StudyOptions, takes_options
from headcats.study.own_template import with_own_template
from headcats.study.plan import Study, check_methods, study_of
from headcats.study.preparation import Preparation, Prepared
from headcats.study.scorer import Here
from headcats.study.skipped import OTHER_SUITES, advice_on_gaps, report_shares
from headcats.tasks.doubts import doubts

_log = logging.getLogger("headcats")


@takes_options(StudyOptions, until="validate")
def validate(model: Any, options: StudyOptions) -> dict[str, dict[str, Any]]:
    """Return what a run would keep and drop of every task, base accuracy, gap with interval, and why tasks are skipped.

    Task name -> entry, whose keys `headcats validate --help` names; a task that is answered in a sentence has another
    one, where a method that reads answers is run and none that scores task by task. How much memory the run takes at
    most is logged. Arguments and errors are those of `hc.run`.
    """
    study = study_of(options)
    adapted: HookedModel = load_model(model)
    study = with_own_template(study, adapted)
    check_methods(study, adapted)
    check_model(adapted)
    preparation, inputs, probe = Preparation(adapted, study), suite_inputs(adapted, study), _probe(study)
    scorer = Here(preparation, path=options.path, memory=options.memory)
    spoken = [task for task in study.tasks if probe is not None and task.exact is not None]
    prompted = [task.name for task in study.tasks if task not in spoken]
    seconds: dict[str, float] = {}

    def assess_tasks(names: Iterable[str]) -> dict[str, TaskRecord]:
        records: dict[str, TaskRecord] = {}
        for name in names:
            started = time.monotonic()
            records |= scorer.assess([name], lambda steps, label: None)
            seconds[name] = round(time.monotonic() - started, 3)
        return records

    records = settle_distractors(preparation, prompted, assess=assess_tasks) if study.task_methods else {}
    records |= assess_tasks(name for name in prompted if name not in records)
    entries: dict[str, dict[str, Any]] = {}
    for task in study.tasks:
        if probe is not None and task in spoken:
            started = time.monotonic()
            entry: dict[str, Any] = {"category": study.suite.category_of(task).name, "source": task.source}
            alone = replace(inputs, tasks=(task,))
            entry |= probe.method.validate(alone, n_prompts=study.n_prompts, **dict(probe.options))
            seconds[task.name] = round(time.monotonic() - started, 3)
        else:
            entry = records[task.name].to_dict()
            if tokens := first_prompt(preparation.of(task.name), adapted.tokenizer):
                entry["first_prompt"] = tokens
            answers = [batch.answers for batch in preparation.of(task.name).scored]
            if n_long := sum(int(((ids >= 0).sum(1) > LONG_ANSWER).sum()) for ids in answers):
                entry["doubts"] = {"long_answers": n_long}
            if doubtful := doubts(task, seed=study.seed):
                entry["doubts"] = entry.get("doubts", {}) | doubtful
        entries[task.name] = entry | {"seconds": seconds[task.name]}
    report_shares(preparation, {name: record for name, record in records.items() if not record.refusal})
    if study.task_methods and (sweeps := scorer.memory_needed()):
        _log.info("%s", sweeps)
    if all(entry["refusal"] for entry in entries.values()):
        advice = advice_on_gaps(records) or OTHER_SUITES
        _log.warning("No task of suite %r can be scored on %r.%s", study.suite.name, adapted.name, advice)
    return entries


def _probe(study: Study) -> MethodSpec | None:
    """The first method that reads answers in sentences, if no other method corrupts prompts task by task."""
    probes = (spec for spec in study.joint_methods if spec.method.declaration.needs == "exact answers")
    return next((spec for spec in probes if hasattr(spec.method, "validate")), None) if not study.task_methods else None


def first_prompt(prepared: Prepared, tokenizer: Any) -> dict[str, Any]:
    """Tokens as text of the first clean prompt and its answer, and of the corrupted prompt and its distractor.

    Joined, the tokens of a prompt are its text, with what both answers begin with where that was moved to the prompts.
    Beside `clean`, `answer`, `corrupted` and `distractor`: `key`, `bos` (what stands in front of both prompts) and
    `bos_written` (what the tokenizer itself writes there), None without any. Empty for a task without prompts.
    """
    if prepared.first is None:
        return {}
    pair, batch = prepared.first, prepared.scored[0]
    front = bos_of(tokenizer)
    bos = front if _ids(batch, "clean")[: len(front)] == front else []
    fronts = {"bos": bos, "bos_written": written_front(tokenizer)}
    tokens = {"key": pair.key} | {name: tokenizer.decode(ids) if ids else None for name, ids in fronts.items()}
    for prompt, word in (("clean", "answer"), ("corrupted", "distractor")):
        before, after = _ids(batch, prompt)[len(bos) :], _ids(batch, f"{word}s")
        texts = token_texts(tokenizer, [*before, *after], text=getattr(pair, prompt) + getattr(pair, word))
        tokens |= {prompt: texts[: len(before)], word: texts[len(before) :]}
    return tokens


def _ids(batch: PromptBatch, field: str) -> list[int]:
    """Token ids of the first prompt; -1 stands behind the end of an answer."""
    return [token for token in getattr(batch, field)[0].tolist() if token >= 0]
