"""Findings on blocks of joint methods: what a run says of them, and the map of relations in the weights."""

import json
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headcats.categories.by_relation import relation_members
from headcats.categories.membership import head_table
from headcats.categories.shared import overlap
from headcats.errors import OptionError, StatisticsWarning, UnknownNameError
from headcats.registry import lookup
from headcats.reports.text.maps import count_findings, head_names
from headcats.results.finding import Finding, Table, line, number_text, table
from headcats.rules.rule import Rule, rule_text
from headcats.study.defaults import DEFAULT_RULE


def suite_title(block: xr.Dataset) -> str:
    """One line on what a picture of the block shows."""
    return f"{block.attrs['label']}, model {block.attrs['model']}"


def suite_findings(block: xr.Dataset) -> list[Finding]:
    """The findings that a run ends with, on one block.

    They are in the attribute `summary`; of a block written by an earlier version, the registered method is asked.
    """
    try:
        summary = block.attrs.get("summary")
        sentences = json.loads(summary) if summary else lookup("method", str(block.attrs["method"])).summary(block)
    except UnknownNameError:
        return []
    return [line("methods.summary", text=text) for text in sentences]


def relation_map(
    block: xr.Dataset, *, threshold: str | float, tried: Mapping[str, Sequence[str]]
) -> tuple[xr.Dataset, list[Finding]]:
    """What `hc.overlap` returns of the categories of heads by their weights, and the findings.

    Args:
        block: The relations, as `ov_relation` gives them.
        threshold: As in `hc.categories.relation_members`.
        tried: Category that the method was run for -> relations of it that were skipped.
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
    """The threshold of `hc.categories.relation_members` that a rule stands for; the default one, the calibrated one.

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
            skipped = line("tasks.skipped_for", reason=list(tried[category]) or "all")
            rows.append([category, "0", "-", str(skipped), "-"])
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
        numbers = [str(int(relation["n"])), number_text(relation["null"]), number_text(least)]
        largest = f"{name} {float(score[layer, head]):.2f}"
        rows.append([str(task), str(relation["category"].item()), *numbers, str(int((score >= least).sum())), largest])
    columns = ["relation", "category", "pairs", "null", "threshold", "heads", "largest score"]
    return table("relations.scores", columns, rows, numeric=columns[2:6])
