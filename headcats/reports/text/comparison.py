"""Findings of a comparison: methods on one grid, plans of several results, and the members of runs side by side."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from headcats.categories.outcome import IN, NOT_JUDGED, OUT, outcomes
from headcats.evidence.comparison.runs import TASKS, Runs
from headcats.reports.text.maps import pairwise
from headcats.results.finding import Finding, Short, Table, first_names, line, number_text, paragraph, table
from headcats.results.head_axes import cell_name, unit_of

MOVES = "moves"
"""Column whose text in a row, `MOVES_MARK`, the page's filter looks for."""
MOVES_MARK = "↔ moves"
NAMED_TASKS = 5  # more tasks are counted, not named
_HEADLINE = 3  # so many heads that move are named in the headline; more are counted


def method_findings(agreement: xr.Dataset) -> Iterator[Finding]:
    """Findings on `hc.evidence.method_agreement`: rank correlations by group."""
    methods = zip(agreement["method"].values, agreement["reduction"].values, strict=True)
    rows = [[str(number), str(name), str(strength)] for number, (name, strength) in enumerate(methods, start=1)]
    yield table("methods.grid", ["", "method", "strength of a head"], rows)
    for label, reason in json.loads(agreement.attrs["left_out"]).items():
        yield line("agreement.left_out", name=label, reason=reason)
    yield paragraph("methods.matrices")
    for group in agreement["group"].values:
        yield _method_matrix(agreement.sel(group=group), str(group))
    yield paragraph("methods.caution")


def _method_matrix(agreement: xr.Dataset, group: str) -> Table:
    numbers = [str(place + 1) for place in range(agreement.sizes["method"])]
    columns, rows = pairwise(agreement, "method", numbers, _method_cell)
    return table("methods.matrix", columns, rows, numeric=columns[1:], group=group)


def _method_cell(pair: xr.Dataset) -> str:
    if not pair["rank_correlation"].notnull():
        return "-"
    return "{} ({})".format(*(number_text(pair[name]) for name in ("rank_correlation", "layer_correlation")))


def plan_findings(runs: Runs) -> Iterator[Finding]:
    """The differences of the plans, the models and the scored tasks of runs."""
    differing = dict(runs.differences)
    tasks = differing.pop(TASKS, None)
    rows = [[part, *map(value_text, values)] for part, values in differing.items()]
    if tasks is not None:
        rows.append([TASKS, *_task_texts(tasks)])
    yield table("plans.differences", ["", *runs], rows) if rows else line("plans.same")


def value_text(value: object) -> str:
    """A value of a plan; lists with commas."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _task_texts(tasks: Sequence[list[str]]) -> list[str]:
    """Count the tasks of each run, and name those that it lacks."""
    union = sorted({task for names in tasks for task in names})
    lacking = [[task for task in union if task not in names] for names in tasks]
    return [
        f"{len(names)}{f', without {first_names(absent, NAMED_TASKS)}' if absent else ''}"
        for names, absent in zip(tasks, lacking, strict=True)
    ]


def short_methods(agreement: xr.Dataset, *, next_command: str) -> Short:
    """Make the answer on methods on one grid: which they are."""
    grid, *left_out = (each for each in method_findings(agreement) if each.id in ("methods.grid", "agreement.left_out"))
    assert isinstance(grid, Table)
    listed = replace(grid, id="text.untitled")
    count = line("methods.count", n=agreement.sizes["method"], groups=agreement.sizes["group"])
    return Short((count,), lambda most: listed, (), (line("methods.caution"), *left_out), next_command)


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
    in_all = set[str].intersection(*(set(overlap["category"].values.tolist()) for overlap in overlaps.values()))
    for category in [name for name in first["category"].values.tolist() if name in in_all]:
        tables = [overlap.sel(category=category).transpose("layer", "head", ...) for overlap in overlaps.values()]
        effects = np.stack([table["effect"].to_numpy() for table in tables])
        verdicts = np.stack([outcomes(table).to_numpy() for table in tables])
        unknown = xr.full_like(tables[0]["effect"], np.nan)
        held = np.stack([table.get("probability", unknown).to_numpy() for table in tables])
        tested = _tested(changes, category, effects.shape[1:])
        places = np.argwhere((verdicts == IN).any(0))
        largest = np.nanmax(np.abs(effects[:, places[:, 0], places[:, 1]]), axis=0, initial=0.0)
        for i, j in places[np.argsort(-largest, kind="stable")].tolist():
            of_runs = (dict(zip(names, values[:, i, j].tolist(), strict=True)) for values in (verdicts, effects, held))
            of_verdicts, of_effects, of_held = of_runs
            name, counts = cell_name(layers[i], heads[j], unit), tested[:, i, j].tolist()
            listed.append(Membership(name, category, of_verdicts, of_effects, of_held, *counts))
    return listed


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
    if len(moving) > _HEADLINE:
        return [line("several.many_moving", n=len(moving))]
    return [line("several.head_of", head=each.head, category=each.category) for each in moving]


def _tested(changes: xr.Dataset | None, category: str, shape: tuple[int, ...]) -> np.ndarray:
    """Count, for every head, tested pairs of runs in which the call changes, and those with a difference."""
    if changes is None:
        return np.zeros((2, *shape), dtype=int)
    cell = changes.sel(category=category).transpose("revision", "layer", "head", ...)
    is_tested = (cell["change"] != 0) & cell["difference_p"].notnull()
    return np.stack([is_tested.sum("revision").to_numpy(), cell["change_found"].sum("revision").to_numpy()])


def membership_table(rows: Sequence[Membership], names: Sequence[str], *, method: str) -> Table:
    """List heads with their category, and effect, verdict and certainty in every run, by name."""
    has_unsure = any(each.moves for each in rows)
    cells = [
        [
            each.head,
            each.category,
            *(effect_text(each, name) for name in names),
            *([MOVES_MARK if each.moves else "", how_sure(each)] if has_unsure else []),
        ]
        for each in rows
    ]
    columns = ["head", "category", *names, *([MOVES, "how sure"] if has_unsure else [])]
    return table("several.heads", columns, cells, numeric=list(names), method=method)


def effect_text(each: Membership, name: str) -> str:
    """Effect and verdict in a run, with the share of resamples for a member."""
    verdict, effect, held = each.verdicts[name], each.effects[name], each.probabilities[name]
    if verdict == NOT_JUDGED:
        return "-"
    share = f" ({held:.0%})" if verdict == IN and np.isfinite(held) else ""
    return f"{number_text(effect, 3)} {verdict}{share}"
