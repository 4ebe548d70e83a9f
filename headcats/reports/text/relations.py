"""A map of relations in the weights: heads by category, what they share beside chance, relation by relation."""

import json
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headcats.categories.by_relation import relation_members
from headcats.categories.head_list import head_table
from headcats.categories.shared import overlap
from headcats.errors import OptionError, StatisticsWarning
from headcats.reports.text.finding import Finding, Table, line, table
from headcats.reports.text.joint_blocks import suite_title
from headcats.reports.text.maps import count_findings, head_names
from headcats.rules.rule import Rule
from headcats.rules.text import rule_text
from headcats.study.defaults import DEFAULT_RULE


def relation_map(
    block: xr.Dataset, *, threshold: str | float, tried: Mapping[str, Sequence[str]]
) -> tuple[xr.Dataset, list[Finding]]:
    """The categories of heads by their weights, with the findings.

    Args:
        block: The relations, as `ov_relation` gives them.
        threshold: As in `hc.categories.relation_members`.
        tried: Category that the method was asked for -> relations of it that were skipped.

    Returns:
        What `hc.overlap` returns of them, and the findings.
    """
    categories, suite = set(block["category"].values.tolist()), json.loads(block.attrs["categories"])
    entries = [entry for entry in suite if entry["name"] in categories]  # chance is asked of these alone
    block = block.assign_attrs(categories=json.dumps(entries, ensure_ascii=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # the finding "saturates" says the same
        members = relation_members(block, threshold=threshold)
    shared, order = overlap(members), [entry["name"] for entry in suite if entry["name"] in {*categories, *tried}]
    return shared, [
        _heads(members, order, f"{suite_title(block)}, {members.attrs['rule']}", tried=tried),
        line("relations.saturates"),
        *count_findings(shared),
        _relations(block, threshold),
        line("relations.null"),
    ]


def threshold_of(rule: Rule, *, method: str) -> str | float:
    """The threshold of `hc.categories.relation_members` that a rule of the command line stands for.

    Args:
        rule: The rule; the default one stands for the calibrated threshold.
        method: Whose relations are judged, for the message.

    Raises:
        OptionError: A rule other than a threshold.
    """
    if rule_text(rule) == DEFAULT_RULE:
        return "calibrated"
    if set(rule.options) == {"value"}:
        return float(rule.options["value"])
    raise OptionError(
        f"{method} has scores without p-values: --rule threshold:value=0.15, or none for the calibrated threshold; "
        f"got {rule_text(rule)!r}."
    )


def _heads(members: xr.Dataset, categories: Sequence[str], title: str, *, tried: Mapping[str, Sequence[str]]) -> Table:
    heads, rows = head_table(members), []
    for category in categories:
        if category not in members["category"].values:
            rows.append([category, "0", "-", f"skipped: {', '.join(tried[category]) or 'all'}", "-"])
            continue
        cell = members.sel(category=category)
        rows.append([category, str(int(cell["n_tasks"])), str(int(cell["size"])), *head_names(heads, category)])
    columns = ["category", "relations", "heads", "implementing (largest score first)", "suppressing"]
    return table("relations.heads", columns, rows, numeric=("relations", "heads"), title=title)


def _relations(block: xr.Dataset, threshold: str | float) -> Table:
    rows = []
    for place, task in enumerate(block["task"].values.tolist()):
        relation = block.isel(task=place)
        least = float(relation["threshold"]) if threshold == "calibrated" else float(threshold)
        score = relation["score"]
        layer, head = np.unravel_index(np.nanargmax(score.values), score.shape)
        name = f"L{int(score['layer'][layer])}H{int(score['head'][head])}"
        numbers = [str(int(relation["n"])), f"{float(relation['null']):.2f}", f"{least:.2f}"]
        largest = f"{name} {float(score[layer, head]):.2f}"
        rows.append([str(task), str(relation["category"].item()), *numbers, str(int((score >= least).sum())), largest])
    columns = ["relation", "category", "pairs", "null", "threshold", "heads", "largest score"]
    return table("relations.scores", columns, rows, numeric=columns[2:6])
