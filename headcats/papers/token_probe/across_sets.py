"""Probes of one data set, judged on another."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headcats.errors import DataError
from headcats.models.adapter import adapt
from headcats.models.checks import check_model
from headcats.papers.token_probe.choosing import Place, check_place
from headcats.papers.token_probe.fit import check_items
from headcats.papers.token_probe.log_probs import ON_EXACT, STATISTICS, confidences
from headcats.papers.token_probe.passes import representations
from headcats.papers.token_probe.probe import error_probe
from headcats.papers.token_probe.provenance import source_attributes
from headcats.papers.token_probe.settings import KEEP, PRESETS, TokenProbeSettings
from headcats.papers.token_probe.split import split_sets
from headcats.registry import preset_of

BASELINES = tuple(name + of for name in STATISTICS for of in ("", ON_EXACT))
_ENDS = ("", "_low", "_high")


def generalisation(
    model: Any,
    datasets: Mapping[str, Sequence[Any]],
    *,
    at: Place,
    preset: str | TokenProbeSettings = "orgad2025",
    representation: str = "mlp_post",
    seed: int = 0,
) -> xr.Dataset:
    """AUC of a probe that was fitted to one data set, on each of them, at one layer and token role.

    Of every set, a fifth of the query items is held out; a probe is fitted to the rest of one set and judged on the
    held-out answers of each. So the diagonal is held out as well, and an item of two sets is never on both sides.
    Beside it, what the probabilities of the answer's tokens alone tell on the same answers, without any training: a
    probe that gains nothing on them may know no more than how sure the model was.

    Args:
        model: As in `token_probe`.
        datasets: Name of a data set -> its `Question` and `AnsweredItem`; at least two.
        at: Layer and token role of the probes, such as (15, "exact_answer_last").
        preset: As in `token_probe`.
        representation: As in `token_probe`.
        seed: Seed of the split and the intervals.

    Returns:
        `auc, low, high (train, test)` with 95 % intervals over resampled query items; `baseline, baseline_low,
        baseline_high (detector, test)`, detectors as in `baselines`; `gain, gain_low, gain_high (detector, train,
        test)`: AUC of the probe minus that of the detector over the same draws; 0.5 = chance. `n, n_wrong, n_test
        (test)`, numbers of answers; `n_left_out`. Cells of a probe that did not converge are NaN unless the preset
        keeps them, and named in the attribute `not_converged`.

    Raises:
        DataError: Fewer than two data sets; as in `token_probe`, with the name of the set.
        OptionError: `at` is no layer and role of the model.
        ModelError: As in `token_probe`.
        UnknownNameError: An unknown preset or role.

    Example:
        >>> import headcats as hc
        >>> roles = ("exact_answer_last",)
        >>> few = hc.papers.token_probe.TokenProbeSettings(roles=roles, min_class=2, resamples=20)
        >>> Question = hc.papers.token_probe.Question
        >>> datasets = {
        ...     task.name: [Question(f"{word} →", answer, task.exact) for word, answer in task.pairs(18, seed=0)]
        ...     for task in hc.suite("sentences").named(["say_product", "say_sum"])
        ... }
        >>> model = hc.load_model("mini-cognitive")
        >>> matrix = hc.papers.token_probe.generalisation(model, datasets, at=(1, "exact_answer_last"), preset=few)
        >>> matrix.auc.dims
        ('train', 'test')

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707, section 4. The grouped split, the paired
        gains and the intervals are this project's.
    """
    if not isinstance(datasets, Mapping) or len(datasets) < 2:
        n = len(datasets) if isinstance(datasets, Mapping) else 0
        raise DataError(f"generalisation needs at least two data sets by name; got {n}.")
    adapted, settings = adapt(model), preset_of("token_probe", preset, PRESETS)
    check_model(adapted)
    datasets = {
        name: check_items(questions, of=f"Data set {name!r} of generalisation") for name, questions in datasets.items()
    }
    settings = check_place(adapted, at, settings, representation)
    name = preset if isinstance(preset, str) else "custom"
    split = split_sets(adapted, datasets, settings, preset=name, seed=seed)
    ((_, features),) = representations(
        adapted, split.tokens, split.positions(settings.roles), representation=representation, layers=[at[0]]
    )
    sets, names = np.array(split.tasks, dtype=object), list(datasets)
    places = {name: split.test & (sets == name) for name in names}
    judged = {name: split.judged(places[name]) for name in names}
    sure = confidences(adapted, split.answers)
    n = len(names)
    auc, gain = np.full((3, n, n), np.nan), np.full((3, len(BASELINES), n, n), np.nan)
    baseline = np.array(
        [[judged[test].area(-sure[detector][places[test]]) for test in names] for detector in BASELINES]
    )
    failed = []
    for row, train in enumerate(names):
        chosen = ~split.test & (sets == train)
        probe = error_probe(features[chosen, 0], split.wrong[chosen], settings)
        if not probe.converged:
            failed.append(train)
        if not probe.converged and settings.unconverged != KEEP:
            continue
        for column, test in enumerate(names):
            scores = probe.score(features[places[test], 0])
            auc[:, row, column] = judged[test].area(scores)
            for place, detector in enumerate(BASELINES):
                gain[:, place, row, column] = judged[test].gain(scores, -sure[detector][places[test]])
    source = source_attributes(
        adapted.name, settings, split.report, preset=name, representation=representation, seed=seed
    )
    counts = {"n": np.ones(len(sets)), "n_wrong": split.wrong, "n_test": split.test}
    return xr.Dataset(
        {
            **{column: (("train", "test"), auc[place]) for place, column in enumerate(("auc", "low", "high"))},
            **{f"baseline{end}": (("detector", "test"), baseline[..., place]) for place, end in enumerate(_ENDS)},
            **{f"gain{end}": (("detector", "train", "test"), gain[place]) for place, end in enumerate(_ENDS)},
            **{key: ("test", [int(of[sets == name].sum()) for name in names]) for key, of in counts.items()},
            "n_left_out": sum(split.report.dropped.values()),
        },
        coords={"train": names, "test": names, "detector": list(BASELINES), "layer": at[0], "role": at[1]},
        attrs=source
        | {
            "not_converged": "\n".join(failed),
        },
    )
