"""Do the heads of a function matter for it? They are scaled to almost nothing, and so are random heads."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from headcats.base.errors import DataError, OptionError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.models.head import Head
from headcats.models.hooks import Edit
from headcats.papers.function_probe.answer_tokens import answer_readings, in_chunks, positions_of
from headcats.papers.function_probe.settings import CONTROLS, SCALE
from headcats.papers.function_probe.splits import in_order
from headcats.prompts.answered import AnsweredBatch, AnsweredText, encode_answered
from headcats.statistics.random_streams import stream

HeadSet = tuple[Head, ...]


def scale_function_heads(
    model: Any,
    texts: Sequence[AnsweredText],
    heads: Mapping[str, Sequence[Head | str]] | xr.DataArray,
    *,
    scale: float = SCALE,
    n_controls: int = CONTROLS,
    seed: int = 0,
) -> xr.Dataset:
    """Scale z of each function's heads, all heads of a function at once, and read every answer.

    z is scaled one position before each token of the answer, where the model predicts it. The paper's hook scales one
    position at each step of the decoding, and what later layers make of it stays in the cache: the same as one pass
    over prompt and answer with these positions scaled. In the version of pyvene that the authors name it sits out the
    pass over the prompt, so these are the tokens that the model has written, among them the opening of the reply;
    together they hold every position that predicts a token of the answer.

    The controls are random sets of as many heads, none of them in the set (upstream's may be). Select the heads on
    other texts than these.

    `p = (1 + controls at least as harmful) / (1 + controls)`: harm is the drop in the mean log-probability of the
    function's own answers. `p_specific`: the same for that drop minus the mean drop of the other functions.

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
        texts: Texts with marked answers; `category` is the function.
        heads: Function -> its heads; or `member` of what `hc.categorize` returns for a function probe.
        scale: What z is multiplied by.
        n_controls: Random sets per function; all of them if fewer exist.
        seed: Seed of the random sets.

    Returns:
        `log_prob` and `accuracy (function, target)`: mean log-probability of the answer per token in nats, and share of
        texts whose answer tokens are all the model's first choice, on the texts of `target` with the heads of
        `function` scaled; `clean_log_prob` and `clean_accuracy (target)` with no head scaled; `control_log_prob` and
        `control_accuracy (function, target, control)`, NaN where there are fewer controls; `p` and `p_specific
        (function)`, NaN for a function without heads or controls; `n_heads (function)`, `n_controls (function)`, `n
        (target)`; attributes `scale`, `model`, `seed` and `texts` (how many were kept, and how many dropped and why).

    Raises:
        DataError: No heads at all, a function without texts, a head that the model does not have, or no text usable.
        OptionError: `n_controls` below 0, or a `scale` that is not finite.
        ModelError: No tokenizer, or as in `hc.sweep`.

    Example:
        >>> import headcats as hc
        >>> tasks = ("country_capital", "plural")
        >>> texts = [text for task in tasks for text in hc.methods.task_texts(task, n_prompts=8)]
        >>> heads = {"Knowledge": ["L1H6", "L1H7"], "Linguistic": ["L4H0"]}
        >>> scaled = hc.papers.function_probe.scale_function_heads(hc.load_model("mini"), texts, heads, n_controls=2)
        >>> scaled.log_prob.dims, scaled.control_log_prob.dims
        (('function', 'target'), ('function', 'target', 'control'))
        >>> bool((scaled.log_prob <= 0).all())
        True

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978: all heads of a function scaled by 1e-4.
    """
    if n_controls < 0 or not math.isfinite(scale):
        raise OptionError(f"Expected n_controls of at least 0 and a finite scale; got {n_controls} and {scale}.")
    model = adapt(model)
    check_model(model)
    head_sets = _head_sets(heads, model)
    batches, report = encode_answered(texts, model.tokenizer, n_ctx=model.n_ctx)
    categories = [text.category for batch in batches for text in batch.texts]
    targets = in_order(categories)
    if not targets:
        raise DataError(f"None of the texts can be used: {report.summary()}.")
    for name in head_sets:
        if name not in targets:
            raise DataError(f"There are no texts of function {name!r}; texts are of {', '.join(targets)}.")
    batches = in_chunks(batches)
    controls = {name: random_sets(members, model.heads, n=n_controls, seed=seed) for name, members in head_sets.items()}
    shape = (2, len(head_sets), len(targets))
    values, control = np.full(shape, np.nan), np.full((*shape, n_controls), np.nan)
    read = partial(_read, model, batches, targets=targets, scale=scale)
    clean = read(())
    for row, (name, members) in enumerate(head_sets.items()):
        if members:
            values[:, row] = read(members)
        for column, members in enumerate(controls[name]):
            control[:, row, :, column] = read(members)
    places = [targets.index(name) for name in head_sets]
    p, p_specific = _p_values(clean[0] - values[0], clean[0][:, None] - control[0], places)
    return xr.Dataset(
        {
            "log_prob": (("function", "target"), values[0]),
            "accuracy": (("function", "target"), values[1]),
            "clean_log_prob": ("target", clean[0]),
            "clean_accuracy": ("target", clean[1]),
            "control_log_prob": (("function", "target", "control"), control[0]),
            "control_accuracy": (("function", "target", "control"), control[1]),
            "n_heads": ("function", [len(members) for members in head_sets.values()]),
            "n_controls": ("function", [len(controls[name]) for name in head_sets]),
            "n": ("target", [categories.count(name) for name in targets]),
            "p": ("function", p),
            "p_specific": ("function", p_specific),
        },
        coords={"function": list(head_sets), "target": list(targets), "control": np.arange(n_controls)},
        attrs={"scale": scale, "model": model.name, "seed": seed, "texts": report.summary()},
    )


def random_sets(members: HeadSet, all_heads: Sequence[Head], *, n: int, seed: int) -> list[HeadSet]:
    """Up to `n` distinct random sets of as many heads, none of them in `members`; all if fewer exist."""
    pool = [head for head in all_heads if head not in members]
    if not members or len(pool) < len(members):
        return []
    n_sets = min(n, math.comb(len(pool), len(members)))
    draws = stream(seed, "function_probe", "random heads", *map(str, sorted(members)))
    sets: dict[HeadSet, None] = {}
    while len(sets) < n_sets:
        sets[tuple(sorted(pool[place] for place in draws.permutation(len(pool))[: len(members)]))] = None
    return list(sets)


def _head_sets(heads: Mapping[str, Sequence[Head | str]] | xr.DataArray, model: HookedModel) -> dict[str, HeadSet]:
    if isinstance(heads, xr.DataArray):
        cells = heads.stack(cell=("layer", "head")).transpose("category", "cell")
        heads = {str(row["category"].item()): row["cell"].values[row.values == 1].tolist() for row in cells}
    head_sets = {name: tuple(sorted(set(map(model.find_head, members)))) for name, members in heads.items()}
    if not any(head_sets.values()):
        raise DataError("There are no heads to scale: the rule chose none for any function. Use another rule.")
    return head_sets


def _read(
    model: HookedModel,
    batches: Sequence[AnsweredBatch],
    heads: HeadSet,
    *,
    targets: Sequence[str],
    scale: float,
) -> Float[np.ndarray, "reading target"]:
    """Mean log-probability and accuracy of every function's texts."""
    of_layer = {layer: [head.head for head in heads if head.layer == layer] for layer, _ in heads}
    sums, counts = np.zeros((2, len(targets))), np.zeros(len(targets))
    for batch in batches:
        factors = torch.where(positions_of(batch.targets, at="predicting"), scale, 1.0)
        edits = {layer: _scaling(members, factors) for layer, members in of_layer.items()}
        readings = answer_readings(model, batch, edits=edits)
        mean_log_prob = readings.log_prob.sum(1) / batch.targets.sum(1)
        of_target = [targets.index(text.category) for text in batch.texts]
        np.add.at(sums[0], of_target, mean_log_prob.double().numpy())
        np.add.at(sums[1], of_target, readings.right.all(1).double().numpy())
        np.add.at(counts, of_target, 1)
    return sums / counts


def _scaling(heads: list[int], factors: Float[Tensor, "prompt pos"]) -> Edit:
    def edit(z: Tensor) -> Tensor:
        z = z.clone()
        z[:, :, heads] *= factors[:, :, None, None].to(z)
        return z

    return edit


def _p_values(
    drops: Float[np.ndarray, "function target"],
    controls: Float[np.ndarray, "function target control"],
    places: Sequence[int],
) -> tuple[Float[np.ndarray, " function"], Float[np.ndarray, " function"]]:
    """P values: of the drop on the function's own texts, and of that drop minus the mean drop of the others."""
    p = np.full((2, len(drops)), np.nan)
    for row, place in enumerate(places):
        has_control = ~np.isnan(controls[row, place])
        if np.isnan(drops[row, place]) or not has_control.any():
            continue
        other_functions = [column for column in range(drops.shape[1]) if column != place]
        drop, random = drops[row, place], controls[row, place, has_control]
        p[0, row] = (1 + (random >= drop).sum()) / (1 + has_control.sum())
        if other_functions:
            random = random - controls[row][other_functions][:, has_control].mean(0)
            p[1, row] = (1 + (random >= drop - drops[row, other_functions].mean()).sum()) / (1 + has_control.sum())
    return p[0], p[1]
