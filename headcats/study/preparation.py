"""From the tasks of a study to batches of prompts a model can be scored on, and what was dropped on the way."""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headcats.base.errors import DataError, ModelError
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.checks import takes_padding
from headcats.prompts.batch import PromptBatch
from headcats.prompts.chat import as_messages
from headcats.prompts.corruption import build_pairs, distractor_tasks, each_pair
from headcats.prompts.drop_report import DropReport
from headcats.prompts.encode import encode_pairs, usable_pairs
from headcats.prompts.padding import padded_together
from headcats.prompts.pair import PromptPair, WordPair, near_duplicates
from headcats.results.records import LEAST_PROMPTS_PER_ROLE
from headcats.study.plan import REFERENCE_PROMPTS, Study
from headcats.study.references import References, reference_kind
from headcats.tasks.definition import Task

_LEAST_SHARED = 28  # 8 scored, 16 reference, 4 left
# Candidates per held-out prompt.
_SEARCH = 20

Encode = Callable[[Sequence[PromptPair]], tuple[list[PromptBatch], DropReport]]


@dataclass(frozen=True)
class Prepared:
    """A task as prompts.

    Attributes:
        task: The task.
        scored: Batches to be scored, as `encode_pairs` groups them.
        reference: Batches of other prompts of the task, for means and resampling.
        words: Word pairs kept and dropped; None of a task of finished prompts.
        prompts: Prompt pairs kept and dropped.
        references: Reference prompt pairs kept and dropped.
        problem: Reason why the task cannot be scored, or "".
        n_left: Number of finished prompts that are left for `held_out`; None of a task of word pairs.
        near_duplicates: Keys of finished prompts with the contrast of another item.
        corruption: Corruption of word pairs: as the study asks, or "shuffled_labels" where no other task can.
        first: The first scored prompt as text; None where there is none.
    """

    task: Task
    scored: tuple[PromptBatch, ...] = ()
    reference: tuple[PromptBatch, ...] = ()
    words: DropReport | None = None
    prompts: DropReport = field(default_factory=DropReport)
    references: DropReport = field(default_factory=DropReport)
    problem: str = ""
    n_left: int | None = None
    near_duplicates: tuple[str, ...] = ()
    corruption: str = ""
    first: PromptPair | None = None


