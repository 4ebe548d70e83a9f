"""Findings on runs whose heads correspond: which memberships all have, which move, and how sure that is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headcats.categories.outcome import IN, NOT_JUDGED, OUT, outcomes
from headcats.results.finding import Finding, line, number_text
from headcats.results.head_axes import cell_name, unit_of

_HEADLINE = 3
"""Heads that move and are named in the headline before they are counted."""


@dataclass(frozen=True)
class Membership:
    """A head that is in a category in at least one run; verdicts, effects and resampled shares by run.

    `n_changes` counts tested pairs of consecutive runs whose calls differ, `n_found` those with a difference.
    """

    head: str
    category: str
    verdicts: Mapping[str, str]
    effects: Mapping[str, float]
    probabilities: Mapping[str, float]
    n_changes: int = 0
    n_found: int = 0

    @property
    def moves(self) -> bool:
        """True if a run that judges the category does not have the head in it."""
        return bool(self._elsewhere)

    @property
    def is_decided(self) -> bool:
        """True if one run includes the head and another excludes it; undecided in the others is no difference."""
        return OUT in self._elsewhere

    @property
    def _elsewhere(self) -> set[str]:
        return set(self.verdicts.values()) - {IN, NOT_JUDGED}


def memberships(overlaps: Mapping[str, xr.Dataset], changes: xr.Dataset | None = None) -> list[Membership]:
    """List every head that any run has in a category that all runs have, the largest effects first."""
    names = list(overlaps)
    first = overlaps[names[0]]
    layers, heads, unit = first["layer"].values, first["head"].values, unit_of(first)
    listed = []
    for category in common_categories(overlaps):
        tables = [overlap.sel(category=category).transpose("layer", "head", ...) for overlap in overlaps.values()]
        effects = np.stack([table["effect"].to_numpy() for table in tables])
        verdicts = np.stack([outcomes(table).to_numpy() for table in tables])
        held = np.stack([_probability(table) for table in tables])
        tested = _tested(changes, category, effects.shape[1:])
        places = np.argwhere((verdicts == IN).any(0))
        largest = np.nanmax(np.abs(effects[:, places[:, 0], places[:, 1]]), axis=0, initial=0.0)
        for i, j in places[np.argsort(-largest, kind="stable")].tolist():
            of_runs = (dict(zip(names, values[:, i, j].tolist(), strict=True)) for values in (verdicts, effects, held))
            of_verdicts, of_effects, of_held = of_runs
            name, counts = cell_name(layers[i], heads[j], unit), tested[:, i, j].tolist()
            listed.append(Membership(name, category, of_verdicts, of_effects, of_held, *counts))
    return listed


def common_categories(overlaps: Mapping[str, xr.Dataset]) -> list[str]:
    """Categories that all have, in the order of the first."""
    names = [overlap["category"].values.tolist() for overlap in overlaps.values()]
    return [name for name in names[0] if all(name in of_run for of_run in names)]


def agreeing(listed: Sequence[Membership], *, n_runs: int) -> Iterator[Finding]:
    """Say what agrees and what moves, in one or two sentences."""
    if not listed:
        yield line("several.none")
        return
    moving = [each for each in listed if each.moves]
    if judged := [each for each in listed if NOT_JUDGED not in each.verdicts.values()]:
        runs = line("several.both" if n_runs == 2 else "several.all", n=n_runs)
        same = sum(not each.moves for each in judged)
        yield line("several.same", same=same, n=len(judged), runs=runs)
    if unjudged := len(listed) - len(judged):
        yield line("several.unjudged", n=unjudged)
    for id, is_decided in (("several.moving_decided", True), ("several.moving_open", False)):
        if of_kind := [each for each in moving if each.is_decided == is_decided]:
            yield line(id, heads=_spelled(of_kind), n=len(of_kind))


def sureness(changes: xr.Dataset) -> Finding:
    """Say how many changes of a call are differences of effects."""
    if not int(changes["n_compared"].sum()):
        return line("several.no_test")
    calls, differences = int((changes["change"] != 0).sum()), int(changes["change_found"].sum())
    return line("several.tested", calls=calls, found=differences, alpha=changes.attrs["alpha"])


def how_sure(each: Membership) -> str:
    """Certainty of a head that moves; "" for one that does not."""
    if not each.moves:
        return ""
    verdicts = "in and out" if each.is_decided else "undecided elsewhere"
    if not each.n_changes:
        return verdicts
    if each.n_changes == 1:
        return f"{verdicts}, {'a' if each.n_found else 'no'} difference found"
    return f"{verdicts}, a difference found in {each.n_found} of {each.n_changes} changes"


def _spelled(moving: Sequence[Membership]) -> list[Finding]:
    """Heads with their categories, or their number."""
    if len(moving) > _HEADLINE:
        return [line("several.many_moving", n=len(moving))]
    return [line("several.head_of", head=each.head, category=each.category) for each in moving]


def _probability(table: xr.Dataset) -> np.ndarray:
    has_any = "probability" in table
    return table["probability"].to_numpy() if has_any else np.full(table["effect"].shape, np.nan)


def _tested(changes: xr.Dataset | None, category: str, shape: tuple[int, ...]) -> np.ndarray:
    """Count, for every head, tested pairs of runs in which the call changes, and those with a difference."""
    if changes is None:
        return np.zeros((2, *shape), dtype=int)
    cell = changes.sel(category=category).transpose("revision", "layer", "head", ...)
    is_tested = (cell["change"] != 0) & cell["difference_p"].notnull()
    return np.stack([is_tested.sum("revision").to_numpy(), cell["change_found"].sum("revision").to_numpy()])


def effect_text(each: Membership, name: str) -> str:
    """Effect and verdict in a run, with the share of resamples for a member."""
    verdict, effect, held = each.verdicts[name], each.effects[name], each.probabilities[name]
    if verdict == NOT_JUDGED:
        return "-"
    share = f" ({held:.0%})" if verdict == IN and np.isfinite(held) else ""
    return f"{number_text(effect, 3)} {verdict}{share}"
