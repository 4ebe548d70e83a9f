"""Which heads of a category are looked at, and on which of its tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headcats.categories.by_relation import relation_members
from headcats.categories.reading import Reading, map_tables, resolve_tested
from headcats.errors import DataError, HeadcatsError, UnknownNameError, pluralize
from headcats.models.head import Head
from headcats.reports.text.suggestions import how_to_add
from headcats.results.declaration import default_methods, registered, registered_declarations
from headcats.results.label import Label
from headcats.results.manifest import Manifest
from headcats.results.tree import declarations, drop_untried_categories, manifest_of, suite_blocks, task_nodes
from headcats.rules.rule import Rule

_STATUS = {1: "in", 0: "undecided", -1: "out"}
_ALL = {1: "The one head", 2: "Both heads"}


@dataclass(frozen=True)
class ShownHead:
    """A head and its numbers in a category.

    Attributes:
        head: The head.
        status: "in", "undecided" or "out".
        effect: Of the category, in shares of the gap; by weights, its largest score.
        low: Lower end of the 95 % interval; NaN where there is none.
        high: Upper end.
        q: Corrected p value; NaN where there is none.
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
        category: Its name.
        heads: The heads, that with the largest effect first.
        tasks: Its tasks that have numbers, those first that most of the heads pass.
        why: Why these heads, in a sentence.
    """

    category: str
    heads: tuple[ShownHead, ...]
    tasks: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Choice:
    """Heads and tasks of every category.

    Attributes:
        by: Method, metric and rule in a line.
        measure: What `effect` is, in words.
        categories: Those with heads to show.
        left_out: Category -> why it has none.
    """

    by: str
    measure: str
    categories: tuple[Chosen, ...]
    left_out: dict[str, str]


def choose(
    results: xr.DataTree,
    *,
    method: str | None,
    metric: str | None,
    rule: Rule | None,
    min_tasks: int | str,
    heads: int,
) -> Choice:
    """The heads with the largest effect in each category: its members, or else undecided ones.

    Args:
        results: As `hc.load` returns them.
        method: As `name` or `name@positions`, or a joint method that sorts heads; None takes the first exact
            one that was scored task by task, or else the first that sorts heads.
        metric: Metric; None takes the first of the run.
        rule: Rule of membership; None takes `fdr()`.
        min_tasks: As in `hc.categorize`.
        heads: How many of each category at most.

    Raises:
        DataError: No results that say which heads a category has, or no category with a head to show.
        OptionError: A control, or several positions and none chosen.
        UnknownNameError: A method or metric that the results do not hold.
    """
    blocks = suite_blocks(results)
    declared = declarations(results)
    sorting = [label for label in blocks if declared[label].sorts_heads]
    if method in blocks or (method and registered(method).kind == "joint") or not (method or task_nodes(results)):
        labels = [label for label in sorting if method in (None, label, Label.parse(label).name)]
        if not labels:
            raise _nothing_to_choose_by(method, list(blocks), manifest_of(results))
        label = labels[0]
        relations, about = blocks[label], declared[label]
        members, scores = relation_members(relations), relations["score"]
        by = f"{label} ({about.cost}), rule {members.attrs['rule']}"
        measure = about.strength.unit if about.strength else ""
    else:
        reading = resolve_tested(Reading.parse(method=method, metric=metric, rule=rule, min_tasks=min_tasks), results)
        tables = map_tables(drop_untried_categories(results), reading)
        members, scores, by = tables["members"], tables["scores"]["effect"], reading.title
        measure = "share of the gap between the clean and the corrupted prompt; positive = the head helps"
    categories, left_out = [], {}
    for category in members["category"].values.tolist():
        heads_or_reason = _choose_heads(members.sel(category=category), scores, category, heads)
        if isinstance(heads_or_reason, str):
            left_out[category] = heads_or_reason
        else:
            categories.append(heads_or_reason)
    if not categories:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise DataError(
            f"No category has a head to look at ({reasons}). Score more tasks or prompts, or another method."
        )
    return Choice(by, measure, tuple(categories), left_out)


def _choose_heads(members: xr.Dataset, scores: xr.DataArray, category: str, heads: int) -> Chosen | str:
    """The heads and tasks of a category, or why there are none to show."""
    effect = members["effect"].transpose("layer", "head").values
    outcome = members["member"].transpose("layer", "head").values
    finite = np.isfinite(effect)
    if not finite.any():
        return "it has no task with numbers"
    if (outcome[finite] == 1).any():
        candidates, kind = finite & (outcome == 1), "in"
    else:
        candidates, kind = finite & (outcome == 0) & (effect > 0), "undecided"
        if not candidates.any():
            return "no head is in it, and no head that is undecided has an effect above 0"
    places = np.argwhere(candidates)
    places = places[np.argsort(-effect[candidates], kind="stable")][:heads]
    largest = tuple(_shown_head(members.isel(layer=layer, head=head)) for layer, head in places.tolist())
    return Chosen(
        category, largest, _tasks(scores, category, largest), _why(members, category, kind, candidates, largest)
    )


def _shown_head(cell: xr.Dataset) -> ShownHead:
    return ShownHead(
        head=Head(int(cell["layer"]), int(cell["head"])),
        status=_STATUS[int(cell["member"])],
        effect=float(cell["effect"]),
        low=float(cell["low"]),
        high=float(cell["high"]),
        q=float(cell["q_value"]),
        tasks=tuple(filter(None, str(cell["tasks"].item()).split(","))),
    )


def _tasks(scores: xr.DataArray, category: str, heads: Sequence[ShownHead]) -> tuple[str, ...]:
    """Tasks of a category with numbers, those first that most of the heads pass, then by the sum of their effects."""
    scores = scores.isel(task=np.flatnonzero(scores["category"].values == category))
    scores = scores.isel(task=np.flatnonzero(scores.notnull().any(("layer", "head")).values))
    names = [str(name) for name in scores["task"].values]
    passed = {name: sum(name in head.tasks for head in heads) for name in names}
    cells = [scores.sel(layer=head.head.layer, head=head.head.head) for head in heads]
    total = dict(zip(names, np.nansum([cell.values for cell in cells], axis=0).tolist(), strict=True))
    return tuple(sorted(names, key=lambda name: (-passed[name], -total[name])))


def _why(members: xr.Dataset, category: str, kind: str, candidates: np.ndarray, heads: Sequence[ShownHead]) -> str:
    n = int(candidates.sum())
    if kind == "in":
        if n == len(heads):
            return f"{_ALL.get(n, f'All {n} heads')} of {category}."
        return f"The {pluralize(len(heads), 'head')} of {category} with the largest effect, of {n}."
    those = f"{pluralize(len(heads), 'head')} with the largest effect"
    if reason := str(members.attrs.get("not_judged", "")):
        return f"No head could be judged ({reason.rstrip('.')}). Shown are the {those}."
    return f"No head is in {category} by this rule. Shown are the undecided {those}, of {n}."


def _nothing_to_choose_by(method: str | None, labels: Sequence[str], manifest: Manifest) -> HeadcatsError:
    if method is not None and registered(method).sorts_heads:
        return UnknownNameError(f"These results hold no {method}: {how_to_add(method, manifest)}")
    first = default_methods()[0]
    if method is not None:
        sorting = [name for name, about in registered_declarations().items() if about.sorts_heads]
        return DataError(
            f"{method} says nothing about single categories and their heads. Attention views take a method that scores "
            f"task by task, such as {first}, or {' or '.join(sorting)}."
        )
    contents = f" (they hold {', '.join(labels)})" if labels else ""
    advice = how_to_add(first, manifest)
    if manifest.plan.n_demos == 0:
        advice = "these prompts have no demonstrations to corrupt, so `headcats run --out NEW_DIR` makes other results."
    return DataError(
        f"Attention views show the heads of categories, and these results say nothing about those{contents}. A method "
        f"that scores task by task is needed, such as {first}: {advice}"
    )
