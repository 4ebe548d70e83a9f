"""Ablate the heads of a relation: does the model's accuracy on it depend on them?"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float

from headcats.base.errors import DataError
from headcats.methods.method import attempt_each
from headcats.models.adapter import HookedModel, adapt
from headcats.models.head import Head
from headcats.papers.ov_relation.settings import RelationSettings, settings_of
from headcats.papers.ov_relation.summary import with_categories
from headcats.prompts.answered import AnsweredText, encode_answered, with_one_token_answers
from headcats.prompts.batch import PromptBatch
from headcats.statistics.random_streams import stream
from headcats.sweeps.joint import joint_sweep
from headcats.sweeps.labels import check_axes

Heads = tuple[Head, ...]
_PROMPTS_AT_ONCE = 64


def relation_ablation(
    model: Any,
    relations: xr.Dataset,
    prompts: Mapping[str, Sequence[AnsweredText]],
    *,
    settings: str | RelationSettings = "maps2025",
    seed: int = 0,
    memory: str | int | None = None,
) -> xr.Dataset:
    """Accuracy on a relation's prompts while its heads are zeroed one after another, at the last position only.

    Heads are taken by their score in `ov_relation`, of equal scores the later layer and head first, as the paper's code
    does; only those with a score above 0, and at most 30, 50, 100, 150 or 250 in models of fewer than 300, 500, 1000,
    1500 or more heads. An answer counts if it is the most likely token. For comparison: as many `random` heads that are
    not among them; and `control` tasks, on whose prompts the same heads are zeroed: the first five other relations, in
    random order, whose own heads (the best, as many as are zeroed) hold less than 15 % of these and whose accuracy
    differs by less than .2. If the weights tell the truth, `accuracy` falls before both.

    Args:
        model: As for `hc.sweep`.
        relations: What `ov_relation` returned.
        prompts: Task -> texts with a marked answer of one token at their end (`hc.methods.task_texts` makes them);
            others are dropped and counted. The texts say where BOS stands: the paper's prompts have `bos="own"`.
        settings: A preset of `ov_relation`, or settings of your own.
        seed: Seed of the random heads and of the order of controls.
        memory: Limit, such as "4GB".

    Returns:
        `accuracy (task, k)` after the first k heads, k = 0 without ablation; `random (task, sequence, k)`, `control
        (task, other, k)`, all in [0, 1], NaN beyond the last head; `head (task, k)` and `random_head (task, sequence,
        k)`: the k-th head to go; `control_task (task, other)`, "" where fewer qualify; `n_heads`, `n_prompts (task)`;
        `n_removed (task)`: heads zeroed when accuracy first is 0, otherwise all, where the paper's table reads the
        curves. Coordinate `category (task)`, if `relations` has it. Attribute `dropped`: JSON, task -> why it was left
        out; a task that the model answers too rarely may still be a control.

    Raises:
        DataError: No task is left: prompts missing or unusable, accuracy below .1, or no head with a score above 0.
        ModelError: No tokenizer, or as `hc.sweep`.

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965 (causal effect of relation heads on the model's predictions).

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> (task,) = hc.suite("icl").named(["country_capital"])
        >>> relations = hc.methods.ov_relation(model, {"country_capital": task.pairs(40, seed=0)[:40]})
        >>> texts = {"country_capital": hc.methods.task_texts("country_capital", n_prompts=16)}
        >>> lost = hc.papers.ov_relation.relation_ablation(model, relations, texts)
        >>> lost.accuracy.dims, lost.random.dims, lost["head"].dims  # the k-th head to go
        (('task', 'k'), ('task', 'sequence', 'k'), ('task', 'k'))
    """
    resolved = settings_of(settings)
    adapted = adapt(model)
    tasks, problems = attempt_each(
        lambda name: _task(adapted, name, relations["score"].sel(task=name), prompts.get(name, ()), resolved),
        _scored_tasks(relations, adapted),
    )
    dropped = {name: str(problem) for name, problem in problems.items()}
    dropped |= {name: reason for name, task in tasks.items() if (reason := task.why_not_ablated(resolved))}
    ablated = {name: task.heads for name, task in tasks.items() if name not in dropped}
    if not ablated:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in dropped.items())
        raise DataError(f"No relation can be ablated. {reasons or 'No relation was scored.'}")
    random = {
        name: _random_sequences(adapted, heads, name, n=resolved.random_sets, seed=seed)
        for name, heads in ablated.items()
    }
    controls = {name: _controls(name, tasks, resolved, seed=seed) for name in ablated}
    curves = {}
    for name, task in tasks.items():
        sequences = [task.heads, *random[name]] if name in ablated else []
        sequences += [ablated[relation] for relation, names in controls.items() if name in names]
        curves[name] = task.curves(adapted, sequences, memory=memory)
    n_k = 1 + max(map(len, ablated.values()))
    n_random, n_controls = resolved.random_sets, resolved.control_tasks
    by_random = [_rows([curves[name][heads] for heads in random[name]], (n_random, n_k)) for name in ablated]
    by_control = [
        _rows([curves[control][heads] for control in controls[name]], (n_controls, n_k))
        for name, heads in ablated.items()
    ]
    accuracy = _rows([curves[name][heads] for name, heads in ablated.items()], (len(ablated), n_k))
    by_random_name = [_names([["", *heads] for heads in random[name]], (n_random, n_k)) for name in ablated]
    table = xr.Dataset(
        {
            "accuracy": (("task", "k"), accuracy),
            "random": (("task", "sequence", "k"), np.stack(by_random)),
            "control": (("task", "other", "k"), np.stack(by_control)),
            "head": (("task", "k"), _names([["", *heads] for heads in ablated.values()], accuracy.shape)),
            "random_head": (("task", "sequence", "k"), np.stack(by_random_name)),
            "control_task": (("task", "other"), _names([*controls.values()], (len(ablated), n_controls))),
            "n_heads": ("task", [len(heads) for heads in ablated.values()]),
            "n_prompts": ("task", [tasks[name].n_prompts for name in ablated]),
            "n_removed": ("task", [_n_removed(curve) for curve in accuracy]),
        },
        coords={"task": list(ablated), "k": np.arange(n_k)},
        attrs={
            "method": "relation_ablation",
            "model": adapted.name,
            "dropped": json.dumps(dropped, ensure_ascii=False),
        },
    )
    return with_categories(table, relations)


@dataclass(frozen=True)
class _Task:
    """Prompts of a relation, the accuracy on them, and the heads that implement it, the highest score first."""

    batches: tuple[PromptBatch, ...]
    accuracy: float
    heads: Heads

    def why_not_ablated(self, settings: RelationSettings) -> str:
        """Why its heads are not to be ablated; "" if they are."""
        if self.accuracy < settings.least_accuracy:
            return f"the model answers {self.accuracy:.0%} rightly, less than {settings.least_accuracy:.0%}"
        return "" if self.heads else "no head has a score above 0"

    @property
    def n_prompts(self) -> int:
        return sum(map(len, self.batches))

    def curves(
        self, model: HookedModel, sequences: list[Heads], *, memory: str | int | None
    ) -> dict[Heads, Float[np.ndarray, " k"]]:
        """Accuracy after none, one, two, ... of the heads of each sequence."""
        if not sequences:
            return {}
        sets = list(dict.fromkeys(heads for sequence in sequences for heads in _growing(sequence)))
        right = np.zeros(len(sets))
        sweep = partial(joint_sweep, metrics=("accuracy",), positions="last", memory=memory)
        for batch in self.batches:
            swept = sweep(model, batch, "zero_ablation", sets)
            right += swept["patched"].sel(metric="accuracy").sum("prompt").values
        after = dict(zip(sets, right / self.n_prompts, strict=True))
        return {
            sequence: np.array([self.accuracy, *(after[heads] for heads in _growing(sequence))])
            for sequence in sequences
        }


def _growing(sequence: Heads) -> list[Heads]:
    """The first head, the first two, and so on, sorted."""
    return [tuple(sorted(sequence[: size + 1])) for size in range(len(sequence))]


def _scored_tasks(relations: xr.Dataset, model: HookedModel) -> list[str]:
    if not isinstance(relations, xr.Dataset) or "score" not in relations or "task" not in relations["score"].dims:
        raise DataError(
            "relation_ablation takes what hc.methods.ov_relation returns, with `score (task, layer, head)`."
        )
    check_axes(relations, model)
    return [str(name) for name in relations["task"].values]


def _task(
    model: HookedModel, name: str, scores: xr.DataArray, texts: Sequence[AnsweredText], settings: RelationSettings
) -> _Task:
    """Raises DataError: no prompts."""
    if not texts:
        raise DataError("no prompts were given")
    encoded, report = encode_answered(texts, model.tokenizer, n_ctx=model.n_ctx)
    batches, right = [], 0
    for batch in with_one_token_answers(encoded, report):
        prompts, answer = batch.tokens[:, :-1], batch.tokens[:, -1]
        # A zero ablation of clean runs reads neither corrupted prompts nor distractors.
        batches.append(PromptBatch.from_tokens(prompts, prompts.clone(), answer, (answer + 1) % model.d_vocab))
        predicted = [model.logits(part).argmax(-1).cpu() for part in prompts.split(_PROMPTS_AT_ONCE)]
        right += int((torch.cat(predicted) == answer).sum())
    if not batches:
        raise DataError(f"no usable prompt ({report.summary()})")
    accuracy = right / sum(map(len, batches))
    grid = np.nan_to_num(scores.transpose("layer", "head").values)
    # The paper's code turns a stable sort round, so of equal scores the last head comes first.
    order = np.argsort(grid, axis=None, kind="stable")[::-1][: settings.most_ablated(sum(model.n_heads.values()))]
    layers, heads = np.unravel_index(order[grid.ravel()[order] > 0], grid.shape)
    names = zip(scores["layer"].values[layers].tolist(), scores["head"].values[heads].tolist(), strict=True)
    return _Task(tuple(batches), accuracy, tuple(Head(*name) for name in names))


def _random_sequences(model: HookedModel, heads: Heads, task: str, *, n: int, seed: int) -> list[Heads]:
    """Sequences of as many heads that are not among these, or of all such heads if there are fewer."""
    pool = [head for head in model.heads if head not in heads]
    streams = [stream(seed, task, "random heads", str(number)) for number in range(n if pool else 0)]
    return [tuple(pool[place] for place in draws.permutation(len(pool))[: len(heads)]) for draws in streams]


def _controls(name: str, tasks: Mapping[str, _Task], settings: RelationSettings, *, seed: int) -> list[str]:
    """The first relations in random order that share few heads with this one and are answered about as often."""
    target, others = tasks[name], [control for control in tasks if control != name]
    order = stream(seed, name, "order of controls").permutation(len(others))
    controls = []
    for control in (others[place] for place in order):
        shared = len(set(target.heads) & set(tasks[control].heads[: len(target.heads)])) / len(target.heads)
        # Rounded, as .8 - .6 is above .2 in floating point.
        apart = round(abs(tasks[control].accuracy - target.accuracy), 9)
        if shared < settings.control_overlap and apart < settings.control_accuracy:
            controls.append(control)
    return controls[: settings.control_tasks]


def _n_removed(curve: Float[np.ndarray, " k"]) -> int:
    """Heads gone where accuracy first is 0, otherwise all."""
    return int(np.argmax(curve == 0)) if (curve == 0).any() else int((~np.isnan(curve)).sum()) - 1


def _rows(curves: Sequence[Float[np.ndarray, " _"]], shape: tuple[int, int]) -> Float[np.ndarray, "row k"]:
    """Curves of different lengths as rows, NaN beyond their ends."""
    grid = np.full(shape, np.nan)
    for row, curve in zip(grid, curves, strict=False):
        row[: len(curve)] = curve
    return grid


def _names(rows: Sequence[Sequence[Any]], shape: tuple[int, int]) -> np.ndarray:
    """Names as rows of one length, "" beyond their ends and their number."""
    grid = np.full(shape, "", dtype=object)
    for row, names in zip(grid, rows, strict=False):
        row[: len(names)] = [str(name) for name in names]
    return grid.astype(str)
