"""Other ways to see that an answer is wrong, beside the probe, on the same held-out answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.errors import DataError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.papers.token_probe.answers import Answer
from headcats.papers.token_probe.choosing import Place, check_place, chosen_place
from headcats.papers.token_probe.fit import check_items
from headcats.papers.token_probe.log_probs import ON_EXACT, STATISTICS, confidences
from headcats.papers.token_probe.p_true import p_true
from headcats.papers.token_probe.passes import representations
from headcats.papers.token_probe.probe import JudgedPrompts, probe_scores
from headcats.papers.token_probe.provenance import source_attributes
from headcats.papers.token_probe.settings import PRESETS, TokenProbeSettings
from headcats.papers.token_probe.split import split_answers
from headcats.papers.token_probe.summary import RAISE_MAX_ITER
from headcats.papers.token_probe.token_map import task_error_rates
from headcats.registry import preset_of

PROBE, TASK = "probe", "task"
P_TRUE = "p_true"


def baselines(
    model: Any,
    questions: Sequence[Any],
    *,
    at: Place | None = None,
    preset: str | TokenProbeSettings = "orgad2025",
    representation: str = "mlp_post",
    seed: int = 0,
) -> xr.Dataset:
    """How well the answer's own probabilities, and asking the model, tell wrong answers from right ones.

    Every detector gives each held-out answer a score, and its AUC is the share of pairs of a wrong and a right answer
    in which the wrong one has the larger score. Of tokens of the answer, all or (with `_exact` behind the name) those
    of the exact answer: mean, minimum and maximum of their logits, of their log-probabilities, and mean of their
    probabilities, whose minimum and maximum order answers as those of log-probabilities do; a surer answer counts as
    less wrong. `p_true`: the model is asked whether the answer is right, with the options (A) True and (B) False and in
    the other order; the mean probability of True. `task`: the task's share of wrong training answers. `probe`: as in
    `token_probe`, at one layer and role, chosen on a fifth of the training answers, fitted to all of them.

    Args:
        model: As in `token_probe`.
        questions: `Question` and `AnsweredItem`, as in `token_probe`.
        at: Layer and token role of the probe, such as (15, "exact_answer_last"); None chooses.
        preset: As in `token_probe`.
        representation: As in `token_probe`.
        seed: Seed of the split and the intervals: with that of `token_probe` the same answers are held out.

    Returns:
        `auc, low, high (detector)` with 95 % intervals over resampled query items; `gain, gain_low, gain_high
        (detector)`: AUC of the probe minus that of the detector over the same draws; 0.5 = chance. `score (detector,
        prompt)` of the held-out answers, in nats, logits or probabilities, larger = more likely wrong; `wrong
        (prompt)`, with the coordinates `task` and `item`; `layer`, `role` of the probe; numbers `n`, `n_wrong`,
        `n_test`, `n_left_out`. A detector without a score for an answer is NaN, and the attribute `not_asked` counts
        those answers: p(True) needs a tokenizer with the words of its question.

    Raises:
        DataError: As in `token_probe`; a probe that does not converge.
        OptionError: `at` is no layer and role of the model.
        ModelError: As in `token_probe`.
        UnknownNameError: An unknown preset or role.

    Example:
        >>> import headcats as hc
        >>> few = hc.papers.token_probe.TokenProbeSettings(min_class=5, resamples=20)
        >>> (task,) = hc.suite("sentences").named(["say_product"])
        >>> Question = hc.papers.token_probe.Question
        >>> questions = [Question(f"{word} →", answer, task.exact) for word, answer in task.pairs(60, seed=0)]
        >>> model, at = hc.load_model("mini-cognitive"), (1, "exact_answer_last")
        >>> beside = hc.papers.token_probe.baselines(model, questions, at=at, preset=few)
        >>> beside.auc.dims, beside.detector.values[:2].tolist()
        (('detector',), ['probe', 'logit_mean'])

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707; Kadavath et al. (2022), Language Models
        (Mostly) Know What They Know, arXiv 2207.05221, for p(True), here in words of our own.
    """
    adapted = adapt(model)
    check_model(adapted)
    questions = check_items(questions, of="baselines")
    settings = preset_of("token_probe", preset, PRESETS)
    name = preset if isinstance(preset, str) else "custom"
    if at is not None:
        check_place(adapted, at, settings, representation)
    split = split_answers(adapted, questions, settings, preset=name, seed=seed)
    layer, role = at or chosen_place(adapted, split, settings, representation=representation)
    test, judged = split.test, split.judged()
    held_out = [answer for answer, tested in zip(split.answers, test, strict=True) if tested]
    ((_, features),) = representations(
        adapted, split.tokens, split.positions([role]), representation=representation, layers=[layer]
    )
    scores, _ = probe_scores(features[:, 0], split.wrong, test, settings)
    if scores is None:
        raise DataError(
            f"The probe at layer {layer}, {role} did not converge. {RAISE_MAX_ITER.format(settings.max_iter)}"
        )
    by_detector = {PROBE: scores, **detector_scores(adapted, held_out)}
    by_detector[TASK] = task_error_rates(split.wrong, split.tasks, test)[test]
    areas = {detector: _areas(judged, values, scores) for detector, values in by_detector.items()}
    unasked = {detector: int(np.isnan(values).sum()) for detector, values in by_detector.items()}
    columns = ("auc", "low", "high", "gain", "gain_low", "gain_high")
    source = source_attributes(
        adapted.name, settings, split.report, preset=name, representation=representation, seed=seed
    )
    return xr.Dataset(
        {
            **{column: ("detector", [areas[d][row] for d in by_detector]) for row, column in enumerate(columns)},
            "score": (("detector", "prompt"), np.stack(list(by_detector.values()))),
            "wrong": ("prompt", split.wrong[test].astype(np.int8)),
            "n": len(split.answers),
            "n_wrong": int(split.wrong.sum()),
            "n_test": int(test.sum()),
            "n_left_out": sum(split.report.dropped.values()),
        },
        coords={
            "detector": list(by_detector),
            "task": ("prompt", np.array([answer.question.task for answer in held_out], dtype=str)),
            "item": ("prompt", np.array([answer.question.item for answer in held_out], dtype=str)),
            "layer": layer,
            "role": role,
        },
        attrs=source
        | {
            "chosen_on": "training answers" if at is None else "named",
            "not_asked": "\n".join(f"{detector}: {count}" for detector, count in unasked.items() if count),
        },
    )


def detector_scores(model: HookedModel, answers: Sequence[Answer]) -> Mapping[str, Float[np.ndarray, " prompt"]]:
    """Scores by probabilities and by asking; larger = more likely wrong."""
    sure = confidences(model, answers)
    by_name = {name + of: -sure[name + of] for name in STATISTICS for of in ("", ON_EXACT)}
    asked = [answer.question.item for answer in answers]
    by_name[P_TRUE] = 1 - p_true(model, asked, [answer.generated for answer in answers])
    by_name[P_TRUE + ON_EXACT] = 1 - p_true(model, asked, [answer.exact for answer in answers])
    return by_name


def _areas(judged: JudgedPrompts, scores: np.ndarray, probe: np.ndarray) -> tuple[float, ...]:
    """AUC and gain with their intervals; NaN where an answer has no score."""
    if np.isnan(scores).any():
        return (np.nan,) * 6
    return *judged.area(scores), *judged.gain(probe, scores)
