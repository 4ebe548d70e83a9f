"""`validate`: what a run would score, before any head is touched."""

import logging
import time
from dataclasses import asdict, replace
from typing import Any

from headcats.errors import format_duration
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.models.loading import load_model
from headcats.results.records import DropCounts, TaskRecord
from headcats.study.assessment import assess, base_runs
from headcats.study.estimate import memory_plan, seconds_expected
from headcats.study.plan import Study, check_options, plan
from headcats.study.preparation import Preparation, Prepared
from headcats.study.suite_run import suite_inputs
from headcats.sweeps.memory import budget
from headcats.sweeps.paths import check_path
from headcats.sweeps.runs import BaseRuns

_log = logging.getLogger("headcats")


def validate(
    model: Any,
    *,
    suite: Any = "icl",
    n_prompts: int,
    seed: int = 0,
    path: str = "auto",
    memory: str | int | None = None,
    **options: Any,
) -> dict[str, dict[str, Any]]:
    """Per task: what is kept, what is dropped and why, base accuracy, gap with interval, and the refusal if there is
    one.

    Args:
        model: As in `hc.run`.
        suite: As in `hc.run`.
        n_prompts: Scored prompts per task.
        seed: Seed of the prompts; the same seed gives the prompts that a run scores.
        path: As in `hc.run`.
        memory: As in `hc.run`. Memory and time of a run of the default methods are estimated and logged.
        **options: As in `hc.run`.

    Returns:
        Task name -> entry: `category`, `source`, `word_pairs`,
        `prompts` and `reference_prompts` (kept, dropped by reason, first example of each reason), `refusal`, and
        where prompts could be written `accuracy`, `corrupted_accuracy`, `metric`, `gap`, `low`, `high`, `n_items` and
        `seconds` (of the task's unpatched runs). Where a method that reads answers is run and none that scores task by
        task, a task that is answered in a sentence has another entry: `category`, `source`, `refusal`, `seconds`,
        `needed` (answers of either kind that a probe needs), and where answers are left `questions` (kept, dropped by
        reason, an example of each), `n_right`, `n_wrong` and `right` (share of right answers) with `low` and `high`
        (95 %).

    Raises:
        As `hc.run`.
    """
    check_options(name for name in options if name != "methods")
    check_path(path)
    study = plan(suite_source=suite, n_prompts=n_prompts, seed=seed, **options)
    adapted: HookedModel = load_model(model)
    check_model(adapted)
    budget(memory, adapted.device)  # refused also where nothing is swept
    preparation, inputs, probe = Preparation(adapted, study), suite_inputs(adapted, study), _probe(study)
    entries = {}
    for task in study.tasks:
        started = time.monotonic()
        if probe is not None and task.exact is not None:
            about = {"category": study.suite.category_of(task).name, "source": task.source}
            alone = replace(inputs, tasks=(task,))
            entry = about | probe.method.validate(alone, n_prompts=study.n_prompts, **dict(probe.options))
        else:
            prepared = preparation.prepared[task.name]
            entry = task_record(study, prepared, base_runs(adapted, prepared, memory=memory)).to_dict()
        entries[task.name] = entry | {"seconds": round(time.monotonic() - started, 3)}
    if not study.task_methods:
        return entries
    if expected := memory_plan(adapted, study, preparation, limit=memory, path=path):
        seconds = {name: entry["seconds"] for name, entry in entries.items() if not entry["refusal"]}
        expected_seconds = seconds_expected(adapted, study, preparation, seconds, path=path)
        _log.info("Memory: %s.", expected.describe())
        _log.info(
            "Time: about %s for %s, judged by the unpatched runs.",
            format_duration(expected_seconds),
            ", ".join(spec.label for spec in study.task_methods),
        )
    return entries


def _probe(study: Study) -> MethodSpec | None:
    """The first method of a study that reads answers in sentences, where no task is corrupted beside it."""
    probes = [spec for spec in study.suite_methods if spec.method.declaration.needs == "exact answers"]
    return next((spec for spec in probes if hasattr(spec.method, "validate")), None) if not study.task_methods else None


def task_record(study: Study, prepared: Prepared, runs: tuple[BaseRuns, ...]) -> TaskRecord:
    """What the manifest, and `validate`, say of a task."""
    record = TaskRecord(
        category=study.suite.category_of(prepared.task).name,
        source=prepared.task.source,
        word_pairs=DropCounts(**asdict(prepared.words)),
        prompts=DropCounts(**asdict(prepared.prompts)),
        reference_prompts=DropCounts(**asdict(prepared.references)),
        refusal=prepared.problem,
    )
    if prepared.problem:
        return record
    prompt_hash = tuple(batch.fingerprint() for batch in prepared.scored)
    return replace(record, prompt_hash=prompt_hash, **asdict(assess(study, prepared, runs)))
