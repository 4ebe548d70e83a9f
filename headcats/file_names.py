"""What is not the default of a map or a test is in the name of its file, so that none replaces another."""

import re

import xarray as xr

from headcats.results import Label, find_manifest, slug
from headcats.rules import fdr
from headcats.scores import first_exact

DEFAULT_RULE = repr(fdr())
EVIDENCE = "evidence"
"""Folder of the evidence within a results folder; what is not the default is added to it."""
NODES = ("specificity", "exclusive", "contrasts", "curves", "self_repair")
"""Tables of one test of the categories, a file each."""


def marks(
    results: xr.DataTree,
    *,
    label: Label,
    metric: str,
    effect: str = "total",
    sign: str = "helping",
    rule: str = DEFAULT_RULE,
    min_tasks: int | str = "half",
    positions: str = "last",
) -> list[str]:
    """What differs from the defaults, as parts of a file name; none where nothing does.

    Args:
        results: The results; the defaults of method and metric are their first exact method and first metric.
        label: Method that heads are chosen by.
        metric: Metric that they are chosen by.
        effect: "total" or "task_specific".
        sign: "helping" or "suppressing".
        rule: The rule's repr.
        min_tasks: As in `hc.categorize`.
        positions: Where heads are ablated, for evidence.
    """
    manifest = find_manifest(results)
    planned = manifest.plan.metrics if manifest else (metric,)
    found = [slug(str(label))] if label != first_exact(results) else []
    found += [slug(metric)] if metric != planned[0] else []
    found += [effect] if effect != "total" else []
    found += judging_marks(sign=sign, rule=rule, min_tasks=min_tasks)
    return [*found, *(["ablated@all"] if positions == "all" else [])]


def judging_marks(*, sign: str, rule: str, min_tasks: int | str) -> list[str]:
    """How heads are judged, whatever they are scored by, as parts of a file name; none where it is the default.

    Args:
        sign: "helping" or "suppressing".
        rule: The rule's repr.
        min_tasks: As in `hc.categorize`.
    """
    found = [sign] if sign != "helping" else []
    return [*found, *rule_marks(rule), *([f"min_tasks={min_tasks}"] if str(min_tasks) != "half" else [])]


def rule_marks(rule: str) -> list[str]:
    """A rule as part of a file name; none for the default rule.

    Args:
        rule: The rule's repr.
    """
    return [slug("-".join(re.findall(r"[\w.=]+", rule)))] if rule != DEFAULT_RULE else []
