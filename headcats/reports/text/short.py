"""Views of a map in text: the short answer that a command ends in, and all details."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

import xarray as xr

from headcats.categories.map_result import CategoryHeads, MapResult
from headcats.evidence.verdicts import INCONCLUSIVE
from headcats.reports.text.answer import (
    CategoryRow,
    approximated,
    category_rows,
    cautions,
    contradictions,
    headline,
    resampled,
    shared_by_chance,
    who_serves_what,
)
from headcats.reports.text.joint_blocks import block_findings, saturates, suite_findings
from headcats.reports.text.maps import count_findings, map_findings
from headcats.results.finding import Finding, Table, first_names, line, table

_EVERY = 10_000  # heads of a cell of the details


@dataclass(frozen=True)
class Short:
    """An answer that fits on a screen.

    Attributes:
        verdict: Sentences, the weightiest first.
        table: How many names a cell may hold -> the table; None where there is nothing to list.
        below: What stands below the table.
        warnings: The weightiest first.
        next_command: What to do now; "" where nothing suggests itself.
        colours: Category -> its colour, `#rrggbb`.
        details: The option, or the command, that prints everything.
    """

    verdict: tuple[Finding, ...]
    table: Callable[[int], Table] | None
    below: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    next_command: str = ""
    colours: Mapping[str, str] = field(default_factory=dict)
    details: str = "--details"


def short_map(
    result: MapResult,
    *,
    foremost: Iterable[Finding] = (),
    warnings: Iterable[Finding] = (),
    next_command: str = "",
    colours: Mapping[str, str] = MappingProxyType({}),
) -> Short:
    """The short answer on a map: the same for `run`, `map` and `evidence`.

    Args:
        result: Heads of every category.
        foremost: Warnings that bear on every number.
        warnings: Further ones, which come behind what contradicts the map.
        next_command: What to do now; "" for nothing.
        colours: Category -> its colour.
    """
    if result.is_scored:
        known = [*_known(result, foremost, warnings)]
        verdict = [*headline(result), *(() if result.not_judged else resampled(result))]
    else:
        id = "short.none_by_both" if result.block is None else "short.none_by"
        none = line(id, method=result.name, methods=list(result.methods), kind=result.sign)
        known = [*(() if result.block is None else _known_of_joint(result)), *warnings]
        verdict = list(who_serves_what(result.overlap, result.sign)) or [none]
    below = tuple(shared_by_chance(result.overlap))
    listed = None if result.not_judged else partial(_table, result, colours)
    return Short(tuple(verdict), listed, below, tuple(known), next_command, colours)


def map_details(result: MapResult) -> Iterator[Finding]:
    """Findings on a map, all of them."""
    if result.is_scored:
        yield from map_findings(result)
    elif result.block is None:
        yield agreed_table(result, most=_EVERY)
        yield from count_findings(result.overlap)
    else:
        yield from block_findings(result)


def short_joint(blocks: Sequence[xr.Dataset], *, warnings: Iterable[Finding]) -> Short:
    """The short answer on joint methods alone: the findings of one, or the first sentence of each of several."""
    verdict = []
    for block in blocks:
        sentences = suite_findings(block)
        finding = line("short.finding", finding=sentences[0]) if sentences else None
        verdict.append(line("short.of_method", label=block.attrs["label"], model=block.attrs["model"], finding=finding))
        if len(blocks) == 1:
            verdict += sentences[1:]
    return Short(tuple(verdict), table=None, below=(), warnings=tuple(warnings))


def _known(result: MapResult, foremost: Iterable[Finding], warnings: Iterable[Finding]) -> Iterator[Finding]:
    yield from approximated(result.tables["scores"])
    yield from foremost
    # How many are left in each category stands in the table.
    yield from (replace(each, fields={**each.fields, "counts": None}) for each in contradictions(result))
    yield from warnings
    yield from cautions(result)


def _known_of_joint(result: MapResult) -> Iterator[Finding]:
    yield from saturates(result.tables["members"])
    if n_skipped := sum(map(len, result.tried.values())) if result.is_of_relations else 0:
        lacking = [name for name in result.tried if name not in result.overlap["category"].values]
        without = line("short.without_relation", categories=lacking) if lacking else None
        yield line("short.relations_skipped", n=n_skipped, without=without)


def _table(result: MapResult, colours: Mapping[str, str], most: int) -> Table:
    if result.is_scored:
        listed = _scored_table(result, most=most)
    elif result.block is None:
        listed = agreed_table(result, most=most)
    else:
        several = result.has_several_relations
        rows = [
            [category.name, _names(category, most), *([str(category.n_tasks)] if several else [])]
            for category in result.categories
        ]
        n = ["relations"] * several
        columns = ["category", str(line("short.heads_by", method=result.name)), *n]
        listed = table("text.untitled", columns, rows, numeric=n, optional=n)
    return replace(listed, colours=colours)


def _names(category: CategoryHeads, most: int) -> str:
    return first_names(category.heads, most, " ") or "none"


def _scored_table(result: MapResult, *, most: int) -> Table:
    """A row per category; cells name at most so many heads before they count."""
    verdicts = result.differing_verdicts
    others = [each.name for each in result.others if not each.not_judged]
    specific = result.task_specific.name if result.task_specific and not result.task_specific.not_judged else None
    rows = []
    for row in category_rows(result):
        category = row.category
        if not category.heads:
            cells = ["none" if category.judged else "-", *["-"] * ((specific is not None) + len(others))]
        else:
            left = [] if specific is None else [_left(row, specific)]
            too = [first_names(row.named_too[name], most, " ") or "none" for name in others]
            cells = [_names(category, most), *left, *too]
        rows.append([category.name, *([verdicts.get(category.name, INCONCLUSIVE)] if verdicts else []), *cells])
    also = [str(line("short.also_by", method=name)) for name in others]
    left = [] if specific is None else [str(line("short.task_specific"))]
    heads = str(line("short.heads_by", method=result.name))
    columns = ["category", *["verdict"] * bool(verdicts), heads, *left, *also]
    return table("text.untitled", columns, rows, optional=[*reversed(also), *left])


def agreed_table(result: MapResult, *, most: int) -> Table:
    """A row per category: the heads in both, how many each method has, and how many chance would put in both."""
    rows = []
    for category, row in zip(result.categories, result.agreed.itertuples(), strict=True):
        chance = [f"{row.by_chance:.1f}", f"{row.p:.2g}"]
        rows.append([category.name, _names(category, most), str(row.first), str(row.other), *chance])
    columns = ["category", str(line("short.heads_by_both")), *result.methods, "both by chance", "p"]
    return table("text.untitled", columns, rows, numeric=columns[2:], optional=["p"])


def _left(row: CategoryRow, specific: str) -> str:
    named = row.named_too[specific]
    left = line("short.left", n=len(named), of=len(row.category.heads), left_open=row.left_open[specific])
    return str(left)
