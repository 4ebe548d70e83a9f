"""From the tasks of a study to batches of prompts a model can be scored on, and what was dropped on the way."""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headcats.errors import DataError, ModelError
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.prompts.corruption import build_pairs, each_pair
from headcats.prompts.encode import DropReport, WordPair, encode_pairs, usable_pairs
from headcats.prompts.pair import PromptPair
from headcats.study.held_out import choose_even
from headcats.study.plan import REFERENCE_PROMPTS, Study
from headcats.sweeps.reference import Reference
from headcats.tasks.definition import Task

# Prompts that are looked through for each one that is held out.
_SEARCH = 20


@dataclass(frozen=True)
class Prepared:
    """A task as prompts.

    Attributes:
        task: The task.
        scored: Batches to be scored, one per prompt length.
        reference: Batches of other prompts of the task, for means and resampling.
        words: Word pairs kept and dropped.
        prompts: Prompt pairs kept and dropped.
        references: Reference prompt pairs kept and dropped.
        problem: Why the task cannot be scored, or "".
    """

    task: Task
    scored: tuple[PromptBatch, ...] = ()
    reference: tuple[PromptBatch, ...] = ()
    words: DropReport = field(default_factory=DropReport)
    prompts: DropReport = field(default_factory=DropReport)
    references: DropReport = field(default_factory=DropReport)
    problem: str = ""


