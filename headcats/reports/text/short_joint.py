"""What `headcats run` and `map` end in where methods judge heads over all tasks at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import xarray as xr

from headcats.categories.membership import head_table
from headcats.reports.text.answer import shared_by_chance, who_serves_what
from headcats.reports.text.joint_blocks import of_tasks, saturates, suite_findings
from headcats.reports.text.selected import Selected
from headcats.reports.text.short import Short
from headcats.results.finding import Finding, Table, first_names, line, table
from headcats.results.run_results import RunResults


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


def short_block(
    run: RunResults,
    selected: Selected,
    *,
    warnings: Iterable[Finding],
    next_command: str = "",
    colours: Mapping[str, str] = MappingProxyType({}),
) -> Short:
    """The answer on categories of heads by a joint method.

    Args:
        run: What the heads are of.
        selected: The heads, and the one method that selects them.
        warnings: Further ones, which come last.
        next_command: What to do now; "" for nothing.
        colours: Category -> its colour.
    """
    (method,), shared = selected.names, selected.tables["overlap"]
    # Category that the method was run for -> relations of it that were skipped.
    tried = run.tried_categories(method) if of_tasks(run.joint_blocks[method]) else {}
    heads, judged = head_table(shared), shared["category"].values.tolist()
    several = bool((shared["n_tasks"] > 1).any() or any(tried.values()))

    def listed(most: int) -> Table:
        rows = []
        for category in judged:
            names = heads[(heads["category"] == category) & (heads["kind"] == shared.attrs["sign"])]["head"].tolist()
            n = [str(int(shared["n_tasks"].sel(category=category)))] if several else []
            rows.append([category, first_names(names, most, " ") or "none", *n])
        n = ["relations"] if several else []
        columns = ["category", str(line("short.heads_by", method=method)), *n]
        return replace(table("text.untitled", columns, rows, numeric=n, optional=n), colours=colours)

    kind = shared.attrs["sign"]
    verdict = tuple(who_serves_what(shared, kind)) or (line("short.none_by", method=method, kind=kind),)
    known = saturates(selected.tables["members"])
    if n_skipped := sum(map(len, tried.values())):
        lacking = [name for name in tried if name not in judged]
        without = line("short.without_relation", categories=lacking) if lacking else None
        known.append(line("short.relations_skipped", n=n_skipped, without=without))
    return Short(verdict, listed, tuple(shared_by_chance(shared)), (*known, *warnings), next_command, colours)


def short_both(
    tables: Mapping[str, xr.Dataset],
    names: tuple[str, str],
    *,
    warnings: Iterable[Finding],
    next_command: str,
    colours: Mapping[str, str],
) -> Short:
    """The answer on heads that two methods agree on; `tables` has `members` (of `hc.categories.in_both`)."""
    members, shared = tables["members"], tables["overlap"]

    def listed(most: int) -> Table:
        return replace(both_table(members, shared, names, most=most), colours=colours)

    kind = shared.attrs["sign"]
    verdict = tuple(who_serves_what(shared, kind)) or (line("short.none_by_both", methods=list(names), kind=kind),)
    return Short(verdict, listed, tuple(shared_by_chance(shared)), tuple(warnings), next_command, colours)


def both_table(members: xr.Dataset, shared: xr.Dataset, names: tuple[str, str], *, most: int) -> Table:
    """A row per category: the heads in both, how many each method has, and how many chance would put in both."""
    heads, prefix = head_table(shared), "suppressing_" if shared.attrs["sign"] == "suppressing" else ""
    rows = []
    for category in shared["category"].values.tolist():
        cell = members.sel(category=category)
        in_both = heads[(heads["category"] == category) & (heads["kind"] == shared.attrs["sign"])]["head"].tolist()
        counts = [str(int(cell[f"{prefix}{size}"])) for size in ("size_first", "size_other")]
        chance = [f"{float(cell[prefix + 'size_by_chance']):.1f}", f"{float(cell[prefix + 'p_by_chance']):.2g}"]
        rows.append([category, first_names(in_both, most, " ") or "none", *counts, *chance])
    columns = ["category", str(line("short.heads_by_both")), *names, "both by chance", "p"]
    return table("text.untitled", columns, rows, numeric=columns[2:], optional=["p"])
