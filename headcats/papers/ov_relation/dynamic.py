"""Dynamic relation scores: what heads write at the end of a text about the source, compared with their weights."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import DataError, ModelError, OptionError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.circuit import Circuit
from headcats.models.hooks import Edit, hook_v, hook_z, keeping
from headcats.papers.ov_relation.extremes import Targets, among_extremes
from headcats.papers.ov_relation.settings import RelationSettings
from headcats.papers.ov_relation.static import Relation, single_tokens
from headcats.papers.ov_relation.summary import CONTEXTS, with_categories
from headcats.papers.ov_relation.weights import unprocessed_circuit
from headcats.prompts.tokens import check_bos, encode_with_bos, unknown_id

SLOT = "<X>"
_PROMPTS_AT_ONCE = 64
_ROUNDINGS = 64  # of the model's dtype, between the value and the output of a head that sees one token alone
_GRID = ("context", "template", "task", "layer", "head")


def dynamic_relation(
    model: Any,
    pairs: Mapping[str, Any],
    relations: xr.Dataset,
    *,
    templates: Sequence[str] = RelationSettings().templates,
    bos: str = "own",
) -> xr.Dataset:
    """Test if heads write in running text what `ov_relation` reads from their weights.

    Each source is put into each template, and z of every head at the last position goes through `W_O W_U`; a pair
    counts if its target is among the top k (suppression: bottom k), as in `ov_relation`. "with" context is the ordinary
    run. "without", the last position attends to the source alone at every layer, so z is the head's value there, while
    the unchanged z goes on to the next layer: a test of the weights regardless of where the head looks.

    Args:
        model: As for `ov_relation`, with a tokenizer.
        pairs: Relation -> (source, target) words: the pairs that were scored.
        relations: What `ov_relation` returned for them.
        templates: Texts with one `<X>`, after a space. The paper's four by default; a small vocabulary needs its own.
        bos: "own" takes the tokens that the tokenizer gives by itself, as the paper does: BOS for Llama, none for
            GPT-2. "once" puts BOS in front where it writes none, as in all other prompts of headcats; the bundled
            models were trained with it.

    Returns:
        `score` and `suppression (context, template, task, layer, head)` in [0, 1], NaN where a layer has fewer heads;
        `static` and `suppression_static (task, layer, head)`, those of `relations`; `n (template, task)`, pairs whose
        source is one token in the text. `pooled_r` and `suppression_pooled_r (context, task)`, the paper's correlation:
        Pearson's, over heads and templates together, every head once per template with its one static score; NaN where
        either side does not vary. Coordinate `category (task)`, if `relations` has it.

    Raises:
        DataError: A relation without its pairs or with others, a template with unknown words.
        OptionError: A text that is no template.
        UnknownNameError: Another `bos`.
        ModelError: As for `ov_relation`; no tokenizer; or heads with gates or sinks, which have no run without context.

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965, section on dynamic relations.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> (task,) = hc.suite("icl").named(["country_capital"])
        >>> pairs = {"country_capital": task.pairs(40, seed=0)[:40]}
        >>> relations = hc.methods.ov_relation(model, pairs)
        >>> written = hc.papers.ov_relation.dynamic_relation(model, pairs, relations, templates=["<X> →"])
        >>> written.score.dims, bool(abs(written.pooled_r).max() <= 1.0001)
        (('context', 'template', 'task', 'layer', 'head'), True)
    """
    _check_templates(templates)
    check_bos(bos)
    adapted = adapt(model)
    tokenizer = adapted.text_tokenizer
    scored = list(_scored_relations(adapted, pairs, relations))
    circuit = unprocessed_circuit(adapted)
    shape = (2, len(CONTEXTS), len(templates), len(scored), len(adapted.layers), adapted.max_heads)
    shares = np.full(shape, np.nan)
    n = np.zeros(shape[2:4], dtype=np.int64)
    for column, (relation, k) in enumerate(scored):
        for row, template in enumerate(templates):
            filled = _fill(template, relation, tokenizer, bos=bos)
            n[row, column] = len(filled.pairs)
            for context, outputs in enumerate(_head_outputs(adapted, filled)):
                shares[:, context, row, column] = _shares(circuit, outputs, relation.targets[filled.pairs], k)
    table = xr.Dataset(
        {"score": (_GRID, shares[0]), "suppression": (_GRID, shares[1]), "n": (("template", "task"), n)},
        coords={
            "context": list(CONTEXTS),
            "template": list(templates),
            "task": [relation.name for relation, _ in scored],
            **adapted.axes,
        },
    )
    for name, prefix in (("score", ""), ("suppression", "suppression_")):
        scores = relations[name].sel(task=table["task"].values).transpose("task", "layer", "head").values
        dynamic = table[name].values.reshape(*shape[1:4], -1)
        # Each head once per template, beside its one static score.
        beside = np.concatenate([scores.reshape(len(scores), -1)] * len(templates), axis=-1)
        pooled = np.concatenate(list(np.moveaxis(dynamic, 1, 0)), axis=-1)
        table[f"{prefix}static"] = (("task", "layer", "head"), scores)
        table[f"{prefix}pooled_r"] = (("context", "task"), _pearson(pooled, beside))
    described = {"method": "dynamic_relation", "model": adapted.name}
    provenance = json.dumps(described | {"templates": list(templates), "bos": bos}, ensure_ascii=False)
    return with_categories(table, relations).assign_attrs(described, provenance=provenance)


def _check_templates(templates: Sequence[str]) -> None:
    if isinstance(templates, str) or not templates or len(set(templates)) < len(templates):
        raise OptionError(f"templates takes a list of different texts with {SLOT} in them; got {templates!r}.")
    for template in templates:
        if template.count(SLOT) != 1 or not (template.startswith(SLOT) or f" {SLOT}" in template):
            raise OptionError(
                f"A template is a text with one {SLOT} in it, at the start or after a space (sources are words with a "
                f"space before them); got {template!r}."
            )


def _scored_relations(
    model: HookedModel, pairs: Mapping[str, Any], relations: xr.Dataset
) -> Iterator[tuple[Relation, int]]:
    """The relations that were scored, with their k."""
    if not isinstance(relations, xr.Dataset) or not {"score", "suppression", "k", "n"} <= set(relations.data_vars):
        raise DataError("dynamic_relation takes what hc.methods.ov_relation returns, with `score`, `n` and `k`.")
    _check_axes(relations, model)
    for name in map(str, relations["task"].values):
        if name not in pairs:
            raise DataError(f"Relation {name!r} was scored and has no pairs here: pass the pairs that were scored.")
        relation = single_tokens(name, pairs[name], tokenizer=model.tokenizer, d_vocab=model.d_vocab)
        k, n = (int(relations[variable].sel(task=name)) for variable in ("k", "n"))
        if len(relation) != n:
            raise DataError(
                f"Relation {name!r} was scored on {n} pairs and has {len(relation)} here: pass the pairs that were "
                "scored."
            )
        yield relation, k


def _check_axes(table: xr.Dataset, model: HookedModel) -> None:
    layers, n_heads = table["layer"].values.tolist(), table.sizes["head"]
    if layers != list(model.layers) or n_heads != model.max_heads:
        raise DataError(
            f"This table is of other layers or heads ({len(layers)} layers of {n_heads}) than model {model.name!r} "
            f"({len(model.layers)} of {model.max_heads}): pass one that was made on this model."
        )


class _Filled(NamedTuple):
    """A template filled with the sources of a relation; `pairs` are places of the prompts' pairs in the relation."""

    tokens: Int[Tensor, "prompt pos"]
    source: int
    pairs: Int[Tensor, " prompt"]


