"""What function probes say: accuracies, verdict, agreement of the seeds, and what was left out."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy.stats import spearmanr

from headcats.methods.function_probe.names import NOT_TESTED


def summary(block: xr.Dataset) -> list[str]:
    """Accuracies, verdict, agreement of the seeds, and what was left out or dropped.

    Args:
        block: What `hc.methods.function_probe` returns.
    """
    told = json.loads(block.attrs["provenance"])
    missing = told["n_seeds"] - block.sizes["seed"]
    here = [f"{missing} of {told['n_seeds']} seeds are not here: refused, or not run yet."] if missing else []
    return [*sentences(block), *here, *not_used(told)]


def sentences(probes: xr.Dataset) -> list[str]:
    """What a reader should know of the probes before looking at importance.

    Args:
        probes: What `hc.methods.function_probe` returns.
    """
    first = (
        f"{probes.sizes['seed']} probes of {probes.sizes['function']} functions: right for "
        f"{_span(probes['accuracy'])} of the texts of held-out items (lowest end of a 95 % interval "
        f"{float(probes['accuracy_low'].min()):.3f}, {_chance(probes['chance'])})."
    )
    said = [first]
    tested = int(probes["left_out_accuracy"].notnull().sum())
    if tested:
        said.append(
            f"On tasks that were left out of the training: {_span(probes['left_out_accuracy'])} (lowest end of a 95 % "
            f"interval over tasks {float(probes['left_out_low'].min()):.3f}, "
            f"{_chance(probes['left_out_chance'])}; {tested} of {probes.sizes['seed']} probes)."
        )
    why = _why_not_tested(probes) if probes.attrs["verdict"] == NOT_TESTED else ""
    said.append(f"Verdict: {probes.attrs['verdict']}{why}.")
    if probes.sizes["seed"] > 1:
        said.append(
            "Rank correlation of absolute importance between seeds: "
            + ", ".join(f"{one.function.item()} {one.item():.2f}" for one in seed_agreement(probes))
            + "."
        )
    return said


def not_used(told: Mapping[str, Any]) -> list[str]:
    """What was left out or dropped by what a result tells of itself, one sentence each.

    Args:
        told: Its provenance.
    """
    left_out = [f"Left out: {name} ({why})." for name, why in told["left_out"].items()]
    dropped = [f"Texts: {told['texts']}."] if told.get("dropped") else []
    return [*left_out, *dropped, *(f"Refused: {name}. {why}" for name, why in told["refused"].items())]


def seed_agreement(probes: xr.Dataset) -> xr.DataArray:
    """Mean Spearman correlation of absolute importance between pairs of seeds, per function; NaN for a single seed.

    The mean over a layer's heads is part of every head's feature, so a head leaks into its neighbours, and a single
    probe may rank them in any order.
    """
    absolute: xr.DataArray = abs(probes["importance"])
    flat = absolute.stack(cell=("layer", "head")).dropna("cell")
    values = flat.transpose("seed", "function", "cell").values
    return xr.DataArray(
        [_mean_correlation(values[:, row]) for row in range(values.shape[1])],
        coords={"function": probes["function"]},
        dims="function",
    )


def _mean_correlation(values: Float[np.ndarray, "seed cell"]) -> float:
    pairs = list(itertools.combinations(values, 2))
    return float(np.mean([spearmanr(one, other).statistic for one, other in pairs])) if pairs else float("nan")


def _chance(values: xr.DataArray) -> str:
    """Chance, as figures give it: the mean of the probes, each of which holds out other texts."""
    return f"chance {float(values.mean()):.3f}" + (", mean of the probes" if values.notnull().sum() > 1 else "")


def _why_not_tested(probes: xr.Dataset) -> str:
    functions = [str(name) for name in probes["task_function"].values]
    several = [name for name in dict.fromkeys(functions) if functions.count(name) > 1]
    if len(several) > 1:
        return ": no probe that leaves tasks out is here (the first seeds do)"
    who = f"only {several[0]} has" if several else "none has"
    return f": that takes two functions with two tasks or more each, and {who} them"


def _span(values: xr.DataArray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.3f}" if round(low, 3) == round(high, 3) else f"{low:.3f} to {high:.3f}"
