"""What the test of the categories shows, as findings."""

import numpy as np
import xarray as xr

from headcats.evidence.verdicts import (
    ALPHA,
    INCONCLUSIVE,
    LEAST_LABELLINGS,
    TESTS,
    damaged_more,
    verdict,
)
from headcats.results.finding import Finding, by_category, line


def verdict_findings(table: xr.Dataset, damage: xr.Dataset) -> list[Finding]:
    """One finding per category from the nodes `relabelling` and `specificity`, and the error rate of other labels."""
    n = table.sizes["relabelling"] + 1
    tasks, units = table.sizes["task"], table.sizes["unit"]
    if n < LEAST_LABELLINGS:
        smallest = table["smallest_p"].item()
        return [
            line(
                "evidence.few_labellings",
                n=n,
                tasks=tasks,
                units=units,
                advice=line("evidence.more_tasks" if table.sizes["category"] > 1 else "evidence.more_categories"),
                smallest=smallest,
                alpha=ALPHA,
                verdict=INCONCLUSIVE,
            )
        ]
    findings = []
    for name, row in by_category(table):
        if np.isnan([row[test].item() for test in TESTS]).any():
            findings.append(line("evidence.untested", category=name, verdict=INCONCLUSIVE, reason=_why_untested(row)))
        else:
            findings.append(_tested(row, damage.sel(category=name), name))
    rate = table["error_rate"].item()
    return [*findings, line("evidence.error_rate", n=n - 1, rate=rate, tasks=tasks, units=units)]


def _why_untested(row: xr.Dataset) -> Finding:
    """Why a category has no signature, or no causal statistic."""
    of_category = row["task_category"].values == row["category"].item()
    if not of_category.any():
        return line("evidence.no_task")
    if of_category.sum() == 1:
        return line("evidence.single_task", task=row["task"].values[of_category][0])
    if len(set(row["unit_of_task"].values[of_category].tolist())) == 1:
        return line("evidence.one_block")
    damaged = not of_category.all() and row["damaged"].values[of_category].any()
    return line("evidence.no_rival" if damaged else "evidence.nothing_damaged")


def _tested(row: xr.Dataset, damage: xr.Dataset, name: str) -> Finding:
    """Both statistics, and what to know beside them."""
    cost, difference = damage["damage"].sel(target=name).item(), damage["specificity"].item()
    low, high = damage["specificity_low"].item(), damage["specificity_high"].item()
    targets = [
        line("evidence.target", target=target, damage=damage["damage"].sel(target=target).item())
        for target in damaged_more(damage, name)
    ]
    outcome, needed = verdict(row, damage), row["units_needed"].item()
    own_units = row["unit_category"].values == name
    relative = float(np.nanmean(row["unit_causal"].values[own_units]))
    n_own = min(int(np.isfinite(row[f"unit_{test}"].values[own_units]).sum()) for test in TESTS)
    return line(
        "evidence.tested_category",
        category=name,
        verdict=outcome,
        alike=line("evidence.more_alike" if row["signature_difference"] > 0 else "evidence.less_alike"),
        likeness=abs(row["signature_difference"].item()),
        signature_p=row["signature_p"].item(),
        cost=cost,
        elsewhere=cost - difference,
        difference=difference,
        interval=line("evidence.interval", low=low, high=high) if np.isfinite(low) else None,
        causal_p=row["causal_p"].item(),
        relative=None if difference * relative > 0 else line("evidence.relative", amount=relative),
        needed=line("evidence.units_needed", n=int(needed), n_own=n_own)
        if outcome == INCONCLUSIVE and difference > 0 and np.isfinite(needed)
        else None,
        more=line("evidence.damage_more", targets=targets, category=name) if targets else None,
    )
