"""What `headcats run` and `map` end in where methods judge heads over all tasks at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import xarray as xr

from headcats.categories.membership import head_table
from headcats.reports.text.answer import shared_by_chance, who_serves_what
from headcats.reports.text.joint_blocks import suite_findings
from headcats.reports.text.short import Short
from headcats.results.finding import Finding, Table, first_names, line, table


def short_joint(blocks: Sequence[xr.Dataset], *, warnings: Iterable[Finding]) -> Short:
    """The answer of a run of such methods alone: what one found, or the first sentence of each of several."""
    verdict = []
    for block in blocks:
        sentences = suite_findings(block)
        finding = line("short.finding", finding=sentences[0]) if sentences else None
        verdict.append(line("short.of_method", label=block.attrs["label"], model=block.attrs["model"], finding=finding))
        if len(blocks) == 1:
            verdict += sentences[1:]
    return Short(tuple(verdict), table=None, below=(), warnings=tuple(warnings))


def short_relations(
    shared: xr.Dataset,
    method: str,
    *,
    tried: Mapping[str, Sequence[str]],
    warnings: Iterable[Finding],
    next_command: str,
    colours: Mapping[str, str],
) -> Short:
    """The answer on categories of heads by their weights.

    Args:
        shared: What `hc.overlap` returns of them.
        method: What the table calls the method.
        tried: Category that the method was run for -> relations of it that were skipped.
        warnings: Further ones, which come last.
        next_command: What to do now; "" for nothing.
        colours: Category -> its colour.
    """
    heads, judged = head_table(shared), shared["category"].values.tolist()
    helping = heads[heads["kind"] == "helping"]

    def listed(most: int) -> Table:
        rows = []
        for category in judged:
            names = helping[helping["category"] == category]["head"].tolist()
            n = int(shared["n_tasks"].sel(category=category))
            rows.append([category, first_names(names, most, " ") or "none", str(n)])
        columns = ["category", str(line("short.heads_by", method=method)), "relations"]
        made = table("text.untitled", columns, rows, numeric=["relations"], optional=["relations"])
        return replace(made, colours=colours)

    verdict = tuple(who_serves_what(shared)) or (line("short.no_relation"),)
    known = [line("relations.saturates")]
    if n_skipped := sum(map(len, tried.values())):
        lacking = [name for name in tried if name not in judged]
        without = line("short.without_relation", categories=lacking) if lacking else None
        known.append(line("short.relations_skipped", n=n_skipped, without=without))
    return Short(verdict, listed, tuple(shared_by_chance(shared)), (*known, *warnings), next_command, colours)
