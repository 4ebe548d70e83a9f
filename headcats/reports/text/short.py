"""Views of a map in text: the short answer that a command ends in, and all details."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
import xarray as xr

from headcats.categories.by_block import checked_selection
from headcats.categories.map_result import MapResult, block_title, criteria
from headcats.categories.membership import head_table
from headcats.evidence.verdicts import INCONCLUSIVE
from headcats.reports.text.answer import headline, left_open, names_of, resampled, shared_pairs, who_serves_what
from headcats.reports.text.maps import count_findings, head_names, map_findings
from headcats.results.finding import Finding, Short, Table, first_names, line, number_text, table
from headcats.results.head_axes import cell_name
from headcats.rules.rule import parse_rule


def short_map(
    result: MapResult,
    *,
    warnings: Iterable[Finding] = (),
    next_command: str = "",
    colours: Mapping[str, str] = MappingProxyType({}),
) -> Short:
    """Make the short answer on a map: the same for `run`, `map` and `evidence`."""
    if result.is_scored:
        verdict = [*headline(result), *(() if result.not_judged else resampled(result))]
        # How many are left in each category stands in the table.
        warnings = [_without_counts(each) for each in warnings]
    else:
        none = line("short.none_by", method=result.name, kind=result.sign)
        verdict = list(who_serves_what(result.overlap, result.sign)) or [none]
        warnings = [*_doubts_of_joint(result), *warnings]
    listed = None if result.not_judged else partial(_table, result, colours)
    return Short(tuple(verdict), listed, tuple(shared_pairs(result)), tuple(warnings), next_command, colours)


def _without_counts(finding: Finding) -> Finding:
    return replace(finding, fields={**finding.fields, "counts": None}) if "counts" in finding.fields else finding


def map_details(result: MapResult) -> Iterator[Finding]:
    """Findings on a map, all of them."""
    if result.is_scored:
        yield from map_findings(result)
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


def _doubts_of_joint(result: MapResult) -> Iterator[Finding]:
    yield from saturates(result.tables["members"])
    if n_skipped := sum(map(len, result.tried.values())) if result.is_of_relations else 0:
        lacking = [name for name in result.tried if name not in result.overlap["category"].values]
        without = line("short.without_relation", categories=lacking) if lacking else None
        yield line("short.relations_skipped", n=n_skipped, without=without)


def _table(result: MapResult, colours: Mapping[str, str], most: int) -> Table:
    if result.is_scored:
        listed = _scored_table(result, most)
    else:
        several = result.has_several_relations
        rows = [
            [category.name, names_of(category, most), *([str(category.n_tasks)] if several else [])]
            for category in result.categories
        ]
        n = ["relations"] * several
        columns = ["category", str(line("short.heads_by", method=result.name)), *n]
        listed = table("text.untitled", columns, rows, numeric=n)
    return replace(listed, colours=colours)


def _scored_table(result: MapResult, most: int) -> Table:
    """A row per category: its heads, what task-specific effects leave of them, and which other methods name too."""
    verdicts = result.differing_verdicts
    judging = {each.name: each for each in result.all[1:] if not each.not_judged}
    too = {name: each.names_too(result) for name, each in judging.items()}
    rows = []
    for place, category in enumerate(result.categories):
        cells = [names_of(category, most) if category.judged else "-"]
        for name, each in judging.items():
            named = result.head_names([(i, j) for i, j in result.members_of(place) if too[name][place, i, j]])
            text = first_names(named, most, " ") or "none"
            if each is result.task_specific:
                unsettled = left_open(each, result, place)
                text = str(line("short.left", n=len(named), of=category.size, left_open=unsettled))
            cells.append(text if category.heads else "-")
        rows.append([category.name, *([verdicts.get(category.name, INCONCLUSIVE)] if verdicts else []), *cells])
    headings = [
        str(line("short.task_specific") if each is result.task_specific else line("short.also_by", method=name))
        for name, each in judging.items()
    ]
    heads = str(line("short.heads_by", method=result.name))
    columns = ["category", *["verdict"] * bool(verdicts), heads, *headings]
    return table("text.untitled", columns, rows)


def suite_findings(block: xr.Dataset) -> list[Finding]:
    """The findings that a run ends with, on one block: those of its attribute `summary`."""
    return [line("methods.summary", text=text) for text in json.loads(block.attrs.get("summary", "[]"))]


def block_findings(result: MapResult) -> list[Finding]:
    """Heads of every category by a joint method, how many are shared, and of relations each one's scores."""
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


def _relations(result: MapResult) -> Table:
    """Relations with the score from which a head passes, infinite where none does, and the head with the largest."""
    block, rule = result.block, result.spec.named_rule
    assert block is not None
    selection = checked_selection(block)
    scores = block[selection.variable].transpose("task", "layer", "head")
    if rule is None and selection.threshold in block:
        least = block[selection.threshold]
    else:
        effects = scores.to_dataset(name="effect")
        least = block["task"].copy(data=(rule or parse_rule(selection.rule)).cutoffs(effects).effect)
    numbers = {"pairs": (block.get("n"), 0), "null": (block.get("null"), 2), "threshold": (least, 2)}
    shown = {name: (values, digits) for name, (values, digits) in numbers.items() if values is not None}
    n_heads = (scores >= least).sum(("layer", "head")).values
    rows = []
    for place, (task, score) in enumerate(zip(block["task"].values.tolist(), scores, strict=True)):
        layer, head = np.unravel_index(np.nanargmax(score.values), score.shape)
        largest = f"{cell_name(int(score['layer'][layer]), int(score['head'][head]))} {float(score[layer, head]):.2f}"
        texts = [number_text(values[place], digits) for values, digits in shown.values()]
        rows.append([str(task), str(score["category"].item()), *texts, str(n_heads[place]), largest])
    columns = ["relation", "category", *shown, "heads", "largest score"]
    return table("relations.scores", columns, rows, numeric=columns[2:-1])
