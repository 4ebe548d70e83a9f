"""The plan of a study: which tasks, methods, metrics and prompts."""

import functools
import inspect
import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from headcats.bounds import check_count, shown
from headcats.errors import OptionError, UnknownNameError, pluralize
from headcats.methods.spec import MethodSpec
from headcats.prompts.answers import ANSWERS
from headcats.prompts.corruption import CORRUPTIONS
from headcats.prompts.pair import PromptPair, WordPair
from headcats.prompts.template import Template, find_template
from headcats.registry import unknown_name_message
from headcats.results.declaration import default_methods
from headcats.results.records import Answers, PlanRecord
from headcats.study.defaults import OF_STUDY, OF_SUITE
from headcats.study.shard import Shard
from headcats.study.suite_methods import methods_of_suite
from headcats.tasks.definition import Task
from headcats.tasks.most_prompts import check_n_demos, check_n_prompts
from headcats.tasks.stored import suite_text
from headcats.tasks.suites import Suite, suite

if TYPE_CHECKING:
    from headcats.metrics.definition import Metric

# At least 100 per task, and never one of the scored prompts.
REFERENCE_PROMPTS = 100
# Shuffling labels defines no natural distractor: a logit difference compares with any other output in the prompt.
PRIMARY_METRICS = {"other_task": "logit_diff", "shuffled_labels": "log_prob"}


@dataclass(frozen=True)
class Study:
    """What to score and how. Built by `plan`, which checks every name.

    Attributes:
        suite: All tasks; those that are not scored serve as distractors and reference.
        tasks: Tasks that are scored.
        methods: Methods with positions and options.
        metrics: Metrics, the first of which decides whether a task has a gap.
        n_prompts: Scored prompts per task.
        n_demos: Demonstrations per prompt.
        template: How a prompt is written; "chat" is completed when the model is there (`with_own_template`).
        corruption: How its corrupted twin differs.
        answers: How much of an answer is scored.
        seed: Seed of every random choice.
        min_accuracy: Tasks with a lower accuracy on clean prompts are skipped.
        min_logit_diff: Tasks whose mean logit difference on clean prompts is not clearly above this are skipped; None
            skips none.
        distractors: Task -> the tasks that may corrupt its prompts, where a run has found that out (see
            `headcats.study.distractors`); every task of the suite may corrupt those of the others.
        shard: The part of the study that is scored; None for all of it.
    """

    suite: Suite
    tasks: tuple[Task, ...]
    methods: tuple[MethodSpec, ...]
    metrics: tuple[str, ...]
    n_prompts: int
    n_demos: int
    template: Template
    corruption: str
    answers: Answers
    seed: int
    min_accuracy: float
    min_logit_diff: float | None
    distractors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shard: Shard | None = None

    @property
    def cells(self) -> dict[Task, tuple[MethodSpec, ...]]:
        """Task -> the methods that score it one at a time, of those tasks and methods that fall to the shard."""
        if self.shard is None:
            return {task: self.task_methods for task in self.tasks if self.task_methods}
        dealt = self.shard.dealt([task.name for task in self.tasks], self.task_methods)
        return {task: tuple(dealt[task.name]) for task in self.tasks if task.name in dealt}

    @property
    def task_methods(self) -> tuple[MethodSpec, ...]:
        """Methods that score one task at a time."""
        return tuple(spec for spec in self.methods if not spec.is_joint)

    @property
    def joint_methods(self) -> tuple[MethodSpec, ...]:
        """Joint methods: those that judge heads over all tasks at once."""
        return tuple(spec for spec in self.methods if spec.is_joint)

    @functools.cached_property
    def pairs(self) -> dict[str, list[WordPair] | list[PromptPair]]:
        """What every task of the suite gives: word pairs, or finished prompt pairs. Each is asked once."""
        # More than will be used, so that generated tasks rarely repeat a query.
        pool = max(1024, 4 * (self.n_prompts + REFERENCE_PROMPTS))
        return {task.name: task.pairs(pool, seed=self.seed) for task in self.suite.tasks}

    def word_pairs(self, task: str) -> list[WordPair]:
        """Those pairs of a task that are no finished prompts."""
        return [pair for pair in self.pairs[task] if not isinstance(pair, PromptPair)]

    def changed(self, **fields: Any) -> "Study":
        """The study with other fields, and the same pairs, of which each task is asked once."""
        other = replace(self, **fields)
        if "pairs" in vars(self):
            vars(other)["pairs"] = self.pairs
        return other

    def suite_text(self) -> str:
        """The suite with these pairs and the template, as results keep it (see `headcats.tasks.stored`)."""
        return suite_text(self.suite, pairs=self.pairs, template=self.template)

    def record(self) -> PlanRecord:
        """The parts of the plan that all blocks of a results folder share."""
        return PlanRecord(
            suite=self.suite.name,
            metrics=self.metrics,
            n_prompts=self.n_prompts,
            n_demos=self.n_demos,
            template=self.template.name,
            corruption=self.corruption,
            answers=self.answers,
            seed=self.seed,
            min_accuracy=self.min_accuracy,
            min_logit_diff=self.min_logit_diff,
        )


