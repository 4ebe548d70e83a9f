"""Findings on blocks of joint methods: what a run says of them, and the maps of those that sort heads."""

import json
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headcats.categories.by_block import block_members, checked_selection
from headcats.categories.described import with_descriptors
from headcats.categories.membership import head_table
from headcats.categories.shared import overlap
from headcats.errors import OptionError, StatisticsWarning
from headcats.reports.text.maps import count_findings, head_names
from headcats.results.finding import Finding, Table, line, number_text, table
from headcats.results.run_results import RunResults
from headcats.rules.rule import Rule, parse_rule


def suite_title(block: xr.Dataset) -> str:
    """One line on what a picture of the block shows."""
    return f"{block.attrs['label']}, model {block.attrs['model']}"


def suite_findings(block: xr.Dataset) -> list[Finding]:
    """The findings that a run ends with, on one block: those of its attribute `summary`."""
    return [line("methods.summary", text=text) for text in json.loads(block.attrs.get("summary", "[]"))]


def block_tables(
    run: RunResults, label: str, *, rule: Rule | None = None, min_tasks: int | str | None = None, sign: str = "helping"
) -> dict[str, xr.Dataset]:
    """`members` and `overlap` of the heads that the block of a joint method sorts, with what the heads do.

    `rule` and `min_tasks` as in `hc.categories.block_members`: None is the paper's. An OptionError for suppressing
    heads of a method without them, and as there.
    """
    block = run.joint_blocks[label]
    selection = checked_selection(block)
    if sign == "suppressing" and not selection.suppressing:
        raise OptionError(f"{label} ranks heads by {selection.text}, so none is suppressing: leave out --sign.")
    groups = set(block[selection.group].values.astype(str).tolist())
    if "categories" in block.attrs:  # chance is asked of these alone
        entries = [entry for entry in json.loads(block.attrs["categories"]) if entry["name"] in groups]
        block = block.assign_attrs(categories=json.dumps(entries, ensure_ascii=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # the finding "saturates" says the same
        members = block_members(block, rule=rule, min_tasks=min_tasks)
    return {"members": members, "overlap": with_descriptors(overlap(members, sign=sign), run.descriptors)}


def block_title(block: xr.Dataset, tables: Mapping[str, xr.Dataset]) -> str:
    """One line on what a map of the block shows."""
    sign = ", suppressing heads" if tables["overlap"].attrs["sign"] == "suppressing" else ""
    return f"{suite_title(block)}{sign}{_judged(tables['members'])}"


def _judged(members: xr.Dataset) -> str:
    """The rule, and how many relations a head has to pass, as the end of a title."""
    needed = {int(n) for n in members["min_tasks"].values[members["n_tasks"].values > 1]}
    least = f" in at least {' or '.join(map(str, sorted(needed)))} of a category's relations" if needed else ""
    return f", rule {members.attrs['rule']}{least}"


def block_findings(
    block: xr.Dataset, tables: Mapping[str, xr.Dataset], *, rule: Rule | None = None, tried: Mapping[str, Sequence[str]]
) -> list[Finding]:
    """Heads of every category by a joint method, what chance would share, and of relations each one's scores.

    `tried`: category that the method was run for -> relations of it that were skipped.
    """
    members, shared = tables["members"], tables["overlap"]
    listed = [entry["name"] for entry in json.loads(block.attrs.get("categories", "[]"))]
    order = [name for name in listed if name in {*members["category"].values.tolist(), *tried}]
    title = f"{suite_title(block)}{_judged(members)}"  # of heads of both signs
    findings: list[Finding] = [
        _heads(members, order or members["category"].values.tolist(), title, tried=tried),
        *saturates(members),
        *count_findings(shared),
    ]
    if not of_tasks(block):
        return findings
    return [*findings, _relations(block, rule), *([line("relations.null")] if "null" in block else [])]


def of_tasks(block: xr.Dataset) -> bool:
    """Whether a block has a row for every task (relations) rather than one for every category."""
    return checked_selection(block).over == "task"


def saturates(members: xr.Dataset) -> list[Finding]:
    """A warning where one task of several is enough."""
    by_one = (members["min_tasks"] == 1) & (members["n_tasks"] > 1)
    return [line("relations.saturates")] if bool(by_one.any()) else []


def _heads(members: xr.Dataset, categories: Sequence[str], title: str, *, tried: Mapping[str, Sequence[str]]) -> Table:
    heads, rows = head_table(members), []
    several = bool((members["n_tasks"] > 1).any() or any(tried.values()))
    for category in categories:
        if category not in members["category"].values:
            skipped = line("tasks.skipped_for", reason=list(tried[category]) or "all", otherwise=None)
            rows.append([category, *["0"] * several, "-", str(skipped), "-"])
            continue
        cell = members.sel(category=category)
        n_tasks = [str(int(cell["n_tasks"]))] if several else []
        rows.append([category, *n_tasks, str(int(cell["size"])), *head_names(heads, category)])
    columns = ["category", *["relations"] * several, "heads", "in (largest score first)", "suppressing"]
    return table("relations.heads", columns, rows, numeric=("relations", "heads"), title=title)


def least_scores(block: xr.Dataset, rule: Rule | None) -> xr.DataArray:
    """The score `(task)` from which a head passes in each relation; infinite where none does."""
    selection = checked_selection(block)
    if rule is None and selection.threshold in block:
        return block[selection.threshold]
    scores = block[[selection.variable]].rename({selection.variable: "effect"})
    return block["task"].copy(data=(rule or parse_rule(selection.rule)).cutoffs(scores).effect)


def _relations(block: xr.Dataset, rule: Rule | None) -> Table:
    rows, least_of, variable = [], least_scores(block, rule), checked_selection(block).variable
    known = {name: column for name, column in {"n": ("pairs", 0), "null": ("null", 2)}.items() if name in block}
    for place, task in enumerate(block["task"].values.tolist()):
        relation = block.isel(task=place)
        least = float(least_of[place])
        score = relation[variable]
        layer, head = np.unravel_index(np.nanargmax(score.values), score.shape)
        name = f"L{int(score['layer'][layer])}H{int(score['head'][head])}"
        numbers = [number_text(relation[key], digits) for key, (_, digits) in known.items()] + [number_text(least)]
        largest = f"{name} {float(score[layer, head]):.2f}"
        rows.append([str(task), str(relation["category"].item()), *numbers, str(int((score >= least).sum())), largest])
    columns = ["relation", "category", *(column for column, _ in known.values()), "threshold", "heads", "largest score"]
    return table("relations.scores", columns, rows, numeric=columns[2:-1])
