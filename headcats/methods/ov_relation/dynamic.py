"""Relation scores in use: what heads write at the end of a text about the source, held against their weights."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from headcats.errors import DataError, ModelError
from headcats.methods.ov_relation.extremes import Targets, among_extremes
from headcats.methods.ov_relation.pairs import Relation, single_tokens
from headcats.methods.ov_relation.settings import RelationSettings
from headcats.methods.ov_relation.templates import Filled, check_templates, fill
from headcats.models.adapter import HookedModel, adapt
from headcats.models.circuit import Circuit
from headcats.models.circuit_run import hook_v
from headcats.models.hooks import Edit, hook_z

CONTEXTS = ("with", "without")
_PROMPTS_AT_ONCE = 64
_ROUNDINGS = 64  # of the model's dtype, between the value and the output of a head that sees one token alone
_GRID = ("context", "template", "task", "layer", "head")


def dynamic_relation(
    model: Any,
    pairs: Mapping[str, Any],
    relations: xr.Dataset,
    *,
    templates: Sequence[str] = RelationSettings().templates,
) -> xr.Dataset:
    """Do heads write, in running text, what `ov_relation` says of their weights?

    Each source is put into each template, and z of every head at the last position goes through `W_O W_U`; a pair
    counts if its target is among the top k (of suppression: bottom k), as in `ov_relation`. "with" context: the
    ordinary run. "without": at every layer the attention of the last position lies on the source alone, so that z is
    the head's value there, while the unchanged z goes on to the next layer. Against it the weights are tested without
    the question where the head looks; with context, that question is in.

    Args:
        model: As for `ov_relation`, with a tokenizer.
        pairs: Name of a relation -> (source, target) words: the pairs that were scored.
        relations: What `ov_relation` returned for them; it says which relations, and k.
        templates: Texts with one `<X>`, after a space. The paper's four by default; a small vocabulary needs its own.

    Returns:
        `score` and `suppression (context, template, task, layer, head)` in [0, 1], NaN where a layer has fewer heads;
        `n (template, task)` pairs that could be written; `r` and `suppression_r (context, template, task)`: Pearson
        correlation over heads with the static scores; `mean_r` and `suppression_mean_r (context, task)`: the same of
        scores averaged over templates. NaN where one of the two does not vary.

    Raises:
        DataError: No tokenizer, a relation without its pairs or with others, a template with unknown words.
        OptionError: A text that is no template.
        ModelError: As for `ov_relation`; heads that do more than attend to values (gates, sinks), which have no run
            without context.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> (task,) = hc.suite("icl").named(["country_capital"])
        >>> pairs = {"country_capital": task.pairs(40, seed=0)[:40]}
        >>> relations = hc.methods.ov_relation(model, pairs)
        >>> written = hc.methods.ov_relation.dynamic_relation(model, pairs, relations, templates=["<X> →"])
        >>> written.score.dims
        ('context', 'template', 'task', 'layer', 'head')
        >>> bool(abs(written.mean_r).max() <= 1.0001)  # with the scores of the weights
        True

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965, section on dynamic relations.
    """
    texts = check_templates(templates)
    adapted = adapt(model)
    if adapted.tokenizer is None:
        raise DataError(f"Model {adapted.name!r} has no tokenizer, and templates are text: pass hc.load_model(model, "
                        "tokenizer=...).")  # fmt: skip
    scored = list(_named(adapted, pairs, relations))
    circuit = Circuit(adapted)
    n_layers, max_heads = len(adapted.layers), adapted.max_heads
    shape = (len(CONTEXTS), len(texts), len(scored), n_layers, max_heads)
    shares = {name: np.full(shape, np.nan) for name in ("score", "suppression")}
    n = np.zeros(shape[1:3], dtype=np.int64)
    for column, (relation, k) in enumerate(scored):
        for row, template in enumerate(texts):
            filled = fill(template, relation, adapted.tokenizer)
            n[row, column] = len(filled.pairs)
            for context, outputs in zip(CONTEXTS, _head_outputs(adapted, filled), strict=True):
                hits = _shares(circuit, outputs, relation.targets[filled.pairs], k)
                for name, share in zip(shares, hits, strict=True):
                    shares[name][CONTEXTS.index(context), row, column] = share
    ds = xr.Dataset(
        {name: (_GRID, values) for name, values in shares.items()} | {"n": (("template", "task"), n)},
        coords={
            "context": list(CONTEXTS),
            "template": list(texts),
            "task": [relation.name for relation, _ in scored],
            "layer": list(adapted.layers),
            "head": list(range(max_heads)),
        },
        attrs={"method": "dynamic_relation", "model": adapted.name},
    )
    return _with_correlations(ds, relations)


def _named(model: HookedModel, pairs: Mapping[str, Any], relations: xr.Dataset) -> Iterable[tuple[Relation, int]]:
    """The relations that were scored, with their k."""
    if not isinstance(relations, xr.Dataset) or not {"score", "suppression", "k", "n"} <= set(relations.data_vars):
        raise DataError("dynamic_relation takes what hc.methods.ov_relation returns, with `score`, `n` and `k`.")
    layers = relations["layer"].values.tolist()
    if layers != list(model.layers) or relations.sizes["head"] != model.max_heads:
        raise DataError(
            f"These relations were scored on a model of other heads ({len(layers)} layers of "
            f"{relations.sizes['head']}) than {model.name!r} ({len(model.layers)} of {model.max_heads})."
        )
    for name in map(str, relations["task"].values):
        if name not in pairs:
            raise DataError(f"Relation {name!r} was scored and has no pairs here: pass the pairs that were scored.")
        relation = single_tokens(name, pairs[name], tokenizer=model.tokenizer, d_vocab=model.d_vocab)
        if len(relation) != int(relations["n"].sel(task=name)):
            raise DataError(
                f"Relation {name!r} was scored on {int(relations['n'].sel(task=name))} pairs and has {len(relation)} "
                f"here: pass the pairs that were scored."
            )
        yield relation, int(relations["k"].sel(task=name))


def _head_outputs(
    model: HookedModel, filled: Filled
) -> tuple[dict[int, Float[Tensor, "head prompt d_head"]], dict[int, Float[Tensor, "head prompt d_head"]]]:
    """Per layer, z at the last position with context and without.

    A head that sees one token alone gives its value there, which is what it gives without context. So both come from
    one ordinary run: at the first position every head sees one token alone, which shows that this holds.
    """
    with_context: dict[int, list[Tensor]] = {layer: [] for layer in model.layers}
    without: dict[int, list[Tensor]] = {layer: [] for layer in model.layers}
    for tokens in filled.tokens.split(_PROMPTS_AT_ONCE):
        z: dict[int, Tensor] = {}
        values: dict[int, Tensor] = {}
        places = [0, filled.source]
        hooks: dict[str, Edit] = {}
        for layer in model.layers:
            hooks[hook_z(layer)] = _keeping(z, layer, [0, -1])
            hooks[hook_v(layer)] = _keeping(values, layer, places)
        model.run(tokens, hooks=hooks)
        for layer in model.layers:
            value = values[layer].repeat_interleave(z[layer].shape[2] // values[layer].shape[2], dim=2)
            _check_sees_values(model, layer, value[:, 0], z[layer][:, 0])
            with_context[layer].append(z[layer][:, 1].transpose(0, 1))
            without[layer].append(value[:, 1].transpose(0, 1))
    joined = [{layer: torch.cat(parts, dim=1) for layer, parts in side.items()} for side in (with_context, without)]
    return joined[0], joined[1]


def _keeping(kept: dict[int, Tensor], layer: int, places: list[int]) -> Edit:
    def keep(value: Tensor) -> Tensor:
        kept[layer] = value[:, places].detach().clone()
        return value

    return keep


def _check_sees_values(model: HookedModel, layer: int, value: Tensor, z: Tensor) -> None:
    floor = _ROUNDINGS * torch.finfo(model.dtype).eps * max(1e-6, float(value.abs().max()))
    off = float((value - z).abs().max())
    if not off <= floor:
        raise ModelError(
            f"A head of layer {layer} of model {model.name!r} that sees one token alone does not give its value there "
            f"(off by {off:.3g}): the attention has gates or sinks, and no run without context is defined for it."
        )


def _shares(
    circuit: Circuit, outputs: Mapping[int, Tensor], targets: Tensor, k: int
) -> tuple[Float[np.ndarray, "layer head"], Float[np.ndarray, "layer head"]]:
    """Share of prompts whose target is at the top, and at the bottom."""
    targets_of_prompts = [Targets(torch.arange(len(targets)), targets, k)]
    grids = np.full((2, len(circuit.layers), circuit.model.max_heads), np.nan)
    for place, layer in enumerate(circuit.layers):
        z = outputs[layer].to(circuit.dtype)
        (extremes,) = among_extremes(
            z, circuit.W_O(layer), circuit.unembedding, targets_of_prompts, d_vocab=circuit.d_vocab
        )
        for side, hits in enumerate(extremes):
            counts = hits.sum(-1).cpu().numpy()
            grids[side, place, : len(counts)] = counts / len(targets)
    return grids[0], grids[1]


def _with_correlations(made: xr.Dataset, relations: xr.Dataset) -> xr.Dataset:
    for name, prefix in (("score", ""), ("suppression", "suppression_")):
        static = relations[name].sel(task=made["task"].values).transpose("task", "layer", "head").values
        static = static.reshape(len(static), -1)
        dynamic = made[name].values.reshape(*made[name].shape[:3], -1)
        made[f"{prefix}r"] = (_GRID[:3], _pearson(dynamic, static))
        made[f"{prefix}mean_r"] = (("context", "task"), _pearson(dynamic.mean(axis=1), static))
    made.attrs["provenance"] = json.dumps(
        {"method": "dynamic_relation", "model": made.attrs["model"], "templates": made["template"].values.tolist()},
        ensure_ascii=False,
    )
    return made


def _pearson(dynamic: Float[np.ndarray, "*more head"], static: Float[np.ndarray, "_task head"]) -> np.ndarray:
    """Correlation over the last axis, heads that do not exist left out; NaN where one of them is constant."""
    exists = ~np.isnan(static).all(axis=0)
    dynamic, static = dynamic[..., exists], static[..., exists]
    dynamic, static = dynamic - dynamic.mean(-1, keepdims=True), static - static.mean(-1, keepdims=True)
    product = (dynamic * static).sum(-1)
    size = np.sqrt((dynamic**2).sum(-1) * (static**2).sum(-1))
    return np.divide(product, size, where=size > 0, out=np.full(product.shape, np.nan))
