"""The prompts of a task as a study makes them, for functions that take batches of prompts."""

import logging
import warnings
from dataclasses import replace
from typing import Any

from headcats.base.errors import DataError, TokenizationWarning
from headcats.models.loading import load_model
from headcats.prompts.batch import PromptBatch
from headcats.study.options import StudyOptions, takes_options
from headcats.study.own_template import with_own_template
from headcats.study.plan import study_of
from headcats.study.preparation import Preparation
from headcats.tasks.definition import Task
from headcats.tasks.suites import suite

_log = logging.getLogger("headcats")


@takes_options(StudyOptions, until="prompts")
def task_prompts(model: Any, task: str | Task, options: StudyOptions) -> list[PromptBatch]:
    """Clean and corrupted prompts of one task, with the role of every token, as `hc.run` makes them.

    For `hc.sweep`, `hc.evidence.joint_sweep` and what else takes prompts. Whether the model solves the task, or those
    that corrupt it, is not looked at: a run takes tasks that it skips out of the prompts of others.

    Args:
        model: As in `hc.run`; it needs a tokenizer.
        task: Name of a task of the suite, whose other tasks corrupt its prompts; or a `Task`, which is added to it.
        options: As in `hc.run`: those of a run give the prompts of the run.

    Returns:
        Batches in the order of first appearance: the prompts of each have one clean and one corrupted length, and
        answers of several tokens have batches of their own. Roles, in the order of the text: `bos` where
        the tokenizer puts a token in front; `start`, what a chat template writes before the first message; of each
        demonstration `before1`, `x1`, `between1`, `y1`, `after1`, and so
        on; `before_query`, `x_query`, `between_query`; those that the template leaves empty are not there;
        `answer_start`, where answer and distractor begin with the same tokens, which then end the prompts. Where
        several tokens share a role they are `x1[0/2]` and `x1[1/2]`. A task of finished prompts has roles of its own;
        text outside all of them is `other`. Without any, the last token is `end`.

    Raises:
        UnknownNameError: A suite, task, template, corruption or kind of answers that does not exist.
        OptionError: A number out of range, or a template that the model's tokenizer lacks or cannot write.
        DataError: No prompt can be written, with the reason.
        ModelError: A model that cannot be loaded, or without tokenizer.
        TypeError: An option that does not exist.

    Warns:
        TokenizationWarning: Fewer prompts than were asked for, with the reasons.

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> (batch,) = hc.task_prompts("mini", "country_capital", suite=two, n_prompts=4)
        >>> batch.clean.shape  # (prompt, pos)
        torch.Size([4, 23])
        >>> batch.distractor_tasks
        ('country_language', 'country_language', 'country_language', 'country_language')
    """
    if isinstance(task, Task):
        options, task = replace(options, suite=suite(options.suite).with_tasks(task)), task.name
    study = study_of(replace(options, tasks=[task]))
    adapted = load_model(model)
    prepared = Preparation(adapted, with_own_template(study, adapted)).of(task)
    if prepared.problem:
        raise DataError(f"Task {task!r} has no prompts: {prepared.problem}.")
    if prepared.words is not None and prepared.words.dropped:
        _log.info("Word pairs of %s: %s.", task, prepared.words.summary())
    if prepared.prompts.kept < study.n_prompts:
        warnings.warn(
            f"Task {task!r} has fewer prompts than the {study.n_prompts} asked for: {prepared.prompts.summary()}.",
            TokenizationWarning,
            stacklevel=2,
        )
    return list(prepared.scored)
