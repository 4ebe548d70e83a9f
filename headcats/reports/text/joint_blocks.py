"""Findings on blocks of joint methods: what a run says of them, and the maps of those that sort heads."""

import json

import numpy as np
import xarray as xr

from headcats.categories.by_block import checked_selection
from headcats.categories.map_result import MapResult
from headcats.categories.membership import head_table
from headcats.categories.run_maps import block_title, criteria
from headcats.reports.text.maps import count_findings, head_names
from headcats.results.finding import Finding, Table, line, number_text, table
from headcats.rules.rule import parse_rule


def suite_findings(block: xr.Dataset) -> list[Finding]:
    """The findings that a run ends with, on one block: those of its attribute `summary`."""
    return [line("methods.summary", text=text) for text in json.loads(block.attrs.get("summary", "[]"))]


def block_findings(result: MapResult) -> list[Finding]:
    """Heads of every category by a joint method, what chance would share, and of relations each one's scores."""
    block, members = result.block, result.tables["members"]
    assert block is not None
    findings: list[Finding] = [_heads(result), *saturates(members), *count_findings(result.overlap)]
    if not result.is_of_relations:
        return findings
    return [*findings, _relations(result), *([line("relations.null")] if "null" in block else [])]


def saturates(members: xr.Dataset) -> list[Finding]:
    """A warning where one task of several is enough."""
    by_one = (members["min_tasks"] == 1) & (members["n_tasks"] > 1)
    return [line("relations.saturates")] if bool(by_one.any()) else []


def _heads(result: MapResult) -> Table:
    block, members, tried = result.block, result.tables["members"], result.tried
    assert block is not None
    listed = [entry["name"] for entry in json.loads(block.attrs.get("categories", "[]"))]
    names = members["category"].values.tolist()
    heads, rows = head_table(members), []
    several = bool((members["n_tasks"] > 1).any() or any(tried.values()))
    for category in [name for name in listed if name in {*names, *tried}] or names:
        if category not in names:
            skipped = line("tasks.skipped_for", reason=list(tried[category]) or "all", otherwise=None)
            rows.append([category, *["0"] * several, "-", str(skipped), "-"])
            continue
        cell = members.sel(category=category)
        n_tasks = [str(int(cell["n_tasks"]))] if several else []
        rows.append([category, *n_tasks, str(int(cell["size"])), *head_names(heads, category)])
    columns = ["category", *["relations"] * several, "heads", "in (largest score first)", "suppressing"]
    title = f"{block_title(block)}{criteria(members)}"  # of heads of both signs
    return table("relations.heads", columns, rows, numeric=("relations", "heads"), title=title)


def relation_numbers(result: MapResult) -> dict[str, xr.DataArray]:
    """Numbers of every relation `(task)`, with the score from which a head passes, infinite where none does.

    `pairs` and `null` are there where the method gives them.
    """
    block, rule = result.block, result.spec.named_rule
    assert block is not None
    selection = checked_selection(block)
    scores = block[selection.variable]
    if rule is None and selection.threshold in block:
        least = block[selection.threshold]
    else:
        effects = scores.to_dataset(name="effect")
        least = block["task"].copy(data=(rule or parse_rule(selection.rule)).cutoffs(effects).effect)
    return {
        "relation": block["task"],
        "category": block["category"],
        **{column: block[name] for column, name in (("pairs", "n"), ("null", "null")) if name in block},
        "threshold": least,
        "heads": (scores >= least).sum(("layer", "head")),
        "largest_score": scores.max(("layer", "head")),
    }


def _relations(result: MapResult) -> Table:
    numbers, rows = relation_numbers(result), []
    assert result.block is not None
    variable = checked_selection(result.block).variable
    shown = {name: digits for name, digits in (("pairs", 0), ("null", 2), ("threshold", 2)) if name in numbers}
    for place, task in enumerate(numbers["relation"].values.tolist()):
        score = result.block[variable].isel(task=place)
        layer, head = np.unravel_index(np.nanargmax(score.values), score.shape)
        name = f"L{int(score['layer'][layer])}H{int(score['head'][head])}"
        of = {column: values[place] for column, values in numbers.items()}
        texts = [number_text(float(of[column]), digits) for column, digits in shown.items()]
        largest = f"{name} {float(of['largest_score']):.2f}"
        rows.append([str(task), str(of["category"].item()), *texts, str(int(of["heads"])), largest])
    columns = ["relation", "category", *shown, "heads", "largest score"]
    return table("relations.scores", columns, rows, numeric=columns[2:-1])
