"""Which heads of a category are looked at, and on which of its tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, UnknownNameError
from headcats.categories.map_spec import MapSpec, resolve_tested
from headcats.categories.map_tables import kept_map
from headcats.categories.membership import categorize
from headcats.models.head import Head
from headcats.reports.text.suggestions import how_to_add
from headcats.results.declaration import default_methods, registered, registered_declarations
from headcats.results.finding import Finding, line
from headcats.results.label import Label
from headcats.results.run_results import RunResults

_STATUS = {1: "in", 0: "undecided", -1: "out"}


@dataclass(frozen=True)
class ShownHead:
    """A head and its numbers in a category; low, high and q are NaN where there are none.

    Attributes:
        status: "in", "undecided" or "out".
        effect: Of the category, in shares of the gap; by weights, its largest score.
        tasks: Tasks of the category in which it is in on its own.
    """

    head: Head
    status: str
    effect: float
    low: float
    high: float
    q: float
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class Chosen:
    """Heads and tasks of one category.

    Attributes:
        heads: That with the largest effect first.
        tasks: Those that have numbers, those first that most of the heads pass.
        why: Why these heads.
    """

    category: str
    heads: tuple[ShownHead, ...]
    tasks: tuple[str, ...]
    why: Finding


@dataclass(frozen=True)
class Choice:
    """Heads and tasks of every category.

    Attributes:
        by: Method, metric and rule in a line.
        label: The method@positions, or joint method.
        measure: What `effect` is.
        left_out: Category without heads to show -> why it has none.
    """

    by: str
    label: str
    measure: str
    categories: tuple[Chosen, ...]
    left_out: dict[str, Finding]


def choose(run: RunResults, reading: MapSpec, *, heads: int) -> Choice:
    """At most so many heads with the largest effect in each category: its members, or else undecided ones.

    The method of the reading may be a joint one that sorts heads. Without a method, it is the first exact one that was
    scored task by task, or else the first joint one that sorts heads.

    Raises:
        DataError: No results that say which heads a category has, or no category with a head to show.
        OptionError: A control, or several positions and none chosen.
        UnknownNameError: A method or metric that the results do not hold.
    """
    method = str(reading.label)
    if method in run.joint_blocks or registered(method).kind == "joint" or not (method or run.tasks):
        label = _sorting_label(run, method)
        block, declared = run.joint_blocks[label], run.declarations[label]
        selection = declared.selection
        assert selection is not None  # `_sorting_label` chose it for that
        members = categorize(block, rule=reading.named_rule, min_tasks=reading.named_min_tasks)
        by_task = selection.over == "task"
        scores = block[selection.variable] if by_task else _by_task(members, run.manifest.joint_blocks[label].tasks)
        by = str(line("attention.by_block", label=label, cost=declared.cost, rule=members.attrs["rule"]))
        measure = selection.text
    else:
        reading = resolve_tested(reading, run)
        label = str(reading.label)
        tables = kept_map(run.without_untried(), reading)
        members, scores, by = tables["members"], tables["scores"]["effect"], reading.title
        measure = str(line("attention.effect"))
    chosen = {name: _choose_heads(members, scores, name, heads) for name in members["category"].values.tolist()}
    left_out = {name: reason for name, reason in chosen.items() if isinstance(reason, Finding)}
    if len(left_out) == len(chosen):
        reasons = [f"{name}: {reason}" for name, reason in left_out.items()]
        raise DataError(str(line("attention.no_category", reasons=reasons)))
    return Choice(by, label, measure, tuple(each for each in chosen.values() if isinstance(each, Chosen)), left_out)


def _by_task(members: xr.Dataset, categories: Mapping[str, str]) -> xr.DataArray:
    """The scores of every category for each of its tasks, of a method that does not tell these apart."""
    judged = set(members["category"].values.tolist())
    tasks = {name: category for name, category in categories.items() if category in judged}
    of_task = members["effect"].sel(category=xr.DataArray(list(tasks.values()), dims="task"))
    return of_task.assign_coords(task=list(tasks))


def _choose_heads(members: xr.Dataset, scores: xr.DataArray, category: str, heads: int) -> Chosen | Finding:
    """The heads and tasks of a category, or why there are none to show."""
    row = members.sel(category=category).transpose(..., "layer", "head")
    effect, outcome = row["effect"].values, row["member"].values
    finite = np.isfinite(effect)
    if not finite.any():
        return line("attention.no_numbers")
    inside = finite & (outcome == 1)
    candidates = inside if inside.any() else finite & (outcome == 0) & (effect > 0)
    if not candidates.any():
        return line("attention.no_head")
    places = np.argwhere(candidates)
    places = places[np.argsort(-effect[candidates], kind="stable")][:heads]
    largest = tuple(_shown_head(row.isel(layer=layer, head=head)) for layer, head in places.tolist())
    reason = str(members.attrs.get("not_judged", "")).rstrip(".")
    if inside.any():
        id = {1: "only", 2: "both"}.get(len(largest), "all") if len(largest) == inside.sum() else "largest"
    else:
        id = "not_judged" if reason else "undecided"
    why = line(f"attention.why_{id}", category=category, shown=len(largest), n=int(candidates.sum()), reason=reason)
    return Chosen(category, largest, _tasks(scores, category, largest), why)


def _shown_head(cell: xr.Dataset) -> ShownHead:
    head = Head(int(cell["layer"]), int(cell["head"]))
    effect, low, high, q = (float(cell[name]) for name in ("effect", "low", "high", "q_value"))
    tasks = tuple(filter(None, str(cell["tasks"].item()).split(",")))
    return ShownHead(head, _STATUS[int(cell["member"])], effect, low, high, q, tasks)


def _tasks(scores: xr.DataArray, category: str, heads: Sequence[ShownHead]) -> tuple[str, ...]:
    """Tasks of a category with numbers, those first that most of the heads pass, then by the sum of their effects."""
    scores = scores.isel(task=np.flatnonzero(scores["category"].values == category))
    scores = scores.isel(task=np.flatnonzero(scores.notnull().any(("layer", "head")).values))
    names = [str(name) for name in scores["task"].values]
    passed = {name: sum(name in head.tasks for head in heads) for name in names}
    cells = [scores.sel(layer=head.head.layer, head=head.head.head) for head in heads]
    total = dict(zip(names, np.nansum([cell.values for cell in cells], axis=0).tolist(), strict=True))
    return tuple(sorted(names, key=lambda name: (-passed[name], -total[name])))


def _sorting_label(run: RunResults, method: str) -> str:
    """The joint method of the run that sorts heads: `method`, or the first for ""."""
    manifest, first = run.manifest, default_methods()[0]
    for label in run.sorting_methods:
        if method in ("", label, Label.parse(label).name):
            return label
    if not method:
        contents = line("attention.contents", labels=list(run.joint_blocks)) if run.joint_blocks else None
        advice = line("attention.no_demonstrations") if manifest.plan.n_demos == 0 else how_to_add(first, manifest)
        raise DataError(str(line("attention.no_categories", contents=contents, method=first, advice=advice)))
    if registered(method).selection:
        raise UnknownNameError(str(line("suggestion.lacking", method=method, advice=how_to_add(method, manifest))))
    sorting = [name for name, about in registered_declarations().items() if about.selection]
    raise DataError(str(line("attention.sorts_no_heads", method=method, first=first, sorting=sorting)))
