"""From the tasks of a study to batches of prompts a model can be scored on, and what was dropped on the way."""

import functools
from dataclasses import dataclass, field
from typing import Any

from headcats.errors import DataError, ModelError
from headcats.models import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.prompts.corruption import build_pairs
from headcats.prompts.encode import DropReport, WordPair, encode_pairs, usable_pairs
from headcats.prompts.pair import PromptPair
from headcats.study.plan import REFERENCE_PROMPTS, Study
from headcats.sweeps.reference import Reference
from headcats.tasks import Task


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

    @functools.cached_property
    def prepared(self) -> dict[str, Prepared]:
        """Every task of the suite, by name, in the order of the suite."""
        return {task.name: self._prepare(task) for task in self.study.suite.tasks}

    def reference(self, task: str, kind: str) -> Reference:
        """Reference prompts for a task: "suite" (all tasks, clean), "task" (its own, clean), "corrupted" (its own,
        corrupted) or "other_tasks" (all tasks but its own, clean).
        """
        key = ("" if kind == "suite" else task, kind)
        if key not in self._references:
            own = self.prepared[task].reference
            everything = [batch for one in self.prepared.values() for batch in one.reference]
            if not (everything if kind in ("suite", "other_tasks") else own):
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
            }[kind]()
        return self._references[key]

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
        others = {
            name: found[0] for name, found in self._pairs.items() if name != task.name and isinstance(found, tuple)
        }
        try:
            built = build_pairs(
                task.name,
                words,
                others,
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
        parts = []
        for part in (pairs[:n], pairs[n : n + REFERENCE_PROMPTS]):
            parts.append(encode_pairs(part, self._tokenizer, task=task.name, n_ctx=self.model.n_ctx))
        (scored, prompts), (reference, others) = parts
        problem = "" if scored else f"no usable prompt ({prompts.summary()})"
        return Prepared(task, tuple(scored), tuple(reference), words, prompts, others, problem)
