"""Findings of the test of the categories."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import xarray as xr

from headcats.evidence.labelling_statistics import LEAST_SOURCES
from headcats.evidence.relabelling import ALPHA
from headcats.evidence.verdicts import INCONCLUSIVE
from headcats.results.finding import Finding, by_category, line
from headcats.statistics.labellings import LEAST_LABELLINGS


def coincidences(table: xr.Dataset) -> Iterator[Finding]:
    """Properties of tasks that go together with labels: those that cannot be told from them, and the others."""
    of_category = {name: tuple(filter(None, row["inseparable"].item().split(", "))) for name, row in by_category(table)}
    yield from coincidence_findings(of_category, list(filter(None, table["coincide"].item().split(", "))))


def coincidence_findings(of_category: Mapping[str, Sequence[str]], coincide: Sequence[str]) -> Iterator[Finding]:
    """The same; `of_category` has for every category what it cannot be told from, perhaps nothing."""
    inseparable = list(dict.fromkeys(name for names in of_category.values() for name in names))
    if inseparable:
        categories = [name for name, names in of_category.items() if names]
        among = line("evidence.among", categories=categories) if len(categories) < len(of_category) else None
        yield line("evidence.coincide", properties=inseparable, among=among)
    if others := [name for name in coincide if name not in inseparable]:
        yield line("evidence.within", properties=others)


def remedy(properties: Collection[str]) -> list[Finding]:
    """Name the option that corrupts all word tasks alike, if one of the properties is of corruption."""
    return [line("evidence.remedy")] if {"corruption", "distractor tasks"}.intersection(properties) else []


def verdict_findings(table: xr.Dataset, damage: xr.Dataset) -> list[Finding]:
    """Findings from the nodes `relabelling` and `specificity`: coincidences, a verdict each, the size of the test."""
    n, tasks = table.sizes["relabelling"] + 1, table.sizes["task"]
    sources = len(np.unique(table["source_of_task"]))
    if n < LEAST_LABELLINGS:
        return [
            line(
                "evidence.few_labellings",
                n=n,
                tasks=tasks,
                sources=sources,
                advice=line("evidence.more_tasks" if table.sizes["category"] > 1 else "evidence.more_categories"),
                smallest=table["smallest_p"].item(),
                alpha=ALPHA,
                verdict=INCONCLUSIVE,
            )
        ]
    findings = [*coincidences(table), *remedy(table["coincide"].item().split(", "))]
    for name, row in by_category(table):
        if names := row["inseparable"].item():
            reason = line("evidence.inseparable", properties=names.split(", "))
            findings.append(line("evidence.untested", category=name, verdict=INCONCLUSIVE, reason=reason))
        elif np.isnan(row["combined"].item()):
            findings.append(line("evidence.untested", category=name, verdict=INCONCLUSIVE, reason=_why_untested(row)))
        else:
            findings.append(_tested(row, damage.sel(category=name), name))
    if among := table["among"].item():
        findings.append(line("evidence.conditional", properties=among.split(", ")))
    size, error = table["size"].item(), table["size_error"].item()
    if not np.isnan(size):
        findings.append(line("evidence.size", n=n - 1, size=size, error=error, tasks=tasks, sources=sources))
    return findings


def _why_untested(row: xr.Dataset) -> Finding:
    """Why a category has no signature, or no damage to compare."""
    of_category = row["task_category"].values == row["category"].item()
    if not of_category.any():
        return line("evidence.no_task")
    if of_category.sum() == 1:
        return line("evidence.single_task", task=row["task"].values[of_category][0])
    if len(set(row["unit_of_task"].values[of_category].tolist())) == 1:
        return line("evidence.one_source")
    damaged = not of_category.all() and row["damaged"].values[of_category].any()
    return line("evidence.no_rival" if damaged else "evidence.nothing_damaged")


def _tested(row: xr.Dataset, damage: xr.Dataset, name: str) -> Finding:
    """The p, both statistics and the difference in damage, and what to know beside them."""
    cost, difference = damage["damage"].sel(target=name).item(), row["specificity"].item()
    n_own = int(damage["n_sources"])
    limits = line("evidence.limits", low=row["specificity_low"].item(), high=row["specificity_high"].item())
    return line(
        "evidence.tested_category",
        category=name,
        verdict=row["verdict"].item(),
        p=row["p"].item(),
        alike=line("evidence.more_alike" if row["signature_difference"] > 0 else "evidence.less_alike"),
        likeness=abs(row["signature_difference"].item()),
        cost=cost,
        elsewhere=cost - difference,
        difference=difference,
        limits=line("evidence.too_few", n=n_own) if n_own < LEAST_SOURCES else limits,
    )
