"""Tabs below the maps of several runs."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from headcats.figures.checkpoints import checkpoints
from headcats.reports.page.parts import Code, Drawn, Heading, Link, Part, section
from headcats.reports.page.several.compared import Compared
from headcats.reports.text.agreement import agreement_findings, replicate_findings
from headcats.reports.text.comparison import plan_findings
from headcats.reports.text.revisions import revision_findings
from headcats.reports.text.side_by_side import Membership, effect_text, how_sure
from headcats.results.finding import Table, first_names, line, note, table

MOVES = "moves"
"""Column whose text in a row, `MOVES_MARK`, the page's filter looks for."""
MOVES_MARK = "↔ moves"
_MOST = 2000
"""Rows of a table."""


@section("Heads in every run")
def side_by_side_heads(compared: Compared) -> Iterator[Part]:
    """One row per head and category, with a column per run."""
    yield line("several.heads_meaning")
    if rows := compared.memberships:
        yield _heads(compared, rows[:_MOST])
        if len(rows) > _MOST:
            yield line("several.more_rows", n=len(rows) - _MOST)


def _heads(compared: Compared, rows: Sequence[Membership]) -> Table:
    names = list(compared.maps)
    has_unsure = any(each.moves for each in rows)
    cells = [
        [
            each.head,
            each.category,
            *(effect_text(each, name) for name in names),
            *([MOVES_MARK if each.moves else "", how_sure(each)] if has_unsure else []),
        ]
        for each in rows
    ]
    columns = ["head", "category", *names, *([MOVES, "how sure"] if has_unsure else [])]
    return table("several.heads", columns, cells, numeric=names, method=compared.name)


@section("Agreement")
def agreement_of_runs(compared: Compared) -> Iterator[Part]:
    """Pairs of runs by category, and which heads all of them, or any, have."""
    yield from agreement_findings(compared.agreement, {})
    yield from replicate_findings(compared.members, sign=compared.reading.sign)


@section("Categories over the revisions")
def training(compared: Compared) -> Iterator[Part]:
    """Curves of one model over its training: heads that come and go, and whether their effects differ."""
    changes, reading = compared.changes, next(iter(compared.maps.values())).spec
    if changes is None:
        return
    title = replace(reading, model=compared.runs.model).title
    yield Drawn("checkpoints", checkpoints(changes, title=title), line("revisions.figure"))
    yield from revision_findings(changes, title)


@section("Each revision")
def revision_pages(compared: Compared) -> Iterator[Part]:
    """Links to the report of every revision of a series."""
    changes = compared.changes
    for name, page in compared.pages.items():
        sizes = {} if changes is None else changes["size"].sel(revision=name).to_series().dropna().to_dict()
        listing = first_names([f"{category} {int(n)}" for category, n in sizes.items()], len(sizes))
        content = line("revisions.page", sizes=listing) if sizes else line("revisions.page_not_judged")
        yield Link(page, name, str(content))


@section("Settings")
def settings(compared: Compared) -> Iterator[Part]:
    """Differences of the runs, those that are not compared and why, and how to do it again."""
    yield from plan_findings(compared.runs)
    for name, reason in compared.left_out.items():
        yield note("several.left_out", name=name, reason=reason)
    yield Heading("Again")
    places = [run.place for run in compared.runs.values()]
    if folders := [place.shown for place in places if place is not None]:
        yield Code("\n".join(_commands(folders, compared)))


def _commands(folders: Sequence[str], compared: Compared) -> Iterator[str]:
    # The comparison reads no effect, and heads of different models do not correspond.
    unread = {"report": "", "compare": "effect"} if compared.runs.corresponds else {"report": ""}
    for name in unread:
        options = {key: value for key, value in compared.reading.options.items() if key != unread[name]}
        flags = "".join(f" --{key} {shlex.quote(value)}" for key, value in options.items())
        yield f"headcats {name} {shlex.join(folders)}{flags}"