class Preparation:
    """Prompts of every task of a study's suite, built when asked for and kept.

    Distractors and references come from the whole suite: scoring more tasks later does not change a prompt.
    """

    def __init__(self, model: Any, study: Study) -> None:  # a HookedModel, or a writer in its place: scale/resources.py
        if model.tokenizer is None:
            raise ModelError(
                f"Model {model.name!r} has no tokenizer, so tasks cannot be written as tokens. Pass "
                "hc.load_model(model, tokenizer=...), or sweep your own tokens with hc.sweep."
            )
        self.model: HookedModel = model
        self.study = study
        self.distractors = dict(study.distractors)
        self._tokenizer: Any = model.tokenizer
        self.references = References(
            [task.name for task in study.suite.tasks],
            lambda task: self.together(self.of(task).reference),
            seed=study.seed,
            n_scored=lambda task: self.of(task).prompts.kept,
        )
        self._prepared: dict[str, Prepared] = {}
        self._together: dict[str, tuple[PromptBatch, ...]] = {}

    def of(self, task: str) -> Prepared:
        """One task of the suite (else an UnknownNameError); no other task is encoded for it."""
        if task not in self._prepared:
            (definition,) = self.study.suite.named([task])
            self._prepared[task] = self._prepare(definition)
        return self._prepared[task]

    def batches(self, task: str, spec: MethodSpec | None = None) -> tuple[PromptBatch, ...]:
        """Batches in which a method goes through the scored prompts of a task; None for that of the unpatched runs.

        Prompts of several lengths together where nothing changes before the last position, in another order.
        """
        scored = self.of(task).scored
        if not (spec is None or getattr(spec.method, "takes_padding", bool)(spec.positions)):
            return scored
        if task not in self._together:
            self._together[task] = self.together(scored)
        return self._together[task]

    def together(self, batches: tuple[PromptBatch, ...]) -> tuple[PromptBatch, ...]:
        """The same prompts, several lengths together if the model is exact with them (or not there yet)."""
        if len(batches) < 2:
            return batches
        joined = padded_together(batches, n_ctx=self.model.n_ctx or math.inf)
        sides = [getattr(batch, side) for batch in joined for side in ("clean", "corrupted")]
        exact = not isinstance(self.model, HookedModel) or all(takes_padding(self.model, side) for side in sides)
        return joined if exact else batches

    @property
    def prepared(self) -> dict[str, Prepared]:
        """Every task of the suite, by name, in the order of the suite."""
        return {task.name: self.of(task.name) for task in self.study.suite.tasks}

    @functools.cached_property
    def candidates(self) -> dict[str, tuple[str, ...]]:
        """Task -> every task that could corrupt its prompts; none where other tasks do not."""
        if self.study.corruption != "other_task":
            return {}
        return {
            name: tuple(distractor_tasks(dict(pairs[0]), self._words_of_rest(name), n_demos=self.study.n_demos))
            for name, pairs in self._pairs.items()
            if isinstance(pairs, tuple)
        }

    def set_distractors(self, task: str, distractors: tuple[str, ...]) -> None:
        """Write the prompts of a task anew, corrupted by these tasks alone."""
        self.distractors[task] = distractors
        self._prepared.pop(task, None)
        self._together.pop(task, None)
        self.references.forget()

    def also_read(self, task: str, spec: MethodSpec) -> list[str]:
        """Fingerprints of what a method reads on a task beside its clean and corrupted prompts."""
        fingerprints: list[str] = []
        if kind := reference_kind(spec):
            sources = self.references.sources(task, kind)
            fingerprints = [kind, *(batch.fingerprint() for name in sources for batch in self.of(name).reference)]
        if getattr(getattr(spec.method, "intervention", None), "uses_second", False):
            scored = self.of(task).scored
            fingerprints += ["second corruption", *(batch.second_fingerprint() for batch in scored)]
        return fingerprints

    def held_out(
        self, task_name: str, *, n: int, keep: Callable[[str], bool]
    ) -> tuple[tuple[PromptBatch, ...], DropReport]:
        """Fresh prompts of a task: neither scored nor reference, as if the study had asked for more of them.

        Batches of up to `n` prompts whose query `keep` admits, as even over the distractor tasks as the queries allow
        (none where the task has no more), and how many could not be encoded. The same arguments give the same prompts.
        """
        prepared = self.of(task_name)
        if prepared.problem:
            return (), DropReport()
        used = sum(self.shares(prepared.task))
        pairs = self._each_pair(prepared.task, repeats=_SEARCH * (used + n) + 100)
        before = list(itertools.islice(pairs, used))
        texts = {pair.clean for pair in before}  # a task of finished pairs may repeat a prompt
        fresh = (pair for pair in itertools.islice(pairs, _SEARCH * n) if pair.clean not in texts and keep(pair.item))
        strata = dict.fromkeys(pair.distractor_task for pair in before)
        return choose_even(fresh, n=n, strata=strata, encode=lambda chunk: self._batches(prepared.task, chunk))

    @functools.cached_property
    def _pairs(self) -> dict[str, tuple[list[WordPair], DropReport] | list[PromptPair]]:
        """Usable word pairs (or finished prompt pairs) of every task of the suite."""
        pairs: dict[str, Any] = self.study.pairs
        return {
            name: as_messages(of_task, self.study.template)
            if isinstance(of_task[0], PromptPair)
            else usable_pairs(of_task, self._tokenizer, template=self.study.template, answers=self.study.answers)
            for name, of_task in pairs.items()
        }

    def _prepare(self, task: Task) -> Prepared:
        study, source = self.study, self._pairs[task.name]
        if isinstance(source, list):
            alike = tuple(pair.key for pair in near_duplicates(source))
            n_left = max(0, len(source) - sum(self.shares(task)))
            return replace(self._encode(task, source, None), n_left=n_left, near_duplicates=alike)
        words, report = source
        if not words:
            return Prepared(task, words=report, problem=f"no usable word pair ({report.summary()})")
        writing = self._writing(task.name)
        n = study.n_prompts + REFERENCE_PROMPTS
        try:
            pairs = build_pairs(task.name, words, self._words_of_rest(task.name), n=n, **writing)
        except DataError as error:
            falls_back = writing["corruption"] != study.corruption
            alone = "No other task that the model can do may corrupt its prompts. " if falls_back else ""
            dropped = f" Word pairs: {report.summary()}." if report.dropped else ""
            return Prepared(task, words=report, problem=f"{alone}{error}{dropped}", corruption=writing["corruption"])
        return replace(self._encode(task, pairs, report), corruption=writing["corruption"])

    def _encode(self, task: Task, pairs: list[PromptPair], words: DropReport | None) -> Prepared:
        """The first prompts are scored, the others are reference; no prompt is both."""
        n, n_reference = self.shares(task)
        scored, prompts = self._batches(task, pairs[:n])
        reference, references = self._batches(task, pairs[n : n + n_reference])
        problem = "" if scored else f"no usable prompt ({prompts.summary()})"
        first = next((pair for pair in pairs if scored and pair.key == scored[0].keys[0]), None)
        return Prepared(task, tuple(scored), tuple(reference), words, prompts, references, problem, first=first)

    def shares(self, task: Task) -> tuple[int, int]:
        """Numbers of scored and of reference prompts of a task; half of the other finished ones are left for
        `held_out`, unless too few reference prompts remain. Of a user's short list, where `n_prompts` is the default,
        the least number is reference, two thirds of the others are scored, and a third is left.
        """
        n, source = self.study.n_prompts, self._pairs[task.name]
        if not isinstance(source, list):
            return n, REFERENCE_PROMPTS
        if self._may_share(task) and _LEAST_SHARED <= len(source) < n + 2 * LEAST_PROMPTS_PER_ROLE:
            return (len(source) - LEAST_PROMPTS_PER_ROLE) * 2 // 3, LEAST_PROMPTS_PER_ROLE
        return n, min(REFERENCE_PROMPTS, max(LEAST_PROMPTS_PER_ROLE, (len(source) - n) // 2))

    def least(self, task: Task) -> int:
        """Least number of finished prompts of a task for some to be left for `held_out`."""
        return _LEAST_SHARED if self._may_share(task) else self.study.n_prompts + 2 * LEAST_PROMPTS_PER_ROLE

    def _may_share(self, task: Task) -> bool:
        """True if fewer of a task's prompts may be scored than the study asks: nobody has asked for a number."""
        return task.suite is None and self.study.n_prompts == Study.n_prompts

    def _batches(self, task: Task, pairs: Sequence[PromptPair]) -> tuple[list[PromptBatch], DropReport]:
        study, n_ctx = self.study, self.model.n_ctx
        bos = study.template.bos
        return encode_pairs(pairs, self._tokenizer, task=task.name, n_ctx=n_ctx, answers=study.answers, bos=bos)

    def _words_of_rest(self, task: str) -> dict[str, list[WordPair]]:
        return {name: pairs[0] for name, pairs in self._pairs.items() if name != task and isinstance(pairs, tuple)}

    def _each_pair(self, task: Task, *, repeats: int) -> Iterator[PromptPair]:
        """The task's prompts in their order: the scored ones, the reference, and those after them."""
        source = self._pairs[task.name]
        if isinstance(source, list):
            return iter(source)
        words = self._words_of_rest(task.name)
        return each_pair(task.name, source[0], words, repeats=repeats, **self._writing(task.name))

    def _writing(self, task: str) -> dict[str, Any]:
        """Options by which word pairs become prompt pairs."""
        study, candidates = self.study, self.candidates.get(task, ())
        distractors = [name for name in candidates if name in self.distractors.get(task, candidates)]
        return {
            "seed": study.seed,
            "template": study.template,
            "n_demos": study.n_demos,
            "corruption": study.corruption if distractors else "shuffled_labels",
            "distractors": distractors,
        }


def choose_even(
    pairs: Iterable[PromptPair], *, n: int, strata: Iterable[str], encode: Encode
) -> tuple[tuple[PromptBatch, ...], DropReport]:
    """Up to `n` prompts, in turn from each stratum (the distractor task), and how many candidates cannot be encoded.

    Candidates are read until every stratum could give its share; one without any leaves its share to the others.
    """
    pools: dict[str, list[PromptPair]] = {name: [] for name in strata}
    report, candidates = DropReport(), iter(pairs)
    while chunk := list(itertools.islice(candidates, n)):
        batches, chunk_report = encode(chunk)
        report.add(chunk_report)
        encoded = {key for batch in batches for key in batch.keys}
        for pair in chunk:
            if pair.key in encoded:
                pools.setdefault(pair.distractor_task, []).append(pair)
        if all(len(pool) * len(pools) >= n for pool in pools.values()):
            break
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*pools.values()))
    selected = list(itertools.islice(filter(None, rounds), n))
    report.kept = len(selected)
    return tuple(encode(selected)[0]), report
