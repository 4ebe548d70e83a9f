"""The heads that steer, checked against the model, and random sets of other heads."""

from collections.abc import Iterable
from typing import Any

import xarray as xr

from headcats.errors import DataError, OptionError
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.statistics.random_streams import stream


def named_heads(heads: Any, model: HookedModel) -> tuple[Head, ...]:
    """The user's heads, in any form that `hc.methods.function_vector.steer` takes.

    Raises:
        DataError: No heads, a head twice, one that the model lacks, or a ranking made on other weights.
    """
    if isinstance(heads, xr.DataTree) or (isinstance(heads, xr.Dataset) and "name" not in heads):
        raise DataError(
            f"hc.methods.function_vector.steer takes heads, such as "
            "hc.methods.function_vector.steering_heads(results) returns, or their names; got a "
            f"{type(heads).__name__} without names of heads."
        )
    if isinstance(heads, xr.Dataset):
        check_weights(heads, model)
        items = heads["name"].values.tolist()
    elif isinstance(heads, (str, Head)) or not isinstance(heads, Iterable):
        advice = (
            f" Pass [{str(heads)!r}]."
            if isinstance(heads, (str, Head))
            else ' Pass "L1H6" or hc.Head(1, 6), in a list.'
        )
        raise DataError(f"hc.methods.function_vector.steer takes a list of heads; got {heads!r}.{advice}")
    else:
        items = list(heads)
    parsed = tuple(map(Head.parse, items))
    for head in parsed:
        if not 0 <= head.head < model.n_heads.get(head.layer, 0):
            raise DataError(f"Model {model.name!r} has no head {head}; its layers with heads: {dict(model.n_heads)}.")
    if not parsed or len(set(parsed)) < len(parsed):
        raise DataError(f"Steering needs at least one head, each once; got {', '.join(map(str, parsed)) or 'none'}.")
    return parsed


def check_weights(heads: xr.Dataset, model: HookedModel) -> None:
    """Refuse a ranking that names other weights than the model's: L1H6 of one model is not L1H6 of another.

    Raises:
        DataError: The message says how to use these heads all the same.
    """
    weights = heads.attrs.get("weights_hash")
    if weights and weights != model.weights_hash():
        raise DataError(
            f"These heads were ranked on model {heads.attrs.get('model', '?')!r} (weights {weights}), and the model to "
            f"be steered is {model.name!r} (weights {model.weights_hash()}). Rank heads with results of this model; "
            "or, to steer with these all the same (another type or class of one model has other weights, too), pass "
            "their names: heads['name'].values.tolist()."
        )


def other_heads(heads: tuple[Head, ...], model: HookedModel, *, draws: int, seed: int) -> list[tuple[Head, ...]]:
    """Random sets of as many heads that are not among these, drawn from all layers.

    Raises:
        OptionError: Fewer others than heads.
    """
    pool = [Head(layer, head) for layer in model.layers for head in range(model.n_heads[layer])]
    pool = [head for head in pool if head not in heads]
    if len(pool) < len(heads):
        raise OptionError(
            f"{len(heads)} heads leave {len(pool)} others: too few for a random set of the same size. Steer with at "
            f"most half of the model's heads."
        )
    streams = [stream(seed, "steering control", str(draw)) for draw in range(draws)]
    return [
        tuple(pool[place] for place in sorted(generator.choice(len(pool), len(heads), replace=False)))
        for generator in streams
    ]