def _fill(template: str, relation: Relation, tokenizer: Any, *, bos: str) -> _Filled:
    """The template with each source that is the same single token in the text as alone."""
    unknown = unknown_id(tokenizer)
    start = template.index(SLOT)
    prompts: list[list[int]] = []
    pairs, source_place = [], 0
    texts = [template.replace(SLOT, source) for source, _ in relation.words]
    encoded = encode_with_bos(tokenizer, texts, bos=[bos] * len(texts))
    for number, (front, ids, ends) in enumerate(encoded):
        if unknown is not None and unknown in ids:
            raise DataError(
                f"Template {template!r} holds a word that the tokenizer does not know: pass templates=[...] of words "
                f"that it knows."
            )
        stop = start + len(relation.words[number][0])
        places = [place for place, end in enumerate(ends) if start < end <= stop]
        if len(places) != 1 or ids[places[0]] != int(relation.sources[number]):
            continue
        place = len(front) + places[0]
        if prompts and (len(prompts[0]), source_place) != (len(front) + len(ids), place):
            continue
        source_place = place
        prompts.append(front + ids)
        pairs.append(number)
    if not prompts:
        raise DataError(
            f"In template {template!r} no source of relation {relation.name!r} is the token that it is alone: leave "
            "out the template or the relation, or write a template with a space before the source and after it."
        )
    return _Filled(torch.tensor(prompts), source_place, torch.tensor(pairs))


