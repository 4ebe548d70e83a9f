"""The prompts of steering: few-shot ones that a function vector is made of, zero-shot ones that it is added to."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from torch import Tensor

from headcats.errors import DataError, OptionError
from headcats.models.adapter import HookedModel
from headcats.prompts.answered import AnsweredText, encode_answered
from headcats.prompts.encode import DropReport, usable_pairs
from headcats.prompts.few_shot import few_shot_texts
from headcats.prompts.template import check_writable
from headcats.registry import lookup
from headcats.scores.items import first_half
from headcats.tasks.definition import Task

PAPERS_TEMPLATE, PAPERS_DEMOS = "question", 10
"""Template and demonstrations of Todd et al. (2024)."""
_OPTION = 'settings=hc.methods.function_vector.SteeringSettings(template="{name}")'
_POOL = 1024  # pairs asked of a task that generates them


@dataclass(frozen=True)
class SteeringSettings:
    """How a model is steered; the defaults are those of Todd et al. (2024), but for `n_prompts` and `n_draws`, ours.

    Attributes:
        n_demos: Demonstrations per prompt that the function vector is made of. None: as many as in the run that the
            heads come from, where they tell it (those of `hc.methods.function_vector.steering_heads` do), else as in
            the paper, 10.
        template: How a prompt is written. None: as in that run, likewise, else as in the paper, "question".
        n_reference: Prompts that the function vector is the mean over.
        n_prompts: Zero-shot prompts per task, at most; each asks another query.
        n_draws: Sets of random other heads.

    Raises:
        OptionError: A number below 1.

    Example:
        >>> import headcats as hc
        >>> hc.methods.function_vector.SteeringSettings(n_demos=5, template="arrow", n_prompts=20).n_reference
        100

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213.
    """

    n_demos: int | None = None
    template: str | None = None
    n_reference: int = 100
    n_prompts: int = 100
    n_draws: int = 5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name == "template" or (name == "n_demos" and value is None):
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise OptionError(f"{name} must be a whole number of at least 1; got {value!r}.")


def settings_as_told(settings: SteeringSettings, told: Mapping[Any, Any]) -> SteeringSettings:
    """The settings with nothing left open: what they leave to the run that ranked the heads is taken from it.

    Args:
        settings: What the user asked for.
        told: What the heads tell of their run: attributes of what `hc.methods.function_vector.steering_heads` returns.
            A run without demonstrations tells no number of them.
    """
    return replace(
        settings,
        template=str(settings.template or told.get("template") or PAPERS_TEMPLATE),
        n_demos=int(settings.n_demos or told.get("n_demos") or PAPERS_DEMOS),
    )


class SteeringPrompts(NamedTuple):
    """The two kinds of prompts of a task, each as batches of one length, and what was left out on the way."""

    shown: list["Rows"]
    """Few-shot prompts that the function vector is made of."""
    asked: list["Rows"]
    """Zero-shot prompts that it is added to."""
    dropped: dict[str, int]
    """Reason -> number of word pairs and prompts."""


class Rows(NamedTuple):
    """Prompts of one length, and the token that answers each."""

    tokens: Tensor
    answer: Tensor
    items: tuple[str, ...]


def steering_prompts(task: Task, model: HookedModel, settings: SteeringSettings, *, seed: int) -> SteeringPrompts:
    """Few-shot prompts of the first half of the items, zero-shot prompts of the second.

    Args:
        task: The task.
        model: A model with a tokenizer.
        settings: How many of which prompts.
        seed: Seed of the halves and of the prompts.

    Raises:
        DataError: A half has too few word pairs, or none of its prompts can be encoded.
        OptionError: The model's tokenizer does not know the template's own text.
        UnknownNameError: An unknown template.
    """
    settings = settings_as_told(settings, {})
    template, demos = lookup("template", str(settings.template)), settings.n_demos or PAPERS_DEMOS
    made = [pair for pair in task.pairs(_POOL, seed=seed) if isinstance(pair, tuple)]
    check_writable(template, model.tokenizer, made, option=_OPTION)
    pairs, report = usable_pairs(made, model.tokenizer, template=template)
    if not pairs:
        raise DataError(f"no usable word pair ({report.summary()})")
    halves: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for pair in pairs:
        halves[not first_half(pair[0], seed=seed)].append(pair)
    if len(halves[0]) <= demos or not halves[1]:
        raise DataError(
            f"{len(halves[0])} of its {len(pairs)} word pairs are there to be shown and {len(halves[1])} to be asked; "
            f"{demos} demonstrations and their query need {demos + 1}: use fewer demonstrations, "
            "or another seed"
        )
    wanted = (settings.n_reference, demos), (min(settings.n_prompts, len(halves[1])), 0)
    found = []
    for half, (n, n_demos), purpose in zip(halves, wanted, ("function vector", "steered"), strict=True):
        texts = few_shot_texts(
            half, n=n, n_demos=n_demos, template=template, seed=seed, task=task.name, purpose=purpose
        )
        rows, lost = _encoded(texts, model)
        found.append(rows)
        report.add(lost)
    return SteeringPrompts(found[0], found[1], report.dropped)


def _encoded(texts: list[AnsweredText], model: HookedModel) -> tuple[list[Rows], DropReport]:
    batches, report = encode_answered(texts, model.tokenizer, n_ctx=model.n_ctx)
    rows = []
    for batch in batches:
        # The answer is one token, at the end.
        fits = ((batch.targets.sum(1) == 1) & batch.targets[:, -1]).tolist()
        if any(fits):
            part = batch.select([place for place, fit in enumerate(fits) if fit])
            rows.append(Rows(part.tokens[:, :-1], part.tokens[:, -1], tuple(text.item for text in part.texts)))
        for text, fit in zip(batch.texts, fits, strict=True):
            if not fit:
                report.drop("answer of several tokens", repr(text.item))
    if not rows:
        raise DataError(f"no prompt left of {len(texts)} ({report.summary()})")
    return rows, report
