"""Token probe: where, by layer and token, a model's own activations tell that its answer is wrong."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, StatisticsWarning, pluralize
from headcats.methods.method import SuiteInputs
from headcats.methods.spec import Option, WholeNumber, check_whole
from headcats.models.adapter import adapt
from headcats.models.checks import check_model
from headcats.papers.accuracy import clustered_accuracy
from headcats.papers.token_probe.answers import answer_questions
from headcats.papers.token_probe.items import AnsweredItem, Item, Question
from headcats.papers.token_probe.settings import PRESETS, REPRESENTATIONS, TokenProbeSettings
from headcats.papers.token_probe.summary import not_converged
from headcats.papers.token_probe.token_map import token_map
from headcats.statistics.random_streams import stream

# Per task: fewer leave too few pairs of one task where tasks are very easy or very hard.
_QUESTIONS = WholeNumber(default=1000, least=1)
_MAX_ITER = WholeNumber(default=PRESETS["orgad2025"].max_iter, least=1)


class TokenProbe:
    """Layer x token role: how well a linear probe tells wrong answers from right ones (ROC-AUC of the error class).

    The model answers every question itself, greedily, in a sentence, or answers are ready (`AnsweredItem`); an answer
    is wrong if the exact answer in it is, or its label says so. For each layer and token role a logistic regression on
    standardised activations is fitted to 80 % of the query items and judged on the rest: an AUC of .5 is chance, 1
    means that every wrong answer scores above every right one.

    Roles align answers of different length. last_q: last token of the question; first_answer, second_answer; the tokens
    before, first in, last in and after the exact answer; and -8 to -1, counted from the end of the text, which lie in
    the question if the answer is shorter (`in_question`). Two roles may still be one token in many answers
    (`same_position`). Left out and counted are answers without an exact answer, and those whose roles coincide: fewer
    than 5 tokens, an exact answer of fewer than 2, or one at an end of the answer.

    Three controls. `within_task`: the same probe on pairs of answers of one task, since a probe may know the hard task
    rather than the wrong answer. `task_baseline`: the AUC of knowing the task alone. `shuffled`: probes fitted to
    labels permuted within tasks; they are at chance within tasks (`shuffled_within`), and over all pairs at what the
    task alone gives away. The column last_q shows what the question gives away. The best cell of a map is the best of
    many, so its own AUC flatters it.

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707. Grouped splits, the AUC within tasks, both
        controls and the intervals are this project's.

    Example:
        >>> import headcats as hc
        >>> roles = ("last_q", "exact_answer_last")
        >>> few = hc.papers.token_probe.TokenProbeSettings(roles=roles, min_class=5, resamples=20)
        >>> tasks = hc.suite("sentences").tasks[:3]
        >>> pairs = [(task, pair) for task in tasks for pair in task.pairs(12, seed=0)[:12]]
        >>> Question = hc.papers.token_probe.Question
        >>> questions = [Question(f"{word} →", answer, task.exact, task.name) for task, (word, answer) in pairs]
        >>> token_map = hc.methods.token_probe(hc.load_model("mini-cognitive"), questions, preset=few)
        >>> token_map.auc.dims, bool(0 <= token_map.auc.min() and token_map.auc.max() <= 1)
        (('layer', 'role'), True)
    """

    name = "token_probe"

    def __init__(self) -> None:
        self.options: dict[str, Option] = {
            "preset": tuple(PRESETS),
            "representation": tuple(REPRESENTATIONS),
            "questions": _QUESTIONS,
            "max_iter": _MAX_ITER,
        }

    def __call__(
        self,
        model: Any,
        questions: Sequence[Any],
        *,
        preset: str | TokenProbeSettings = "orgad2025",
        representation: str = "mlp_post",
        max_iter: int | None = None,
        seed: int = 0,
    ) -> xr.Dataset:
        """The map of one model and one list of questions.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns, with its tokenizer.
            questions: What is asked, as `Question`, or has been answered, as `AnsweredItem`; some hundred at least.
            preset: "orgad2025"; "orgad2025-code", as the authors' code has it: raw activations, 100 steps, converged or
                not, and answers in which roles coincide; or `hc.papers.token_probe.TokenProbeSettings` of your own.
            representation: "mlp_post" (MLP activations before the down projection), "mlp_out", "resid_post" or "head_z"
                (outputs of all heads of the layer, before the output projection).
            max_iter: Steps of the solver after which a probe counts as not converged; None takes the preset's.
            seed: Seed of the split, the shuffled labels and the intervals.

        Returns:
            Over `(layer, role)`: `auc, low, high`; `within_task, within_low, within_high`; `shuffled, ..._low,
            ..._high` and `shuffled_within, ..._low, ..._high`, with 95 % intervals over resampled query items of the
            held-out part. `same_position (role, other_role)`: share of answers in which two roles are one token;
            `in_question (role)`: share in which the role is a token of the question. Numbers `task_baseline` (with
            `_low`, `_high`), `n`, `n_wrong`, `n_test`, `n_left_out`, `n_cut` (answers ended by the limit),
            `n_not_converged` (their cells are NaN unless the preset keeps them, and named in the attribute
            `not_converged`), `n_tasks_of_one_class` (without pairs inside). Along `prompt`: `wrong` (1 or 0),
            `generated`, `exact`, `right_answer`, `question`, `split`, and the coordinates `task` and `item`. Attribute
            `exact_roles`: the four roles of the exact answer, one per line.

        Raises:
            DataError: Nothing to predict (fewer than 20 right or wrong answers), token roles that coincide in most
                answers, no usable question, or probes that do not converge in more than half of the cells.
            ModelError: A model without tokenizer, or one that cannot be trusted.
            UnknownNameError, OptionError: An unknown preset or representation, or one that the model does not have.

        Warns:
            StatisticsWarning: Questions that are left out, and probes that did not converge, if others are left.
        """
        if max_iter is not None:
            check_whole(_MAX_ITER, max_iter, name="max_iter", method=self.name)
        adapted = adapt(model)
        check_model(adapted)
        questions = _checked(questions)
        block = token_map(
            adapted, questions, preset=preset, representation=representation, seed=seed, max_iter=max_iter
        )
        n_left_out, n = int(block.n_left_out), int(block.n_left_out) + int(block.n)
        left_out = f"{n_left_out} of {pluralize(n, 'question')} left out: {block.attrs['left_out']}."
        for message in (left_out if n_left_out else "", not_converged(block)):
            if message:
                warnings.warn(message, StatisticsWarning, stacklevel=2)
        return block

    def parts(
        self, inputs: SuiteInputs, *, representation: str = "mlp_post", **options: Any
    ) -> dict[str, tuple[str, ...]]:
        """One part, named after the representation, with all tasks that say how an exact answer is found."""
        return {representation: tuple(_expressions(inputs))}

    def on_part(
        self, inputs: SuiteInputs, part: str, *, questions: int = _QUESTIONS.default, **options: Any
    ) -> xr.Dataset:
        """The map of the tasks that say how an exact answer is found, `questions` of each; else a DataError."""
        selected = self.ask(inputs, questions=questions)
        if not selected:
            raise DataError(
                "token_probe needs tasks that are answered in a sentence and say how the exact answer is found in it "
                "(`exact=` of hc.task); none of these tasks does. The suite 'sentences' has such tasks."
            )
        options |= {"representation": part, "seed": inputs.seed, "advance": inputs.advance}
        block = token_map(inputs.model, selected, **options)
        skipped = [task.name for task in inputs.tasks if task.name not in {question.task for question in selected}]
        return block.assign_attrs(tasks_without_exact="\n".join(skipped))

    def ask(self, inputs: SuiteInputs, *, questions: int = _QUESTIONS.default) -> list[Question]:
        """Up to `questions` of every task that says how an exact answer is found, drawn by the study's seed."""
        selected = []
        for task, exact in _expressions(inputs).items():
            pairs = inputs.pairs[task]
            order = stream(inputs.seed, self.name, "questions", task).permutation(len(pairs))[:questions]
            selected += [
                Question(inputs.template.query(word), output, exact, task=task, item=word, bos=inputs.template.bos)
                for word, output in (pairs[place] for place in sorted(order.tolist()))
            ]
        return selected

    def validate(
        self,
        inputs: SuiteInputs,
        *,
        n_prompts: int,
        preset: str = "orgad2025",
        questions: int = _QUESTIONS.default,
        **options: Any,
    ) -> dict[str, Any]:
        """Check one task for `hc.validate`: the model answers the first `n_prompts` of a run's questions.

        Returns:
            `refusal` and `needed` (answers of either kind that a probe needs); and if answers are left `questions`
            (kept, dropped by reason, an example of each), `n_right`, `n_wrong` and `right` (share of right answers)
            with `low` and `high` (95 % interval).
        """
        settings = PRESETS[preset]
        entry: dict[str, Any] = {"refusal": "", "needed": settings.min_class}
        try:
            selected = self.ask(inputs, questions=min(n_prompts, questions))
            answers, report = answer_questions(inputs.model, selected, settings, preset=preset)
        except DataError as problem:
            return entry | {"refusal": str(problem)}
        right = np.array([not answer.wrong for answer in answers])
        share, low, high = clustered_accuracy(right, np.array([answer.question.item for answer in answers], dtype=str))
        entry |= {"questions": asdict(report), "n_right": int(right.sum()), "n_wrong": int((~right).sum())}
        return entry | {"right": share, "low": low, "high": high}

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """The only part."""
        (block,) = parts.values()
        return block


def _checked(questions: Any) -> list[Item]:
    """The questions and answered items of a list; anything else is refused."""
    expected = "token_probe takes a list of Question and AnsweredItem; got"
    if not isinstance(questions, Iterable) or isinstance(questions, str | Mapping):
        raise DataError(f"{expected} {questions!r:.60}.")
    listed = list(questions)
    for question in listed:
        if not isinstance(question, Question | AnsweredItem):
            raise DataError(f"{expected} one with a {type(question).__name__} in it.")
    return listed


def _expressions(inputs: SuiteInputs) -> dict[str, str]:
    """Task of word pairs -> how its exact answer is found, for the tasks that say so."""
    return {task.name: task.exact for task in inputs.tasks if task.exact and task.name in inputs.readable}