def _head_outputs(model: HookedModel, filled: _Filled) -> list[dict[int, Float[Tensor, "head prompt d_head"]]]:
    """Per layer, z at the last position with context, and without.

    Without context a head gives its value at the source, as at the first position, where this is checked.
    """
    outputs: list[dict[int, list[Tensor]]] = [{layer: [] for layer in model.layers} for _ in CONTEXTS]
    for tokens in filled.tokens.split(_PROMPTS_AT_ONCE):
        z: dict[int, Tensor] = {}
        values: dict[int, Tensor] = {}
        hooks: dict[str, Edit] = {}
        for layer in model.layers:
            hooks[hook_z(layer)] = keeping(z, layer, lambda value: value[:, [0, -1]])
            hooks[hook_v(layer)] = keeping(values, layer, lambda value: value[:, [0, filled.source]])
        model.run(tokens, hooks=hooks)
        for layer in model.layers:
            value = values[layer].repeat_interleave(z[layer].shape[2] // values[layer].shape[2], dim=2)
            _check_gives_value(model, layer, value[:, 0], z[layer][:, 0])
            for parts, activation in zip(outputs, (z[layer], value), strict=True):
                parts[layer].append(activation[:, 1].transpose(0, 1))
    return [{layer: torch.cat(parts, dim=1) for layer, parts in context.items()} for context in outputs]


def _check_gives_value(model: HookedModel, layer: int, value: Tensor, z: Tensor) -> None:
    floor = _ROUNDINGS * torch.finfo(model.dtype).eps * max(1e-6, float(value.abs().max()))
    off = float((value - z).abs().max())
    if not off <= floor:
        raise ModelError(
            f"A head of layer {layer} of model {model.name!r} that sees one token alone does not give its value there "
            f"(off by {off:.3g}): the attention has gates or sinks, and no run without context is defined for it."
        )


def _shares(
    circuit: Circuit, outputs: Mapping[int, Tensor], targets: Tensor, k: int
) -> Float[np.ndarray, "side layer head"]:
    """Share of prompts whose target is at the top, and at the bottom."""
    sought = [Targets(torch.arange(len(targets)), targets, k)]
    grids = np.full((2, len(circuit.layers), circuit.model.max_heads), np.nan)
    for place, layer in enumerate(circuit.layers):
        z, W_O = outputs[layer].to(circuit.dtype), circuit.W_O(layer)
        (sides,) = among_extremes(z, W_O, circuit.unembedding, sought, d_vocab=circuit.d_vocab)
        for side, hits in enumerate(sides):
            grids[side, place, : len(hits)] = hits.sum(-1).cpu().numpy() / len(targets)
    return grids


def _pearson(dynamic: Float[np.ndarray, "*more head"], static: Float[np.ndarray, "_task head"]) -> np.ndarray:
    """Correlation over the last axis, without missing heads; NaN where either is constant."""
    exists = ~np.isnan(static).all(axis=0)
    dynamic, static = dynamic[..., exists], static[..., exists]
    dynamic, static = dynamic - dynamic.mean(-1, keepdims=True), static - static.mean(-1, keepdims=True)
    product = (dynamic * static).sum(-1)
    size = np.sqrt((dynamic**2).sum(-1) * (static**2).sum(-1))
    return np.divide(product, size, where=size > 0, out=np.full(product.shape, np.nan))
