"""The plan of a study: which tasks, methods, metrics and prompts."""

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headcats.base.errors import OptionError
from headcats.methods.spec import MethodSpec
from headcats.prompts.pair import PromptPair, WordPair
from headcats.prompts.template import Template, find_template
from headcats.results.declaration import default_methods, registered_declarations
from headcats.results.options import PlanOptions
from headcats.results.records import PlanRecord
from headcats.study.options import StudyOptions, takes_options
from headcats.tasks.definition import Task
from headcats.tasks.independent_sources import Sources, independent_sources
from headcats.tasks.stored import suite_text
from headcats.tasks.suites import Suite, suite, suite_defaults

# At least 100 per task, and never one of the scored prompts.
REFERENCE_PROMPTS = 100
# Of a task whose pairs are only looked at; it may have none if it is asked for one or two.
_ASKED_FOR = 64
# Shuffling labels defines no natural distractor: a logit difference compares with any other output in the prompt.
PRIMARY_METRICS = {"other_task": "logit_diff", "shuffled_labels": "log_prob"}


@dataclass(frozen=True, kw_only=True)
class Study(PlanOptions):
    """Tasks and methods to score, with the options that the manifest records. Built by `study_of`.

    Attributes:
        suite: All tasks; those that are not scored serve as distractors and reference.
        metrics: Metrics, the first of which decides whether a task has a gap.
        template: Prompt format; "chat" is completed when the model is there (`with_own_template`).
        tasks: Tasks that are scored.
        methods: Methods with positions and options.
        distractors: Task -> the tasks that may corrupt its prompts, where a run has found that out (see
            `headcats.study.distractors`); every task of the suite may corrupt those of the others.
        deal: Gives of the tasks (or the parts of a joint method) and the methods the pairs that are scored: all, or
            those of one of several runs.
    """

    suite: Suite
    metrics: tuple[str, ...]
    template: Template
    tasks: tuple[Task, ...]
    methods: tuple[MethodSpec, ...] = ()
    distractors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    deal: Callable[..., Iterable[tuple[Any, MethodSpec]]] = itertools.product

    @property
    def is_whole(self) -> bool:
        """True if all of it is scored, and no other run scores the rest."""
        return self.deal is itertools.product

    @property
    def cells(self) -> dict[Task, tuple[MethodSpec, ...]]:
        """Task -> the methods that score it one at a time; tasks that have none here are missing."""
        dealt: dict[Task, list[MethodSpec]] = defaultdict(list)
        for task, spec in self.deal(self.tasks, self.task_methods):
            dealt[task].append(spec)
        return {task: tuple(specs) for task, specs in dealt.items()}

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
        """Pairs of every task of the suite: word pairs, or finished prompt pairs. Each is asked once."""
        # More than will be used, so that generated tasks rarely repeat a query.
        pool = max(1024, 4 * (self.n_prompts + REFERENCE_PROMPTS))
        return {task.name: task.pairs(pool, seed=self.seed) for task in self.suite.tasks}

    @functools.cached_property
    def sources(self) -> Sources:
        """Independent sources of the tasks of the suite."""
        return independent_sources(self.suite.tasks)

    def word_pairs(self, task: str) -> list[WordPair]:
        """Pairs of a task that are no finished prompts."""
        return [pair for pair in self.pairs[task] if not isinstance(pair, PromptPair)]

    def changed(self, **fields: Any) -> "Study":
        """The study with other fields, and the same pairs and sources, for which each task is asked once."""
        other = replace(self, **fields)
        vars(other).update({name: vars(self)[name] for name in ("pairs", "sources") if name in vars(self)})
        return other

    def suite_text(self) -> str:
        """The suite with these pairs and the template, as results keep it (see `headcats.tasks.stored`)."""
        return suite_text(self.suite, pairs=self.pairs, template=self.template)

    def record(self) -> PlanRecord:
        """The parts of the plan that all blocks of a results folder share."""
        return PlanRecord(**self.recorded() | {"suite": self.suite.name, "template": self.template.name})


def study_of(options: StudyOptions) -> Study:
    """Return the study that the options of `hc.run` describe.

    An UnknownNameError for a task, method, metric, template or path; an OptionError for what a method cannot use,
    a limit of memory that cannot be read, or a shard with nothing to do.
    """
    from headcats.metrics.definition import registered_name  # which imports torch, as do the next
    from headcats.sweeps.paths import check_path
    from headcats.sweeps.within_memory import budget

    check_path(options.path)
    if options.memory is not None:
        budget(options.memory)
    chosen = suite(options.suite)
    metrics = map(registered_name, options.metrics or (PRIMARY_METRICS[options.corruption],))
    looked_up = {"suite": chosen, "metrics": tuple(dict.fromkeys(metrics)), "template": find_template(options.template)}
    study = Study(**options.recorded() | looked_up, tasks=chosen.named(options.tasks))
    named = options.methods or methods_of_suite(chosen, study.pairs)
    study = study.changed(methods=tuple(dict.fromkeys(map(MethodSpec.parse, named))))
    corrupting = [spec.name for spec in study.methods if not spec.is_joint]
    if study.n_demos == 0 and corrupting and any(study.word_pairs(task.name) for task in study.tasks):
        of_suite = suite_defaults(chosen.source).get("n_demos") == 0
        raise OptionError(
            f"n_demos must be a whole number of at least 1; got 0{f', which suite {chosen.name!r} takes' * of_suite}: "
            f"{corrupting[0]} needs prompts that are corrupted in their demonstrations. Ask for some, such as "
            f"--n-demos {StudyOptions.n_demos} (n_demos={StudyOptions.n_demos})."
        )
    for spec in study.methods:
        # Refused before a model is loaded.
        getattr(spec.method, "check_metrics", lambda names: None)(study.metrics)
    return study if options.shard is None else options.shard.narrow(study)


plan: Callable[..., Study] = takes_options(StudyOptions, without=())(study_of)


def check_methods(study: Study, model: Any) -> None:
    """Refuse options of methods that the model cannot be scored with, before anything is scored or written."""
    for spec in study.methods:
        getattr(spec.method, "check_model", lambda model, **options: None)(model, **dict(spec.options))


def methods_of_suite(
    suite: Suite, pairs: Mapping[str, Sequence[WordPair | PromptPair]] | None = None
) -> tuple[str, ...]:
    """Methods of a run of this suite that names none: those made for it, or else the default ones.

    `pairs` of each task, if they are at hand, tell whether all are finished prompts.
    """
    declared = registered_declarations()
    if of_suite := tuple(
        name for name, about in declared.items() if suite.source and about.default_suite == suite.source
    ):
        return of_suite
    of_tasks = pairs.values() if pairs else (task.pairs(_ASKED_FOR, seed=0) for task in suite.tasks)
    is_finished = all(isinstance(of_task[0], PromptPair) for of_task in of_tasks)
    return methods_of_finished_prompts() if is_finished else default_methods()


def methods_of_finished_prompts() -> tuple[str, ...]:
    """Default methods at the last position, as such prompts share few roles, without the second corruption."""
    declared = registered_declarations()
    return tuple(f"{name}@last" for name in default_methods() if declared[name].control != "task")
