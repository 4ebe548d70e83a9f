"""What `headcats run` and `map` end in where methods judge heads over all tasks at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import xarray as xr

from headcats.categories.membership import head_table
from headcats.reports.text.answer import who_serves_what
from headcats.reports.text.joint_blocks import suite_findings
from headcats.reports.text.short import Short
from headcats.results.finding import Table, first_names, line, table


def short_joint(blocks: Sequence[xr.Dataset]) -> Short:
    """The answer of a run of such methods alone: the first sentence of each, then what else they found."""
    first, others = [], []
    for block in blocks:
        finding, *more = suite_findings(block) or [line("short.saved")]
        first.append(line("short.of_method", label=block.attrs["label"], model=block.attrs["model"], finding=finding))
        others += more
    return Short(verdict=(*first, *others), table=None, below=(), warnings=())


def short_relations(
    shared: xr.Dataset, method: str, *, tried: Sequence[str], next_command: str, colours: Mapping[str, str]
) -> Short:
    """The answer on categories of heads by their weights.

    Args:
        shared: What `hc.overlap` returns of them.
        method: What the table calls the method.
        tried: Categories that the method was run for.
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
    warnings = [line("relations.saturates")]
    if lacking := [name for name in tried if name not in judged]:
        warnings.insert(0, line("answer.categories_not_judged", categories=line("answer.names", names=lacking)))
    return Short(verdict, listed, (), tuple(warnings), next_command, colours)
