"""Token probe: where, by layer and token, a model's own activations tell that its answer is wrong."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from headcats.errors import DataError, StatisticsWarning, pluralize
from headcats.methods.joint.inputs import SuiteInputs
from headcats.methods.options import Option, WholeNumber, check_whole
from headcats.methods.token_probe.convergence import not_converged
from headcats.methods.token_probe.question import Question
from headcats.methods.token_probe.settings import PRESETS, REPRESENTATIONS, TokenProbeSettings
from headcats.methods.token_probe.token_map import token_map
from headcats.methods.token_probe.validation import answers_entry
from headcats.models.adapter import adapt
from headcats.models.checks import check_model
from headcats.statistics.random_streams import stream

# Of each task. Fewer leave too few pairs of one task where tasks are very easy or very hard.
_QUESTIONS = WholeNumber(default=1000, least=1)
_MAX_ITER = WholeNumber(default=PRESETS["orgad2025"].max_iter, least=1)


class TokenProbe:
    """Layer x token role: how well a linear probe tells wrong answers from right ones (ROC-AUC of the error class).

    The model answers every question itself, greedily, in a sentence. Its answer is wrong if the exact answer in it is.
    For each layer and each token role a logistic regression on standardised activations is fitted on 80 % of the query
    items and judged on the others: AUC .5 is chance, 1 means that every wrong answer scores above every right one.

    Roles align answers of different length. last_q: last token of the question; first_answer, second_answer; the
    tokens before, first in, last in and after the exact answer; and the eighth to the last token of the text, counted
    from its end (-8 to -1), which lie in the question where the answer is shorter (`in_question`). Two roles may still
    be one token in many answers (`same_position`). Answers without an exact answer are left
    out and counted, like those of fewer than 5 tokens or with an exact answer of fewer than 2 tokens or at an end of
    the answer, whose roles coincide.

    What to hold the map against: `within_task`, the same probe on pairs of answers of one task, since a probe may know
    the hard task rather than the wrong answer; `task_baseline`, the AUC of knowing the task and nothing else; and
    `shuffled`, probes fitted to labels permuted within tasks. These are at chance within tasks (`shuffled_within`, .5),
    and over all pairs at what the task alone gives away, which is .5 only where tasks are equally hard. The column
    last_q stands before any token of the answer: it shows what the question gives away (that it is hard, or that the
    model does not know it). The best cell of a map is the best of many, so its own AUC flatters it.

    Example:
        >>> import headcats as hc
        >>> roles = ("last_q", "exact_answer_last")
        >>> few = hc.methods.token_probe.TokenProbeSettings(roles=roles, min_class=5, resamples=20)
        >>> tasks = hc.suite("sentences").tasks[:3]
        >>> pairs = [(task, pair) for task in tasks for pair in task.pairs(12, seed=0)[:12]]
        >>> Question = hc.methods.token_probe.Question
        >>> asked = [Question(f"{word} →", answer, task.exact, task.name) for task, (word, answer) in pairs]
        >>> found = hc.methods.token_probe(hc.load_model("mini-cognitive"), asked, preset=few)
        >>> found.auc.dims, bool(0 <= found.auc.min() and found.auc.max() <= 1)
        (('layer', 'role'), True)

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707. Grouped splits, the AUC within tasks, both
        controls and the intervals are this project's.
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
            questions: What is asked, as `Question`; some hundred at least.
            preset: "orgad2025", or `hc.methods.token_probe.TokenProbeSettings` of your own.
            representation: "mlp_post" (MLP activations before the down projection), "mlp_out", "resid_post" or "head_z"
                (outputs of all heads of the layer, before the output projection).
            max_iter: Steps of the solver after which a probe counts as not converged; None takes the preset's.
            seed: Seed of the split, the shuffled labels and the intervals.

        Returns:
            Over `(layer, role)`: `auc, low, high`; `within_task, within_low, within_high`; `shuffled, ..._low,
            ..._high` and `shuffled_within, ..._low, ..._high`; 95 % intervals by resampled query items of the held-out
            part. `same_position (role, other_role)`: share of the answers in which two roles are one token;
            `in_question (role)`: share in which the role is a token of the question. Numbers `task_baseline` (with
            `_low`, `_high`), `n`, `n_wrong`, `n_test`, `n_left_out`, `n_cut` (answers ended by the limit),
            `n_not_converged` (their cells are NaN, and named in the attribute `not_converged`), `n_tasks_of_one_class`
            (they have no pairs within). Along `prompt`: `wrong` (1 or 0), `generated`, `exact`,
            `right_answer`, `question`, `split`, and the coordinates `task` and `item`. Attribute `exact_roles`: the
            four roles of the exact answer, one per line.

        Raises:
            DataError: Nothing to predict (fewer than 20 right or wrong answers), token roles that coincide in most
                answers, no usable question, or probes that do not converge in more than half of the cells.
            ModelError: A model without tokenizer, or one that cannot be trusted.
            UnknownNameError, OptionError: An unknown preset or representation, or one that the model does not have.

        Warns:
            StatisticsWarning: Questions that are left out, and probes that did not converge, where others are left.
        """
        if max_iter is not None:
            check_whole(_MAX_ITER, max_iter, name="max_iter", method=self.name)
        adapted = adapt(model)
        check_model(adapted)
        listed = list(questions)
        wrong_kind = next((one for one in listed if not isinstance(one, Question)), None)
        if wrong_kind is not None:
            raise DataError(
                f"token_probe takes Question(prompt, answer, exact, task, item); got {type(wrong_kind).__name__}."
            )
        found = token_map(adapted, listed, preset=preset, representation=representation, seed=seed, max_iter=max_iter)
        for said in (_left_out(found), not_converged(found)):
            if said:
                warnings.warn(said, StatisticsWarning, stacklevel=2)
        return found

    def parts(
        self,
        inputs: SuiteInputs,
        *,
        preset: str = "orgad2025",
        representation: str = "mlp_post",
        questions: int = _QUESTIONS.default,
        max_iter: int | None = None,
    ) -> dict[str, tuple[str, ...]]:
        """One part, named after the representation: all tasks that say how an exact answer is found."""
        return {representation: tuple(t.name for t in inputs.tasks if _exact_of(t) and t.name in inputs.pairs)}

    def on_part(
        self,
        inputs: SuiteInputs,
        part: str,
        *,
        preset: str = "orgad2025",
        representation: str = "mlp_post",
        questions: int = _QUESTIONS.default,
        max_iter: int | None = None,
    ) -> xr.Dataset:
        """The map of the tasks that say how an exact answer is found, up to `questions` of each; the others are named.

        Raises:
            DataError: No task says how an exact answer is found, or as in a call.
        """
        asked = self.ask(inputs, questions=questions)
        if not asked:
            raise DataError(
                "token_probe needs tasks that are answered in a sentence and say how the exact answer is found in it "
                "(`exact=` of hc.task); none of these tasks does. The suite 'sentences' has such tasks."
            )
        found = token_map(
            inputs.model,
            asked,
            preset=preset,
            representation=part,
            seed=inputs.seed,
            max_iter=max_iter,
            advance=inputs.advance,
        )
        used = {question.task for question in asked}
        skipped = [task.name for task in inputs.tasks if task.name not in used]
        return found.assign_attrs(tasks_without_exact="\n".join(skipped))

    def ask(self, inputs: SuiteInputs, *, questions: int = _QUESTIONS.default) -> list[Question]:
        """Up to `questions` of every task that says how an exact answer is found, drawn by the study's seed."""
        asked = []
        for task in inputs.tasks:
            exact = _exact_of(task)
            if not exact or task.name not in inputs.pairs:
                continue
            pairs = inputs.pairs[task.name]
            order = stream(inputs.seed, self.name, "questions", task.name).permutation(len(pairs))[:questions]
            asked += [
                Question(inputs.template.query(given), output, exact, task=task.name, item=given)
                for given, output in (pairs[place] for place in sorted(order.tolist()))
            ]
        return asked

    def validate(
        self,
        inputs: SuiteInputs,
        *,
        n_prompts: int,
        preset: str = "orgad2025",
        questions: int = _QUESTIONS.default,
        **options: Any,
    ) -> dict[str, Any]:
        """What `hc.validate` says of one task: the model answers the first `n_prompts` of a run's questions."""
        return answers_entry(inputs.model, lambda: self.ask(inputs, questions=min(n_prompts, questions)), preset=preset)

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """The only part."""
        (block,) = parts.values()
        return block


def _left_out(found: xr.Dataset) -> str:
    n, of = int(found.n_left_out), int(found.n_left_out) + int(found.n)
    return f"{n} of {pluralize(of, 'question')} left out: {found.attrs['left_out']}." if n else ""


def _exact_of(task: Any) -> str | None:
    return getattr(task, "exact", None)
