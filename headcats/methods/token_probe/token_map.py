"""The map of a token probe: how well each layer and token role tells wrong answers from right ones."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import numpy as np
import xarray as xr
from jaxtyping import Bool

from headcats.errors import DataError
from headcats.methods.token_probe.answers import Answer, answer_questions
from headcats.methods.token_probe.auc import Area, JudgedPrompts
from headcats.methods.token_probe.coincidence import role_places
from headcats.methods.token_probe.convergence import Probe, check_converged
from headcats.methods.token_probe.logistic import probe_scores
from headcats.methods.token_probe.question import Question
from headcats.methods.token_probe.representations import hook_name, representations
from headcats.methods.token_probe.settings import EXACT_ROLES, REPRESENTATIONS, TokenProbeSettings, settings_of
from headcats.methods.token_probe.split import held_out, shuffled_labels, task_error_rates
from headcats.models.adapter import HookedModel
from headcats.prompts.encode import DropReport
from headcats.statistics.random_streams import stream

Advance = Callable[[float, str], None]

# Variables of a cell: the probe over all pairs and within tasks, and the same for shuffled labels.
_CELLS = (
    "auc", "low", "high", "within_task", "within_low", "within_high",
    "shuffled", "shuffled_low", "shuffled_high", "shuffled_within", "shuffled_within_low", "shuffled_within_high",
)  # fmt: skip


def token_map(
    model: HookedModel,
    questions: Sequence[Question],
    *,
    preset: str | TokenProbeSettings,
    representation: str,
    seed: int,
    max_iter: int | None = None,
    advance: Advance = lambda share, what: None,
) -> xr.Dataset:
    """See `headcats.methods.token_probe`."""
    settings, preset = settings_of(preset), preset if isinstance(preset, str) else "custom"
    settings = settings if max_iter is None else replace(settings, max_iter=max_iter)
    for layer in model.layers:
        hook_name(model, layer, representation)
    answers, report = answer_questions(
        model, questions, settings, preset=preset, advance=lambda share: advance(0.0, f"answers {share:.0%}")
    )
    wrong = np.array([answer.wrong for answer in answers], dtype=bool)
    tasks, items = [answer.question.task for answer in answers], [answer.question.item for answer in answers]
    _check_classes(wrong, settings, report)
    test = held_out(items, tasks, wrong, share=settings.test_share, seed=seed)
    for side, name in ((test, "held-out"), (~test, "training")):
        _check_side(wrong[side], name, items)
    cells, failed, judged_prompts = _cells(
        model, answers, wrong, test, settings, representation=representation, seed=seed, advance=advance
    )
    check_converged(failed, cells[0].size, max_iter=settings.max_iter)
    baseline = judged_prompts.area(task_error_rates(wrong, tasks, test)[test])
    layers, roles = list(model.layers), list(settings.roles)
    provenance = {
        "method": "token_probe",
        "preset": preset,
        "settings": asdict(settings),
        "representation": REPRESENTATIONS[representation],
        "model": model.name,
        "model_class": model.model_class,
        "seed": seed,
        "questions": len(questions),
        "left_out": report.dropped,
        "cut": sum(answer.cut for answer in answers),
        "not_converged": [str(probe) for probe in failed],
    }
    return xr.Dataset(
        {
            **{name: (("layer", "role"), values) for name, values in zip(_CELLS, cells, strict=True)},
            **role_places([answer.shape for answer in answers], roles),
            "task_baseline": baseline.value,
            "task_baseline_low": baseline.low,
            "task_baseline_high": baseline.high,
            "n": len(answers),
            "n_wrong": int(wrong.sum()),
            "n_test": int(test.sum()),
            "n_cut": sum(answer.cut for answer in answers),
            "n_left_out": sum(report.dropped.values()),
            "n_not_converged": len(failed),
            "n_tasks_of_one_class": len(judged_prompts.one_class),
            "wrong": ("prompt", wrong.astype(np.int8)),
            "generated": _words([answer.generated for answer in answers]),
            "exact": _words([answer.exact for answer in answers]),
            "right_answer": _words([answer.question.answer for answer in answers]),
            "question": _words([answer.question.prompt for answer in answers]),
            "split": _words(["test" if is_test else "train" for is_test in test]),
        },
        coords={
            "layer": layers,
            "role": roles,
            "other_role": roles,
            "task": _words(tasks),
            "item": _words(items),
        },
        attrs={
            "method": "token_probe",
            "representation": representation,
            "hook": REPRESENTATIONS[representation],
            "preset": preset,
            "exact_roles": "\n".join(EXACT_ROLES),
            "model": model.name,
            "left_out": report.summary(),
            "not_converged": "\n".join(map(str, failed)),
            "tasks_of_one_class": "\n".join(judged_prompts.one_class),
            "provenance": json.dumps(provenance, ensure_ascii=False),
        },
    )


def _cells(
    model: HookedModel,
    answers: Sequence[Answer],
    wrong: Bool[np.ndarray, " prompt"],
    test: Bool[np.ndarray, " prompt"],
    settings: TokenProbeSettings,
    *,
    representation: str,
    seed: int,
    advance: Advance,
) -> tuple[np.ndarray, list[Probe], JudgedPrompts]:
    """`(variable, layer, role)`, the probes that did not converge, and the held-out prompts."""
    tasks, items = [answer.question.task for answer in answers], [answer.question.item for answer in answers]
    judged_prompts = JudgedPrompts(
        wrong[test],
        [task for task, is_test in zip(tasks, test, strict=True) if is_test],
        [item for item, is_test in zip(items, test, strict=True) if is_test],
        resamples=settings.resamples,
        draws=stream(seed, "token_probe", "bootstrap"),
    )
    mixed = shuffled_labels(wrong, tasks, test, seed=seed)
    sides = ((False, wrong, judged_prompts), (True, mixed, judged_prompts.relabelled(mixed[test])))
    values = np.full((len(_CELLS), len(model.layers), len(settings.roles)), np.nan)
    failed: list[Probe] = []
    features = representations(
        model,
        [answer.tokens for answer in answers],
        [[answer.shape.position(role) for role in settings.roles] for answer in answers],
        representation=representation,
        advance=lambda share: advance(0.0, f"representations {share:.0%}"),
    )
    for row, (layer, layer_features) in enumerate(features):
        for column, role in enumerate(settings.roles):
            areas: list[Area] = []
            for shuffled, labels, items_judged in sides:
                scores = probe_scores(layer_features[:, column], labels, test, settings)
                if scores is None:
                    failed.append(Probe(layer, role, shuffled))
                    areas += [Area(np.nan, np.nan, np.nan)] * 2
                else:
                    areas += [items_judged.area(scores), items_judged.area_within(scores)]
            values[:, row, column] = np.concatenate(areas)
            share = (row * len(settings.roles) + column + 1) / values[0].size
            # Shares are those of the probes: how long answering takes beside them, nobody knows before.
            advance(share, f"probes, layer {layer}")
    return values, failed, judged_prompts


def _check_classes(wrong: Bool[np.ndarray, " prompt"], settings: TokenProbeSettings, report: DropReport) -> None:
    n, bad = len(wrong), int(wrong.sum())
    if min(bad, n - bad) >= settings.min_class:
        return
    few, harder = ("wrong", "harder") if bad < n - bad else ("right", "easier")
    balance = f"all {n} answers are {'right' if not bad else 'wrong'}" if bad in (0, n) else f"{bad} of {n} are wrong"
    left = f" ({report.summary()})" if report.dropped else ""
    raise DataError(
        f"There is nothing to predict: {balance}{left}, and a probe of errors needs at least {settings.min_class} "
        f"right and {settings.min_class} wrong answers. Ask {harder} questions, or more of them: too few are {few}."
    )


def _check_side(wrong: Bool[np.ndarray, " prompt"], name: str, items: Sequence[str]) -> None:
    if len(set(wrong.tolist())) < 2:
        kind = "no" if not len(wrong) else "only wrong" if wrong.all() else "only right"
        raise DataError(
            f"The {name} part has {kind} answers: the {len(set(items))} query items cannot be split so that right and "
            "wrong answers are on both sides. Ask about more items."
        )


def _words(texts: Sequence[str]) -> tuple[str, np.ndarray]:
    return "prompt", np.array(texts, dtype=object).astype(str)