class Preparation:
    """Prompts of every task of a study's suite, built when asked for and kept.

    A task's distractors and references come from the whole suite, whichever tasks are scored: scoring more tasks later
    does not change a prompt.
    """

    def __init__(self, model: HookedModel, study: Study) -> None:
        if model.tokenizer is None:
            raise ModelError(
                f"Model {model.name!r} has no tokenizer, so tasks cannot be written as tokens. Pass "
                "hc.load_model(model, tokenizer=...), or sweep your own tokens with hc.sweep."
            )
        self.model = model
        self.study = study
        self._tokenizer: Any = model.tokenizer
        # More than will be used, so that generated tasks rarely repeat a query.
        self._pool = max(1024, 4 * (study.n_prompts + REFERENCE_PROMPTS))
        self._references: dict[tuple[str, str], Reference] = {}
        self._prepared: dict[str, Prepared] = {}

    def of(self, task: str) -> Prepared:
        """One task of the suite; no other task is encoded for it.

        Raises:
            UnknownNameError: No task of the suite.
        """
        if task not in self._prepared:
            (named,) = self.study.suite.named([task])
            self._prepared[task] = self._prepare(named)
        return self._prepared[task]

    @functools.cached_property
    def prepared(self) -> dict[str, Prepared]:
        """Every task of the suite, by name, in the order of the suite."""
        return {task.name: self.of(task.name) for task in self.study.suite.tasks}

    def reference(self, task: str, kind: str) -> Reference:
        """Reference prompts for a task: "suite" (all tasks, clean), "task" (its own, clean), "corrupted" (its own,
        corrupted), "other_tasks" (all tasks but its own, clean) or "other_items" (its own with another query, clean).
        """
        key = ("" if kind == "suite" else task, kind)
        if key not in self._references:
            own = self.of(task).reference
            of_suite = kind in ("suite", "other_tasks")
            everything = [batch for one in self.prepared.values() for batch in one.reference] if of_suite else []
            if not (everything if of_suite else own):
                raise DataError(
                    f"Task {task!r} leaves no prompts for the {kind!r} reference; it needs more "
                    "prompts than are scored."
                )
            seed = self.study.seed
            self._references[key] = {
                "suite": lambda: Reference(everything, seed=seed, name="suite"),
                "task": lambda: Reference(own, seed=seed, name="task"),
                "corrupted": lambda: Reference(own, run="corrupted", seed=seed, name="corrupted"),
                "other_tasks": lambda: Reference(everything, seed=seed, name="other tasks"),
                "other_items": lambda: Reference(own, seed=seed, name="other items"),
            }[kind]()
        return self._references[key]

    def also_read(self, task: str, spec: MethodSpec) -> list[str]:
        """Fingerprints of what a method reads on a task beside its clean and corrupted prompts."""
        found: list[str] = []
        if choices := spec.method.options.get("reference"):
            kind = str(dict(spec.options).get("reference", choices[0]))
            everything = self.prepared.values() if kind in ("suite", "other_tasks") else [self.of(task)]
            found = [kind, *(batch.fingerprint() for one in everything for batch in one.reference)]
        if getattr(getattr(spec.method, "intervention", None), "uses_second", False):
            scored = self.of(task).scored
            found += ["second corruption", *(batch.second_fingerprint() for batch in scored)]
        return found

    def held_out(
        self, task_name: str, *, n: int, keep: Callable[[str], bool]
    ) -> tuple[tuple[PromptBatch, ...], DropReport]:
        """Fresh prompts of a task: neither scored nor reference, as if the study had asked for more of them.

        Args:
            task_name: A task of the suite.
            n: How many prompts at most.
            keep: Query -> whether prompts with it may be taken.

        Returns:
            Batches, one per prompt length, as even over the distractor tasks as the kept queries allow; fewer than `n`
            prompts, or no batch at all, where the task has no more. The report counts the prompts that could not be
            encoded. The same arguments give the same prompts.
        """
        prepared = self.of(task_name)
        if prepared.problem:
            return (), DropReport()
        used = self.study.n_prompts + REFERENCE_PROMPTS
        every = self._every_pair(prepared.task, repeats=_SEARCH * (used + n) + 100)
        before = list(itertools.islice(every, used))
        texts = {pair.clean for pair in before}  # of a task of finished pairs, the same prompt may come again
        fresh = (pair for pair in itertools.islice(every, _SEARCH * n) if pair.clean not in texts and keep(pair.item))
        strata = dict.fromkeys(pair.distractor_task for pair in before)
        return choose_even(fresh, n=n, strata=strata, encode=lambda pairs: self._batches(prepared.task, pairs))

    @functools.cached_property
    def _pairs(self) -> dict[str, tuple[list[WordPair], DropReport] | list[PromptPair]]:
        """Usable word pairs (or finished prompt pairs) of every task of the suite."""
        found: dict[str, tuple[list[WordPair], DropReport] | list[PromptPair]] = {}
        for task in self.study.suite.tasks:
            made = task.pairs(self._pool, seed=self.study.seed)
            if isinstance(made[0], PromptPair):
                found[task.name] = [pair for pair in made if isinstance(pair, PromptPair)]
            else:
                words = [pair for pair in made if not isinstance(pair, PromptPair)]
                found[task.name] = usable_pairs(words, self._tokenizer, template=self.study.template)
        return found

    def _prepare(self, task: Task) -> Prepared:
        study, own = self.study, self._pairs[task.name]
        if isinstance(own, list):
            return self._encode(task, own, DropReport(kept=len(own)))
        words, report = own
        if not words:
            return Prepared(task, words=report, problem=f"no usable word pair ({report.summary()})")
        try:
            built = build_pairs(
                task.name,
                words,
                self._others(task),
                n=study.n_prompts + REFERENCE_PROMPTS,
                seed=study.seed,
                template=study.template,
                n_demos=study.n_demos,
                corruption=study.corruption,
            )
        except DataError as error:
            dropped = f" Word pairs: {report.summary()}." if report.dropped else ""
            return Prepared(task, words=report, problem=f"{error}{dropped}")
        return self._encode(task, built, report)

    def _encode(self, task: Task, pairs: list[PromptPair], words: DropReport) -> Prepared:
        """The first prompts are scored, the others are reference; no prompt is both."""
        n = self.study.n_prompts
        (scored, prompts), (reference, others) = (
            self._batches(task, part) for part in (pairs[:n], pairs[n : n + REFERENCE_PROMPTS])
        )
        problem = "" if scored else f"no usable prompt ({prompts.summary()})"
        return Prepared(task, tuple(scored), tuple(reference), words, prompts, others, problem)

    def _batches(self, task: Task, pairs: Sequence[PromptPair]) -> tuple[list[PromptBatch], DropReport]:
        return encode_pairs(pairs, self._tokenizer, task=task.name, n_ctx=self.model.n_ctx)

    def _others(self, task: Task) -> dict[str, list[WordPair]]:
        """Word pairs of every other task."""
        return {name: found[0] for name, found in self._pairs.items() if name != task.name and isinstance(found, tuple)}

    def _every_pair(self, task: Task, *, repeats: int) -> Iterator[PromptPair]:
        """The task's prompts in their order: the scored ones, the reference, and those after them."""
        study, own = self.study, self._pairs[task.name]
        if isinstance(own, list):
            return iter(own)
        return each_pair(
            task.name,
            own[0],
            self._others(task),
            seed=study.seed,
            template=study.template,
            n_demos=study.n_demos,
            corruption=study.corruption,
            repeats=repeats,
        )
