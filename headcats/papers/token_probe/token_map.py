"""The map of a token probe: how well each layer and token role tells wrong answers from right ones."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pandas as pd
import torch
import xarray as xr
from jaxtyping import Bool, Float, Float32, Shaped
from torch import Tensor

from headcats.base.errors import DataError, ModelError, OptionError, pluralize
from headcats.models.adapter import HookedModel
from headcats.models.hooks import keeping
from headcats.papers.settings import preset_of
from headcats.papers.token_probe.answers import AnswerShape, answer_questions
from headcats.papers.token_probe.generation import equal_lengths
from headcats.papers.token_probe.items import Item
from headcats.papers.token_probe.probe import JudgedPrompts, check_classes, held_out, probe_scores
from headcats.papers.token_probe.settings import EXACT_ROLES, PRESETS, REPRESENTATIONS, TokenProbeSettings
from headcats.papers.token_probe.summary import RAISE_MAX_ITER, probe_name
from headcats.statistics.random_streams import stream

KEPT_BYTES = 2 << 30
"""Layers whose representations do not fit into this together are read in several passes."""
Advance = Callable[[float, str], None]
Labels = tuple[Bool[np.ndarray, " prompt"], JudgedPrompts]
# The probe over all pairs and within tasks, then the same for shuffled labels.
_AREAS = (
    "auc", "low", "high", "within_task", "within_low", "within_high",
    "shuffled", "shuffled_low", "shuffled_high", "shuffled_within", "shuffled_within_low", "shuffled_within_high",
)  # fmt: skip


def representations(
    model: HookedModel,
    texts: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    *,
    representation: str,
    advance: Callable[[float], None] = lambda share: None,
) -> Iterator[tuple[int, Float32[np.ndarray, "text role width"]]]:
    """Layer by layer, a representation at the positions of every text, from as few passes as `KEPT_BYTES` allows."""
    names = {layer: hook_name(model, layer, representation) for layer in model.layers}
    width = max(values.shape[-1] for values in _read(model, texts[:1], positions[:1], names).values())
    together = max(1, KEPT_BYTES // (len(texts) * len(positions[0]) * width * 4))
    for start in range(0, len(names), together):
        part = model.layers[start : start + together]

        def advance_layers(share: float, before: int = start, count: int = len(part)) -> None:
            advance((before + share * count) / len(names))

        values = _read(model, texts, positions, {layer: names[layer] for layer in part}, advance_layers)
        for layer in part:
            yield layer, values.pop(layer)


def hook_name(model: HookedModel, layer: int, representation: str) -> str:
    """Name of the hook of a representation in one layer; OptionError where the model has none."""
    if representation not in REPRESENTATIONS:
        raise OptionError(f"Expected representation {', '.join(REPRESENTATIONS)}; got {representation!r}.")
    hooks = {name: f"blocks.{layer}.{hook}" for name, hook in REPRESENTATIONS.items()}
    if hooks[representation] not in model.model.hook_dict:
        available = ", ".join(name for name, hook in hooks.items() if hook in model.model.hook_dict)
        raise OptionError(
            f"Model {model.name!r} has no hook {hooks[representation]!r}, so no representation {representation!r}; it "
            f"has {available}."
        )
    return hooks[representation]


def _read(
    model: HookedModel,
    texts: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    names: dict[int, str],
    advance: Callable[[float], None] = lambda share: None,
) -> dict[int, Float32[np.ndarray, "text role width"]]:
    values: dict[int, np.ndarray] = {}
    done = 0
    for part in equal_lengths([len(text) for text in texts]):
        captured: dict[int, Tensor] = {}
        token_positions = torch.tensor([list(positions[place]) for place in part])
        at_roles = partial(_at, token_positions)
        hooks = {name: keeping(captured, layer, at_roles) for layer, name in names.items()}
        model.run(torch.tensor([list(texts[place]) for place in part]), hooks=hooks)
        for layer, value in captured.items():
            if not bool(value.isfinite().all()):
                raise ModelError(
                    f"{names[layer]!r} of model {model.name!r} holds NaN or infinite values: load it in float32."
                )
            if layer not in values:
                values[layer] = np.empty((len(texts), *value.shape[1:]), dtype=np.float32)
            values[layer][part] = value.numpy()
        done += len(part)
        advance(done / len(texts))
    return values


def _at(positions: Tensor, value: Tensor) -> Tensor:
    rows = torch.arange(len(positions), device=value.device)[:, None]
    return value[rows, positions.to(value.device)].flatten(2).float().cpu()


def token_map(
    model: HookedModel,
    questions: Sequence[Item],
    *,
    preset: str | TokenProbeSettings = "orgad2025",
    representation: str,
    seed: int,
    max_iter: int | None = None,
    advance: Advance = lambda share, step: None,
) -> xr.Dataset:
    """See `headcats.papers.token_probe`."""
    settings = preset_of("token_probe", preset, PRESETS)
    preset = preset if isinstance(preset, str) else "custom"
    settings = settings if max_iter is None else replace(settings, max_iter=max_iter)
    for layer in model.layers:
        hook_name(model, layer, representation)
    answers, report = answer_questions(
        model, questions, settings, preset=preset, advance=lambda share: advance(0.0, f"answers {share:.0%}")
    )
    wrong = np.array([answer.wrong for answer in answers], dtype=bool)
    check_classes(wrong, settings, report)
    tasks, items = ([getattr(answer.question, name) for answer in answers] for name in ("task", "item"))
    test = held_out(items, tasks, wrong, share=settings.test_share, seed=seed)
    if any(len(set(wrong[side].tolist())) < 2 for side in (test, ~test)):
        raise DataError(
            f"{pluralize(len(set(items)), 'query item')} cannot be split so that right and wrong answers are on both "
            "sides. Ask about more items."
        )
    tested = np.flatnonzero(test).tolist()
    held_out_prompts = JudgedPrompts(
        wrong[tested],
        [tasks[place] for place in tested],
        [items[place] for place in tested],
        resamples=settings.resamples,
        draws=stream(seed, "token_probe", "bootstrap"),
    )
    shuffled = shuffled_labels(wrong, tasks, test, seed=seed)
    features = representations(
        model,
        [answer.tokens for answer in answers],
        [[answer.shape.position(role) for role in settings.roles] for answer in answers],
        representation=representation,
        advance=lambda share: advance(0.0, f"representations {share:.0%}"),
    )
    labels = (wrong, held_out_prompts), (shuffled, held_out_prompts.relabelled(shuffled[test]))
    areas, failed = _areas(features, labels, test, settings, n_layers=len(model.layers), advance=advance)
    _check_converged(areas[0], settings.max_iter)
    baseline = held_out_prompts.area(task_error_rates(wrong, tasks, test)[test])
    n_cut = sum(answer.cut for answer in answers)
    source = {"method": "token_probe", "preset": preset, "model": model.name}
    provenance = source | {
        "settings": asdict(settings),
        "representation": REPRESENTATIONS[representation],
        "model_class": model.model_class,
        "seed": seed,
        "questions": len(questions),
        "left_out": report.dropped,
        "cut": n_cut,
        "not_converged": failed,
    }
    return xr.Dataset(
        {
            **{name: (("layer", "role"), values) for name, values in zip(_AREAS, areas, strict=True)},
            **role_places([answer.shape for answer in answers], settings.roles),
            **dict(zip(("task_baseline", "task_baseline_low", "task_baseline_high"), baseline, strict=True)),
            "n": len(answers),
            "n_wrong": int(wrong.sum()),
            "n_test": int(test.sum()),
            "n_cut": n_cut,
            "n_left_out": sum(report.dropped.values()),
            "n_not_converged": len(failed),
            "n_tasks_of_one_class": len(held_out_prompts.one_class),
            "wrong": ("prompt", wrong.astype(np.int8)),
            "generated": _texts(answer.generated for answer in answers),
            "exact": _texts(answer.exact for answer in answers),
            "right_answer": _texts(answer.question.answer for answer in answers),
            "question": _texts(answer.question.prompt for answer in answers),
            "split": ("prompt", np.where(test, "test", "train")),
        },
        coords={
            "layer": list(model.layers),
            "role": list(settings.roles),
            "other_role": list(settings.roles),
            "task": _texts(tasks),
            "item": _texts(items),
        },
        attrs=source
        | {
            "representation": representation,
            "hook": REPRESENTATIONS[representation],
            "exact_roles": "\n".join(EXACT_ROLES),
            "left_out": report.summary(),
            "unconverged": settings.unconverged,
            "not_converged": "\n".join(failed),
            "tasks_of_one_class": "\n".join(held_out_prompts.one_class),
            "provenance": json.dumps(provenance, ensure_ascii=False),
        },
    )


def role_places(shapes: Sequence[AnswerShape], roles: Sequence[str]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """`same_position (role, other_role)`, shares of answers in which two roles are one token; `in_question (role)`."""
    places = np.array([[shape.position(role) for role in roles] for shape in shapes])
    q_lens = np.array([shape.q_len for shape in shapes])
    return {
        "same_position": (("role", "other_role"), (places[:, :, None] == places[:, None, :]).mean(0)),
        "in_question": (("role",), (places < q_lens[:, None]).mean(0)),
    }


def _areas(
    features: Iterable[tuple[int, Float32[np.ndarray, "prompt role width"]]],
    labels: Sequence[Labels],
    test: Bool[np.ndarray, " prompt"],
    settings: TokenProbeSettings,
    *,
    n_layers: int,
    advance: Advance,
) -> tuple[Float[np.ndarray, "variable layer role"], list[str]]:
    """`_AREAS`, and the probes that did not converge."""
    areas = np.full((len(_AREAS), n_layers, len(settings.roles)), np.nan)
    failed: list[str] = []
    for row, (layer, layer_features) in enumerate(features):
        for column, role in enumerate(settings.roles):
            for first, (wrong, held_out_prompts) in zip((0, 6), labels, strict=True):
                scores, converged = probe_scores(layer_features[:, column], wrong, test, settings)
                if not converged:
                    failed.append(probe_name(layer, role, shuffled=first > 0))
                if scores is not None:
                    values = *held_out_prompts.area(scores), *held_out_prompts.area_within(scores)
                    areas[first : first + 6, row, column] = values
            # Shares are those of the probes: how long answering takes beside them is not known before.
            advance((row * len(settings.roles) + column + 1) / areas[0].size, f"probes, layer {layer}")
    return areas, failed


def _check_converged(auc: Float[np.ndarray, "layer role"], max_iter: int) -> None:
    """Refuse a map of which fewer than half of the cells have a value: it would pass for a finished result."""
    converged = int(np.isfinite(auc).sum())
    if 2 * converged < auc.size:
        raise DataError(
            f"{converged} of {pluralize(auc.size, 'probe')} converged within max_iter={max_iter}, too few for a map. "
            f"{RAISE_MAX_ITER.format(max_iter)}"
        )


def _texts(texts: Iterable[str]) -> tuple[str, np.ndarray]:
    return "prompt", np.array(list(texts), dtype=object).astype(str)


def shuffled_labels(
    wrong: Bool[np.ndarray, " prompt"], tasks: Sequence[str], test: Bool[np.ndarray, " prompt"], *, seed: int
) -> Bool[np.ndarray, " prompt"]:
    """The labels in a random order within each task and side of the split, so that what the task gives away stays."""
    shuffled = wrong.copy()
    for task in sorted(set(tasks)):
        for side, name in ((test, "test"), (~test, "train")):
            places = np.flatnonzero(side & (np.array(tasks, dtype=object) == task))
            shuffled[places] = wrong[stream(seed, "token_probe", "shuffled", task, name).permutation(places)]
    return shuffled


def task_error_rates(
    wrong: Bool[np.ndarray, " prompt"], tasks: Sequence[str], test: Bool[np.ndarray, " prompt"]
) -> Shaped[np.ndarray, " prompt"]:
    """Score of a probe that knows the task alone: the share of wrong answers among the task's training prompts."""
    rates = pd.Series(wrong[~test]).groupby(np.array(tasks, dtype=object)[~test]).mean()
    return pd.Series(tasks, dtype=object).map(rates).fillna(wrong[~test].mean()).to_numpy(dtype=float)
