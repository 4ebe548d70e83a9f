"""What function probes say: verdict, accuracies, agreement of the seeds, and what was left out."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError

SEPARATES_FUNCTIONS = "separates functions"
SEPARATES_TASKS = "separates tasks, not functions"
NOT_TESTED = "not tested across tasks"
NOT_ABOVE_CHANCE = "not above chance"
TOO_FEW_SEEDS = "too few seeds"
_ALPHA = 0.05
SAYING_NOTHING = (NOT_ABOVE_CHANCE, TOO_FEW_SEEDS)
"""Verdicts on probes whose importance is not shown."""


def verdict(probes: xr.Dataset, *, n_seeds: int = 1) -> str:
    """Verdict that the intervals of held-out items, then of left-out tasks, allow, by the least favourable seed."""
    if not most_seeds_fitted(probes.sizes["seed"], n_seeds):
        return TOO_FEW_SEEDS
    if not bool((probes["accuracy_low"] > probes["chance"]).all()):
        return NOT_ABOVE_CHANCE
    tested = probes["left_out_accuracy"].notnull()
    if not bool(tested.any()):
        return NOT_TESTED
    above = probes["left_out_low"] > probes["left_out_chance"]
    return SEPARATES_FUNCTIONS if bool(above.where(tested, True).all()) else SEPARATES_TASKS


def most_seeds_fitted(n_fitted: int, n_seeds: int) -> bool:
    """True if more than half of the seeds have a probe: even without any signal, one in forty is above chance."""
    return 2 * n_fitted > n_seeds


def summary(block: xr.Dataset) -> list[str]:
    """Sentences on what `function_probe` returns: accuracies, verdict, agreement of the seeds, what was left out."""
    lines, provenance = sentences(block), json.loads(block.attrs["provenance"])
    n_seeds = provenance["n_seeds"]
    if missing := n_seeds - block.sizes["seed"]:
        lines.append(f"{missing} of {n_seeds} seeds are missing: they failed, or were not run yet.")
    return [*lines, *not_used(provenance)]


def sentences(probes: xr.Dataset) -> list[str]:
    """Accuracies, verdict and agreement of the seeds: what to know before looking at importance."""
    n_seeds, n_tested = probes.sizes["seed"], int(probes["left_out_accuracy"].notnull().sum())
    accuracy = (
        f"{n_seeds} probes of {probes.sizes['function']} functions: right for {_span(probes['accuracy'])} of the texts "
        f"of held-out items (lowest end of a 95 % interval {float(probes['accuracy_low'].min()):.3f}, "
        f"{_chance(probes['chance'])})."
    )
    lines = [accuracy]
    if n_tested:
        lines.append(
            f"On tasks that were left out of the training: {_span(probes['left_out_accuracy'])} (lowest end of a 95 % "
            f"interval over tasks {float(probes['left_out_low'].min()):.3f}, {_chance(probes['left_out_chance'])}; "
            f"{n_tested} of {n_seeds} probes)."
        )
    lines.append(_beside_words(probes))
    reason = _why_not_tested(probes) if probes.attrs["verdict"] == NOT_TESTED else ""
    lines.append(f"Verdict: {probes.attrs['verdict']}{reason}.")
    if n_seeds > 1:
        agreement = ", ".join(f"{name} {value:.2f}" for name, value in seed_agreement(probes).to_series().items())
        lines.append(f"Rank correlation of absolute importance between seeds: {agreement}.")
    return lines


def not_used(provenance: Mapping[str, Any]) -> list[str]:
    """List what a result left out: functions, tasks, texts, and seeds without convergence or not above chance."""
    left_out = [f"Left out: {name} ({reason})." for name, reason in provenance["left_out"].items()]
    dropped = [f"Texts: {provenance['texts']}."] if provenance.get("dropped") else []
    return [*left_out, *dropped, *(f"Failed: {name}. {reason}" for name, reason in provenance["refused"].items())]


def seed_agreement(probes: xr.Dataset) -> xr.DataArray:
    """Mean Spearman correlation of absolute importance between pairs of seeds, per function; NaN for a single seed."""
    flat = abs(probes["importance"]).stack(cell=("layer", "head")).transpose("function", "cell", "seed")
    pairs = np.triu_indices(probes.sizes["seed"], k=1)
    means = [pd.DataFrame(values).corr("spearman").to_numpy()[pairs] for values in flat.values]
    agreement = [row.mean() if row.size else math.nan for row in means]
    return xr.DataArray(agreement, {"function": probes["function"]}, "function")


def accuracies(probe: xr.Dataset) -> list[str]:
    """Held-out and leave-one-task-out accuracy for captions: of several seeds the mean, and the widest interval."""
    parts = []
    for name, title, prefix in (
        ("accuracy", "held-out accuracy", ""),
        ("left_out_accuracy", "leave-one-task-out accuracy", "left_out_"),
    ):
        if name in probe and math.isnan(share := float(probe[name].mean())):
            parts.append(f"{title} unknown")
        elif name in probe:
            low, high = (f"{prefix or 'accuracy_'}{end}" for end in ("low", "high"))
            has_interval = low in probe and bool(probe[low].notnull().any())
            interval = f" [{float(probe[low].min()):.3f}, {float(probe[high].max()):.3f}]" if has_interval else ""
            chance = next((key for key in (f"{prefix}chance", "chance") if key in probe), "")
            beside = f" (chance {float(probe[chance].mean()):.3f})" if chance else ""
            parts.append(f"{title} {share:.3f}{interval}{beside}")
    if parts and probe.sizes.get("seed", 1) > 1:
        parts.append(f"{probe.sizes['seed']} probe seeds: mean accuracy and chance, widest interval")
    return parts


def refuse_chance(probe: xr.Dataset) -> None:
    """A DataError with the accuracies for a probe that is not above chance, or has too few seeds to tell."""
    text = "; ".join(accuracies(probe)) or "no accuracy is stored"
    if probe.attrs.get("verdict") == TOO_FEW_SEEDS:
        raise DataError(
            f"importance_grid expects a probe with more than half of its seeds; this one has "
            f"{probe.sizes.get('seed', 0)}, the others failed or were not run yet ({text}). Single seeds are above "
            "chance without any signal: finish the run, or give it more items per function."
        )
    if probe.attrs.get("verdict") == NOT_ABOVE_CHANCE:
        raise DataError(
            f"importance_grid expects a probe whose held-out accuracy is above chance; this one is not ({text}), so "
            "its importance means nothing. Give it more items per function, or functions that the model tells apart."
        )


def _chance(values: xr.DataArray) -> str:
    """Chance, as figures give it: the mean of the probes, each of which holds out other texts."""
    return f"chance {float(values.mean()):.3f}" + (", mean of the probes" if values.notnull().sum() > 1 else "")


def _beside_words(probes: xr.Dataset) -> str:
    """Say if heads tell more of the function than the answer's words, by the least favourable seed."""
    difference, p = probes["accuracy"] - probes["word_accuracy"], float(probes["word_p"].max())
    right = f"A probe of the answer's words alone is right for {_span(probes['word_accuracy'])}"
    for sign, compared in ((1, "more"), (-1, "less")):
        if p <= _ALPHA and bool((sign * difference > 0).all()):
            return f"{right}; the heads say {compared} of the function than the words (largest p {p:.2g})."
    return f"{right}; that the heads say more of the function than the words is not shown (largest p {p:.2g})."


def _why_not_tested(probes: xr.Dataset) -> str:
    counts = pd.Series(probes["task_function"].values.astype(str)).value_counts(sort=False)
    several = counts.index[counts > 1].tolist()
    if len(several) > 1:
        return ": no probe that leaves tasks out is among them (the first seeds do)"
    return f": fewer than two functions have two tasks or more ({', '.join(several) or 'none'})"


def _span(values: xr.DataArray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.3f}" if round(low, 3) == round(high, 3) else f"{low:.3f} to {high:.3f}"
