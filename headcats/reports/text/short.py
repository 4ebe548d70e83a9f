"""What a command ends in: a verdict, one table, what is shared, warnings, and the next command."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import xarray as xr

from headcats.categories.run_maps import RunMaps
from headcats.evidence.verdicts import INCONCLUSIVE
from headcats.reports.text.answer import (
    CategoryRow,
    approximated,
    category_rows,
    cautions,
    contradictions,
    differing_verdicts,
    headline,
    resampled,
    shared_by_chance,
)
from headcats.results.finding import Finding, Table, first_names, line, table


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
    maps: RunMaps,
    *,
    evidence: xr.DataTree | None = None,
    foremost: Iterable[Finding] = (),
    warnings: Iterable[Finding] = (),
    next_command: str,
    colours: Mapping[str, str],
) -> Short:
    """The answer of a run: the same for `run`, `map` and `evidence`.

    Args:
        maps: Of the run.
        evidence: The test of the mapped categories, as `hc.run_evidence` returns it.
        foremost: Warnings that bear on every number.
        warnings: Further ones, which come behind what contradicts the map.
        next_command: What to do now.
        colours: Category -> its colour.
    """
    not_judged = bool(maps.mapped.not_judged)
    verdict = list(headline(maps, evidence)) + ([] if not_judged else list(resampled(maps.mapped)))
    # How many are left in each category stands in the table.
    against = [replace(each, fields={**each.fields, "counts": None}) for each in contradictions(maps)]
    approximate = approximated(maps.mapped.tables["scores"])
    known = [*approximate, *foremost, *against, *warnings, *cautions(maps, evidence)]

    def listed(most: int) -> Table:
        return replace(_category_table(maps, differing_verdicts(evidence), most=most), colours=colours)

    below = tuple(shared_by_chance(maps.mapped.tables["overlap"]))
    return Short(tuple(verdict), None if not_judged else listed, below, tuple(known), next_command, colours)


def _category_table(maps: RunMaps, verdicts: Mapping[str, str], *, most: int) -> Table:
    """A row per category; cells name at most so many heads before they count."""
    others = [each.name for each in maps.others if not each.not_judged]
    specific = maps.task_specific.name if maps.task_specific and not maps.task_specific.not_judged else None
    rows = []
    for row in category_rows(maps):
        if not row.heads:
            cells = ["none" if row.judged else "-", *["-"] * ((specific is not None) + len(others))]
        else:
            left = [] if specific is None else [_left(row, specific)]
            too = [first_names(row.named_too[name], most, " ") or "none" for name in others]
            cells = [first_names(row.heads, most, " "), *left, *too]
        rows.append([row.category, *([verdicts.get(row.category, INCONCLUSIVE)] if verdicts else []), *cells])
    also = [str(line("short.also_by", method=name)) for name in others]
    left = [] if specific is None else [str(line("short.task_specific"))]
    heads = str(line("short.heads_by", method=maps.mapped.name))
    columns = ["category", *["verdict"] * bool(verdicts), heads, *left, *also]
    return table("text.untitled", columns, rows, optional=[*reversed(also), *left])


def _left(row: CategoryRow, specific: str) -> str:
    left = line("short.left", n=len(row.named_too[specific]), of=len(row.heads), left_open=row.left_open[specific])
    return str(left)