def plan(
    *,
    suite_source: str | Suite | Task | Sequence[Task | str] = "icl",
    tasks: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    metrics: "Sequence[str | Metric] | None" = None,
    n_prompts: int,
    n_demos: int | None = None,
    template: str = "arrow",
    corruption: str = "other_task",
    answers: str = "whole",
    seed: int = 0,
    min_accuracy: float | None = None,
    min_logit_diff: float | None = None,
    shard: str | None = None,
) -> Study:
    """A checked study; arguments as in `hc.run`. None takes the default of a bundled suite, or else the general one.

    Raises:
        UnknownNameError: A suite, task, method, metric, template, corruption or kind of answers that does not exist.
        OptionError: A number out of range, an empty list, a function that is no metric, or a metric that one of the
            methods cannot use.
        DataError: An empty suite.
    """
    chosen = suite(suite_source)
    usual = OF_STUDY | OF_SUITE.get(chosen.source, {})
    n_demos = usual["n_demos"] if n_demos is None else n_demos
    min_accuracy = usual["min_accuracy"] if min_accuracy is None else min_accuracy
    min_logit_diff = usual.get("min_logit_diff") if min_logit_diff is None else min_logit_diff
    check_count("n_prompts", n_prompts, least=2, most=math.inf)
    check_count("n_demos", n_demos, least=0, most=math.inf)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise OptionError(f"seed must be a whole number; got {shown(seed)}.")
    if abs(seed) >= 2**63:
        raise OptionError(f"seed must be between -2^63 and 2^63, as results keep it in 64 bits; got {shown(seed)}.")
    if not _is_number(min_accuracy) or not 0 <= min_accuracy <= 1:
        raise OptionError(
            f"min_accuracy must be a number from 0 (no task is skipped for it) to 1; got {min_accuracy!r}."
        )
    if min_logit_diff is not None and not _is_number(min_logit_diff):
        raise OptionError(
            f"min_logit_diff must be a number, in nats, or None for the default of the suite; got {min_logit_diff!r}."
        )
    for name, value, example in (
        ("methods", methods, default_methods()[0]),
        ("metrics", metrics, "logit_diff"),
        ("tasks", tasks, "country_capital"),
    ):
        if value is not None and (isinstance(value, str) or callable(value) or not value):
            raise OptionError(f"{name} must be a list of names, such as {[example]}; got {value!r}.")
    for option, value, known in (("corruption", corruption, CORRUPTIONS), ("answers", answers, ANSWERS)):
        if value not in known:
            raise UnknownNameError(unknown_name_message(option, value, known))
    from headcats.metrics.given import registered_name  # which imports torch

    names = dict.fromkeys(map(registered_name, metrics or (PRIMARY_METRICS[corruption],)))
    study = Study(
        suite=chosen,
        tasks=chosen.named(tasks),
        methods=(),
        metrics=tuple(names),
        n_prompts=n_prompts,
        n_demos=n_demos,
        template=find_template(template),
        corruption=corruption,
        answers=cast("Answers", answers),
        seed=seed,
        min_accuracy=float(min_accuracy),
        min_logit_diff=None if min_logit_diff is None else float(min_logit_diff),
        shard=None if shard is None else Shard.parse(shard),
    )
    check_n_prompts(n_prompts, chosen.tasks, n_demos=n_demos, seed=seed)
    check_n_demos(n_demos, lambda: {task.name: study.pairs[task.name] for task in study.tasks})
    named = methods or methods_of_suite(chosen, study.pairs)
    study = study.changed(methods=tuple(dict.fromkeys(map(MethodSpec.parse, named))))
    corrupting = [spec.name for spec in study.methods if not spec.is_joint]
    of_suite = f", which suite {chosen.name!r} takes" if usual["n_demos"] == 0 else ""
    if n_demos == 0 and corrupting and any(study.word_pairs(task.name) for task in study.tasks):
        raise OptionError(
            f"n_demos must be a whole number of at least 1; got 0{of_suite}: {corrupting[0]} needs prompts that are "
            f"corrupted in their demonstrations. Ask for some, such as n_demos={OF_STUDY['n_demos']}."
        )
    for spec in study.methods:
        # Refused before a model is loaded.
        getattr(spec.method, "check_metrics", lambda names: None)(study.metrics)
    _check_shard(study)
    return study


def _check_shard(study: Study) -> None:
    """Refuse more shards than cells, in every job of an array alike: the last ones would have nothing to do."""
    n_cells = len(study.tasks) * len(study.task_methods)
    if study.shard is None or study.shard.of <= n_cells or study.joint_methods:
        return
    raise OptionError(
        f"shard {study.shard}: there are {pluralize(n_cells, 'cell')} ({pluralize(len(study.tasks), 'task')} x "
        f"{pluralize(len(study.task_methods), 'method')}), so at most {n_cells} shards have something to do."
    )


def check_methods(study: Study, model: Any) -> None:
    """Refuse options of methods that the model cannot be scored with, before anything is scored or written."""
    for spec in study.methods:
        getattr(spec.method, "check_model", lambda model, **options: None)(model, **dict(spec.options))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def check_options(options: Iterable[str], *, function: Callable[..., Any], without: Container[str] = ()) -> None:
    """Refuse options that do not exist, with a TypeError that names near matches and all valid options.

    The function is `hc.run` or takes its options, but for those of `without`.
    """
    parameters = inspect.signature(function).parameters.values()
    named = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    valid = [name for name in inspect.signature(plan).parameters if name not in (*named, "suite_source")]
    valid = [name for name in valid if name not in without]
    for name in options:
        if name not in valid:
            raise TypeError(unknown_name_message("option", name, [*named, *valid]))
