"""Do the heads whose weights implement a relation carry it? Accuracy as they are zeroed one after the other."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float

from headcats.errors import DataError
from headcats.methods.ov_relation.settings import RelationSettings, settings_of
from headcats.models.adapter import HookedModel, adapt
from headcats.models.head import Head
from headcats.prompts.answered import AnsweredBatch, AnsweredText, encode_answered
from headcats.prompts.batch import PromptBatch
from headcats.statistics.random_streams import stream
from headcats.sweeps.joint import cumulative, joint_sweep

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
    """Accuracy on a relation's prompts while its heads are zeroed one after the other, at the last position only.

    Heads come in the order of their score in `ov_relation` (of equal scores, the earlier layer and head first), only
    those with a score above 0, and at most 30, 50, 100, 150 or 250 of them in models of fewer than 300, 500, 1000,
    1500 or more heads. An answer counts if it is the most likely of all tokens. Beside it: `random` heads, as many,
    that are not among them; and `control` tasks, on whose prompts the same heads are zeroed: up to five of the other
    relations whose own heads hold less than 15 % of them and whose accuracy is within .2, those that share fewest
    heads first. If the weights tell the truth, `accuracy` falls before both.

    Args:
        model: As for `hc.sweep`.
        relations: What `ov_relation` returned.
        prompts: Task -> texts with a marked answer of one token at their end (`hc.methods.task_texts` makes them);
            others are dropped and counted.
        settings: A preset of `ov_relation`, or settings of your own.
        seed: Seed of the random heads.
        memory: Limit, such as "4GB".

    Returns:
        `accuracy (task, k)` after the first k heads, k = 0 without ablation; `random (task, sequence, k)`, `control
        (task, other, k)`, all in [0, 1], NaN beyond the last head there is; `head (task, k)`: the k-th head;
        `control_task (task, other)`, "" where fewer qualify; `n_heads`, `n_prompts (task)`. Attribute `dropped`: JSON,
        task -> why it was left out.

    Raises:
        DataError: No task is left: prompts missing or unusable, accuracy below .1, or no head with a score above 0.
        ModelError: As `hc.sweep`.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> (task,) = hc.suite("icl").named(["country_capital"])
        >>> relations = hc.methods.ov_relation(model, {"country_capital": task.pairs(40, seed=0)[:40]})
        >>> texts = {"country_capital": hc.methods.task_texts("country_capital", n_prompts=16)}
        >>> lost = hc.methods.ov_relation.relation_ablation(model, relations, texts)
        >>> lost.accuracy.dims, lost.random.dims
        (('task', 'k'), ('task', 'sequence', 'k'))
        >>> float(lost.accuracy.max()) <= 1, lost["head"].dims  # the k-th head to go
        (True, ('task', 'k'))

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965 (causal effect of relation heads on the model's predictions).
    """
    resolved = settings_of(settings)
    adapted = adapt(model)
    dropped: dict[str, str] = {}
    tasks: dict[str, _Task] = {}
    for name in _scored_tasks(relations, adapted):
        try:
            scores = relations["score"].sel(task=name)
            tasks[name] = _prepared(adapted, name, scores, prompts.get(name, ()), resolved)
        except DataError as problem:
            dropped[name] = str(problem)
    ablated = {name: task for name, task in tasks.items() if task.heads}
    dropped |= {name: "no head has a score above 0" for name in tasks if name not in ablated}
    if not ablated:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in dropped.items())
        raise DataError(f"No relation can be ablated. {reasons or 'No relation was scored.'}")
    random = {
        name: _random(adapted, task.heads, name, n=resolved.random_sets, seed=seed) for name, task in ablated.items()
    }
    controls = {name: _controls(name, tasks, resolved) for name in ablated}
    curves = {
        name: task.curves(adapted, [*_sequences(name, ablated, random, controls)], memory=memory)
        for name, task in tasks.items()
    }
    return _labelled(ablated, random, controls, curves, resolved, dropped, adapted)


@dataclass(frozen=True)
class _Task:
    """Prompts of a relation, the accuracy on them, and the heads that implement it, the best first."""

    batches: tuple[PromptBatch, ...]
    accuracy: float
    heads: Heads

    @property
    def n_prompts(self) -> int:
        return sum(map(len, self.batches))

    def curves(
        self, model: HookedModel, sequences: list[Heads], *, memory: str | int | None
    ) -> dict[Heads, Float[np.ndarray, " k"]]:
        """Accuracy after none, one, two, ... of the heads of each sequence."""
        sets = list(dict.fromkeys(tuple(sorted(heads)) for sequence in sequences for heads in cumulative(sequence)))
        if not sets:
            return {sequence: np.array([self.accuracy]) for sequence in sequences}
        right = np.zeros(len(sets))
        for batch in self.batches:
            swept = joint_sweep(
                model, batch, "zero_ablation", sets, metrics=("accuracy",), positions="last", memory=memory
            )
            right += swept["patched"].sel(metric="accuracy").sum("prompt").values
        after = dict(zip(sets, right / self.n_prompts, strict=True))
        return {
            sequence: np.array([self.accuracy, *(after[tuple(sorted(heads))] for heads in cumulative(sequence))])
            for sequence in sequences
        }


def _scored_tasks(relations: xr.Dataset, model: HookedModel) -> list[str]:
    if not isinstance(relations, xr.Dataset) or "score" not in relations or "task" not in relations["score"].dims:
        raise DataError(
            "relation_ablation takes what hc.methods.ov_relation returns, with `score (task, layer, head)`."
        )
    if relations["layer"].values.tolist() != list(model.layers) or relations.sizes["head"] != model.max_heads:
        raise DataError(f"These relations were scored on a model of other layers or heads than {model.name!r}.")
    return [str(name) for name in relations["task"].values]


def _prepared(
    model: HookedModel, name: str, scores: xr.DataArray, texts: Sequence[AnsweredText], settings: RelationSettings
) -> _Task:
    """Raises DataError: no prompts, or too few right answers."""
    if not texts:
        raise DataError("no prompts were given")
    if model.tokenizer is None:
        raise DataError(f"model {model.name!r} has no tokenizer for its prompts")
    encoded, report = encode_answered(texts, model.tokenizer, n_ctx=model.n_ctx)
    batches = []
    for batch in encoded:
        usable = [place for place in range(len(batch)) if _ends_in_one_token(batch, place)]
        report.kept -= len(batch) - len(usable)
        for place in set(range(len(batch))) - set(usable):
            report.drop("answer is not the last token alone", repr(batch.texts[place].key or batch.texts[place].text))
        if usable:
            batches.append(_prompts(batch.select(usable), name, model.d_vocab))
    if not batches:
        raise DataError(f"no usable prompt ({report.summary()})")
    right = sum(_right(model, batch) for batch in batches)
    accuracy = right / sum(map(len, batches))
    if accuracy < settings.least_accuracy:
        raise DataError(f"the model answers {accuracy:.0%} rightly, less than {settings.least_accuracy:.0%}")
    return _Task(tuple(batches), accuracy, _ranked(scores, settings.most_ablated(sum(model.n_heads.values()))))


def _ends_in_one_token(batch: AnsweredBatch, place: int) -> bool:
    targets = batch.targets[place]
    return bool(targets[-1]) and int(targets.sum()) == 1


def _prompts(batch: AnsweredBatch, task: str, d_vocab: int) -> PromptBatch:
    """For a zero ablation of clean runs, which reads neither corrupted prompts nor distractors."""
    tokens, answer = batch.tokens[:, :-1], batch.tokens[:, -1]
    return PromptBatch.from_tokens(tokens, tokens.clone(), answer, (answer + 1) % d_vocab)


def _right(model: HookedModel, batch: PromptBatch) -> int:
    predicted = [model.logits(tokens).argmax(-1).cpu() for tokens in batch.clean.split(_PROMPTS_AT_ONCE)]
    return int((torch.cat(predicted) == batch.answer).sum())


def _ranked(scores: xr.DataArray, most: int) -> Heads:
    grid = np.nan_to_num(scores.transpose("layer", "head").values)
    order = np.argsort(-grid.ravel(), kind="stable")[:most]
    layers, heads = scores["layer"].values, scores["head"].values
    places = [divmod(int(place), grid.shape[1]) for place in order if grid.ravel()[place] > 0]
    return tuple(Head(int(layers[layer]), int(heads[head])) for layer, head in places)


def _random(model: HookedModel, heads: Heads, task: str, *, n: int, seed: int) -> list[Heads]:
    """Sequences of as many heads that are not among these, or of all such heads if there are fewer."""
    pool = [Head(layer, head) for layer in model.layers for head in range(model.n_heads[layer])]
    pool = [head for head in pool if head not in heads]
    sequences = []
    for number in range(n if pool else 0):
        order = stream(seed, task, "random heads", str(number)).permutation(len(pool))[: len(heads)]
        sequences.append(tuple(pool[place] for place in order))
    return sequences


def _controls(name: str, tasks: Mapping[str, _Task], settings: RelationSettings) -> list[str]:
    target = tasks[name]
    shared = {
        control: len(set(target.heads) & set(task.heads)) / len(target.heads)
        for control, task in tasks.items()
        if control != name and abs(task.accuracy - target.accuracy) <= settings.control_accuracy
    }
    few = [control for control, share in shared.items() if share < settings.control_overlap]
    return sorted(few, key=shared.__getitem__)[: settings.control_tasks]


def _sequences(
    task: str, ablated: Mapping[str, _Task], random: Mapping[str, list[Heads]], controls: Mapping[str, list[str]]
) -> Iterator[Heads]:
    """The heads to ablate on the prompts of a task: its own, random ones, and those of tasks it is a control of."""
    if task in ablated:
        yield ablated[task].heads
        yield from random[task]
    for relation, names in controls.items():
        if task in names:
            yield ablated[relation].heads


def _labelled(
    ablated: Mapping[str, _Task],
    random: Mapping[str, list[Heads]],
    controls: Mapping[str, list[str]],
    curves: Mapping[str, Mapping[Heads, np.ndarray]],
    settings: RelationSettings,
    dropped: Mapping[str, str],
    model: HookedModel,
) -> xr.Dataset:
    longest = max(len(task.heads) for task in ablated.values())
    accuracy = np.full((len(ablated), longest + 1), np.nan)
    by_chance = np.full((len(ablated), settings.random_sets, longest + 1), np.nan)
    elsewhere = np.full((len(ablated), settings.control_tasks, longest + 1), np.nan)
    heads = np.full(accuracy.shape, "", dtype=object)
    names = np.full(elsewhere.shape[:2], "", dtype=object)
    for row, (name, task) in enumerate(ablated.items()):
        n = len(task.heads) + 1
        accuracy[row, :n] = curves[name][task.heads]
        heads[row, 1:n] = [str(head) for head in task.heads]
        for place, sequence in enumerate(random[name]):
            by_chance[row, place, : len(sequence) + 1] = curves[name][sequence]
        for place, control in enumerate(controls[name]):
            elsewhere[row, place, :n] = curves[control][task.heads]
            names[row, place] = control
    text = json.dumps(dict(dropped), ensure_ascii=False)
    return xr.Dataset(
        {
            "accuracy": (("task", "k"), accuracy),
            "random": (("task", "sequence", "k"), by_chance),
            "control": (("task", "other", "k"), elsewhere),
            "head": (("task", "k"), heads.astype(str)),
            "control_task": (("task", "other"), names.astype(str)),
            "n_heads": ("task", [len(task.heads) for task in ablated.values()]),
            "n_prompts": ("task", [task.n_prompts for task in ablated.values()]),
        },
        coords={"task": list(ablated), "k": np.arange(longest + 1)},
        attrs={"method": "relation_ablation", "model": model.name, "dropped": text},
    )
