"""The heads that steer: named, of this model, and random sets of others beside them."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import xarray as xr

from headcats.errors import DataError, OptionError
from headcats.models import Head, HookedModel
from headcats.random_streams import stream


def named_heads(heads: Any, model: HookedModel) -> tuple[Head, ...]:
    """The heads that a user gave, in any of the forms that `hc.steer` takes (`Any`: others are refused with a word).

    Raises:
        DataError: Something else than heads, none, one twice, one that the model does not have, or a ranking that was
            made on other weights.
    """
    if isinstance(heads, xr.DataTree) or (isinstance(heads, xr.Dataset) and "name" not in heads):
        raise DataError(
            f"hc.steer takes heads, such as hc.steering_heads(results) returns, or their names; got a "
            f"{type(heads).__name__} without names of heads."
        )
    if isinstance(heads, xr.Dataset):
        check_weights(heads, model)
        listed = heads["name"].values.tolist()
    elif isinstance(heads, (str, Head)) or not isinstance(heads, Iterable):
        advice = f" Pass [{str(heads)!r}]." if isinstance(heads, (str, Head)) else f" Pass {_FORMS}, in a list."
        raise DataError(f"hc.steer takes a list of heads; got {heads!r}.{advice}")
    else:
        listed = list(heads)
    named = tuple(map(_head, listed))
    for head in named:
        if not 0 <= head.head < model.n_heads.get(head.layer, 0):
            raise DataError(f"Model {model.name!r} has no head {head}; its layers with heads: {dict(model.n_heads)}.")
    if not named or len(set(named)) < len(named):
        raise DataError(f"Steering needs at least one head, each once; got {', '.join(map(str, named)) or 'none'}.")
    return named


def check_weights(heads: xr.Dataset, model: HookedModel) -> None:
    """Refuse a ranking that names other weights than the model's: L1H6 of one model is not L1H6 of another.

    Raises:
        DataError: The message says how to use these heads all the same.
    """
    told = heads.attrs.get("weights_hash")
    if told and told != model.weights_hash():
        raise DataError(
            f"These heads were ranked on model {heads.attrs.get('model', '?')!r} (weights {told}), and the model to be "
            f"steered is {model.name!r} (weights {model.weights_hash()}). Rank heads with results of this model; or, "
            "to steer with these all the same (another type or class of one model has other weights, too), pass their "
            "names: heads['name'].values.tolist()."
        )


def other_heads(chosen: tuple[Head, ...], model: HookedModel, *, draws: int, seed: int) -> list[tuple[Head, ...]]:
    """Random sets of as many heads that are not among the chosen ones, drawn from all layers.

    Raises:
        OptionError: Fewer others than heads.
    """
    others = [Head(layer, head) for layer in model.layers for head in range(model.n_heads[layer])]
    others = [head for head in others if head not in chosen]
    if len(others) < len(chosen):
        raise OptionError(
            f"{len(chosen)} heads leave {len(others)} others: too few for a random set of the same size. Steer with at "
            f"most half of the model's heads."
        )
    drawn = [stream(seed, "steering control", str(draw)).choice(len(others), len(chosen), replace=False)
             for draw in range(draws)]  # fmt: skip
    return [tuple(others[place] for place in sorted(places)) for places in drawn]


_FORMS = '"L1H6" or hc.Head(1, 6)'


def _head(given: Any) -> Head:
    if isinstance(given, str):
        return Head.parse(given)
    if isinstance(given, (tuple, list)) and len(given) == 2 and all(isinstance(number, Integral) for number in given):
        return Head(*map(int, given))
    raise DataError(f"Expected a head as {_FORMS} (layer, then head, from 0); got {given!r}.")
