"""Probes of the kinds of error, each against all other questions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from headcats.errors import DataError
from headcats.models.adapter import adapt
from headcats.models.checks import check_model
from headcats.papers.token_probe.answers import Answer, answer_questions
from headcats.papers.token_probe.choosing import Place, check_place
from headcats.papers.token_probe.fit import check_items
from headcats.papers.token_probe.passes import representations
from headcats.papers.token_probe.probe import fitted_probe
from headcats.papers.token_probe.provenance import source_attributes
from headcats.papers.token_probe.settings import KEEP, PRESETS, TokenProbeSettings
from headcats.papers.token_probe.split import SplitAnswers, split_of
from headcats.papers.token_probe.taxonomy import (
    ERROR_TYPES,
    SUBTYPES,
    merged,
    resamples_of_each,
    subtypes,
    tally,
)
from headcats.prompts.drop_report import DropReport
from headcats.registry import preset_of

_AREA = ("auc", "low", "high")
_TOO_FEW, _FAILED = "too few", "not converged"


def error_type_probes(
    model: Any,
    datasets: Mapping[str, Sequence[Any]],
    *,
    at: Place,
    preset: str | TokenProbeSettings = "orgad2025",
    representation: str = "mlp_post",
    seed: int = 0,
) -> xr.Dataset:
    """How well a probe of the greedy answer tells what kind of error the model makes: one type against all others.

    Types are those of `error_types`, from resampled answers. For each data set and type a logistic regression is fitted
    to four fifths of the query items, at one layer and token role of the greedy answer, and judged on the rest.

    Args:
        model: As in `token_probe`.
        datasets: Name of a data set -> its `AnsweredItem` with `resamples`, as `resampled` returns them.
        at: Layer and token role of the probes, such as (15, "exact_answer_last").
        preset: As in `token_probe`; its `min_class` is what a type needs of questions that are of it, and that are not.
        representation: As in `token_probe`.
        seed: Seed of the split and the intervals.

    Returns:
        `auc, low, high (dataset, error_type)` and `subtype_auc, subtype_low, subtype_high (dataset, subtype)` with 95 %
        intervals over resampled query items; 0.5 = chance; NaN for a type with too few questions, which the attribute
        `too_few` names, and for probes that did not converge, which `not_converged` names. `n_of_type (dataset,
        error_type)`, `n_of_subtype (dataset, subtype)`, `n, n_test (dataset)`, numbers of answers; `n_left_out`.

    Raises:
        DataError: No data set, items without resamples, or as in `token_probe`, with the name of the set.
        OptionError: `at` is no layer and role of the model.
        ModelError: As in `token_probe`.
        UnknownNameError: An unknown preset or role.

    Example:
        >>> import headcats as hc
        >>> probes = hc.papers.token_probe
        >>> task = hc.suite("sentences").named(["say_product"])[0]
        >>> pairs = task.pairs(24, seed=0)[:24]
        >>> questions = [probes.Question(f"{word} →", answer, task.exact) for word, answer in pairs]
        >>> wrong = (probes.Resample("the product is 0 0 now", "0 0", True),) * 6  # `resampled` draws the model's own
        >>> right = [(probes.Resample(asked.answer, asked.exact_answer, False),) * 6 for asked in questions]
        >>> items = [
        ...     probes.AnsweredItem(asked.prompt, asked.answer, asked.exact_answer, False, (asked.exact_answer,),
        ...         resamples=right[place] if place % 2 else wrong)
        ...     for place, asked in enumerate(questions)
        ... ]
        >>> model, few = hc.load_model("mini-cognitive"), probes.TokenProbeSettings(min_class=4, resamples=20)
        >>> types = probes.error_type_probes(model, {"products": items}, at=(1, "exact_answer_last"), preset=few)
        >>> types.auc.dims
        ('dataset', 'error_type')

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707, section 5. The grouped split and the
        intervals are this project's.
    """
    if not isinstance(datasets, Mapping) or not datasets:
        raise DataError(f"error_type_probes needs data sets by name; got {datasets!r:.60}.")
    adapted, settings = adapt(model), preset_of("token_probe", preset, PRESETS)
    check_model(adapted)
    settings = check_place(adapted, at, settings, representation)
    preset_name = preset if isinstance(preset, str) else "custom"
    kinds, names = (*ERROR_TYPES, *SUBTYPES), list(datasets)
    areas = np.full((3, len(names), len(kinds)), np.nan)
    counts = np.zeros((len(names), len(kinds)), dtype=int)
    sizes: dict[str, list[int]] = {"n": [], "n_test": []}
    total = DropReport()
    without: dict[str, list[str]] = {_TOO_FEW: [], _FAILED: []}
    for row, (name, items) in enumerate(datasets.items()):
        try:
            items = check_items(items, of="error_type_probes")
            n = resamples_of_each(items)
            answers, report = answer_questions(adapted, items, settings, preset=preset_name)
        except DataError as problem:
            raise DataError(f"Data set {name!r}: {problem}") from None
        total.add(report)
        split = split_of(answers, [name] * len(answers), report, settings, seed=seed)
        ((_, features),) = representations(
            adapted, split.tokens, split.positions(settings.roles), representation=representation, layers=[at[0]]
        )
        labels = _labels(answers, n)
        counts[row] = labels.sum(0)
        for column, kind in enumerate(kinds):
            areas[:, row, column], reason = _area(features[:, 0], labels[:, column], split, settings)
            if reason:
                without[reason].append(f"{name}, {kind}")
        sizes["n"].append(len(answers))
        sizes["n_test"].append(int(split.test.sum()))
    n_types = len(ERROR_TYPES)
    source = source_attributes(
        adapted.name, settings, total, preset=preset_name, representation=representation, seed=seed
    )
    by_type, by_subtype = ("dataset", "error_type"), ("dataset", "subtype")
    return xr.Dataset(
        {
            **{key: (by_type, areas[place, :, :n_types]) for place, key in enumerate(_AREA)},
            **{f"subtype_{key}": (by_subtype, areas[place, :, n_types:]) for place, key in enumerate(_AREA)},
            "n_of_type": (by_type, counts[:, :n_types]),
            "n_of_subtype": (by_subtype, counts[:, n_types:]),
            **{key: ("dataset", values) for key, values in sizes.items()},
            "n_left_out": sum(total.dropped.values()),
        },
        coords={
            "dataset": names,
            "error_type": list(ERROR_TYPES),
            "subtype": list(SUBTYPES),
            "layer": at[0],
            "role": at[1],
        },
        attrs=source
        | {
            "too_few": "\n".join(without[_TOO_FEW]),
            "not_converged": "\n".join(without[_FAILED]),
        },
    )


def _labels(answers: Sequence[Answer], n: int) -> Bool[np.ndarray, "prompt kind"]:
    """Which types and subtypes every answered question is."""
    tallies = [tally(answer.question.resamples, answer.question.aliases) for answer in answers]  # type: ignore[union-attr]
    by_subtype = np.array([list(subtypes(tallied, n=n).values()) for tallied in tallies], dtype=bool)
    return np.concatenate([merged(by_subtype), by_subtype], axis=1)


def _area(
    features: Float[np.ndarray, "prompt width"],
    label: Bool[np.ndarray, " prompt"],
    split: SplitAnswers,
    settings: TokenProbeSettings,
) -> tuple[tuple[float, float, float], str]:
    """AUC of one type against the others with its interval, and why there is none."""
    nothing = (np.nan, np.nan, np.nan)
    sides = [set(label[side].tolist()) for side in (split.test, ~split.test)]
    if min(label.sum(), (~label).sum()) < settings.min_class or any(len(side) < 2 for side in sides):
        return nothing, _TOO_FEW
    probe = fitted_probe(features[~split.test], label[~split.test], settings)
    if not probe.converged and settings.unconverged != KEEP:
        return nothing, _FAILED
    area = split.judged(labels=label).area(probe.score(features[split.test]))
    return (area.value, area.low, area.high), "" if probe.converged else _FAILED
