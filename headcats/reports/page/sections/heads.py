"""The overlap map, and the heads of every category with their numbers."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories.head_list import head_table
from headcats.errors import pluralize
from headcats.figures import reads
from headcats.figures.layer_profile import layer_profile
from headcats.figures.overlap_map import overlap_map
from headcats.registry import lookup, names
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn, Folded, Heading, Part, section
from headcats.reports.text.maps import head_findings
from headcats.reports.text.table import Table

_LISTED = 40


@section("Map of the heads")
def heads(material: Material) -> Iterator[Part]:
    """The map, and below it what the map is made of."""
    if not material.tables:
        return
    overlap = material.tables["overlap"]
    yield Drawn(
        "overlap_map",
        overlap_map(overlap, title=material.reading.title),
        "Every head by layer and number, coloured by its categories: first all categories, then each on its own. The "
        "tables below list the same heads.",
        heads="layer-head",
    )
    yield (
        "Choose a head, in a figure or a table, for its numbers on every task and by every method. An effect is the "
        "share of the gap between clean and corrupted prompts that the head accounts for; positive means that it helps."
    )
    yield from head_findings(material.tables, material.reading)
    listed = head_table(overlap)
    for category in overlap["category"].values.tolist():
        yield Heading(category)
        mine = listed[listed["category"] == category]
        yield from _category(overlap, mine, category, suppressing=overlap.attrs.get("sign") == "suppressing")
    if bool((overlap["member"] == 1).any()):
        yield Heading("Where in the model")
        yield Drawn(
            "layer_profile",
            layer_profile(overlap),
            "Heads of each category per layer, with their mean effect.",
        )
    yield from _figures_of_others(material)


def _figures_of_others(material: Material) -> Iterator[Part]:
    """Figures registered by another package, or in a notebook, that read one of the tables of the map."""
    for name in names("figure"):
        draw = lookup("figure", name)
        if draw.__module__.split(".")[0] != "headcats" and reads(draw) in material.tables:
            yield Heading(name)
            yield Drawn(name, draw(material.tables[reads(draw)]), f"The figure {name}, registered outside headcats.")


def _category(overlap: xr.Dataset, mine: pd.DataFrame, category: str, *, suppressing: bool) -> Iterator[Part]:
    one = overlap.sel(category=category)
    if not bool(one["effect"].notnull().any()):
        yield "Not judged: every task of this category was refused or left out."
        return
    needed, n = (int(one[name]) for name in ("min_tasks", "n_tasks"))
    yield f"A head is in {category} if it passes in at least {needed} of {pluralize(n, 'task')}. {_chance(one)}"
    for kind in ("helping", "suppressing"):
        rows = mine[mine["kind"] == kind]
        if len(rows):
            yield _listed(rows[:_LISTED], f"{category}: {kind} heads, largest effect first")
        if len(rows) > _LISTED:
            rest = _listed(rows[_LISTED:], f"{category}: the other {kind} heads")
            yield Folded(f"{len(rows) - _LISTED} more {kind} heads", (rest,))
    kind = "suppressing" if suppressing else "helping"
    if not len(mine[mine["kind"] == kind]):
        yield f"No {kind} head is in {category} by this rule."
    still_open = (one["member"] == 0) & one["effect"].notnull()
    if bool(still_open.any()):
        yield Folded(f"{pluralize(int(still_open.sum()), 'head is', 'heads are')} undecided", tuple(_undecided(one)))


def _chance(one: xr.Dataset) -> str:
    if "size_expected" not in one or not np.isfinite(float(one["size_expected"])):
        return ""
    found = f"{float(one['size_expected']):.1f}"
    return f"If no head had any effect, the same rule would find {'none' if found == '0.0' else f'{found} on average'}."


def _listed(rows: pd.DataFrame, heading: str) -> Table:
    columns = ["head", "effect", "95 % interval", "q"]
    extra = {"specific": "task-specific", "probability": "in resamples"}
    extra = {name: shown for name, shown in extra.items() if name in rows and rows[name].notna().any()}
    cells = [
        (
            str(row["head"]),
            f"{row['effect']:z.3f}",
            f"{row['low']:z.3f} to {row['high']:z.3f}",
            f"{row['q']:.2g}",
            *(f"{row[name]:z.2f}" if np.isfinite(row[name]) else "-" for name in extra),
            str(row["tasks"]).replace(",", ", "),
        )
        for _, row in rows.iterrows()
    ]
    numeric = frozenset({"effect", "95 % interval", "q", *extra.values()})
    return Table(heading, (*columns, *extra.values(), "tasks"), tuple(cells), numeric)


def _undecided(one: xr.Dataset) -> Iterator[Part]:
    yield "By this rule neither in nor out: the data do not suffice to tell, which is not the same as no effect."
    frame = one[["effect", "low", "high", "q_value", "member"]].reset_coords(drop=True).to_dataframe().reset_index()
    frame = frame[(frame["member"] == 0) & frame["effect"].notna()].sort_values("high", ascending=False)
    rows = tuple(
        (f"L{row.layer}H{row.head}", f"{row.effect:z.3f}", f"{row.low:z.3f} to {row.high:z.3f}", f"{row.q_value:.2g}")
        for row in frame.head(_LISTED).itertuples()
    )
    numeric = frozenset({"effect", "95 % interval", "q"})
    yield Table("Largest upper end first", ("head", "effect", "95 % interval", "q"), rows, numeric)
    if len(frame) > _LISTED:
        yield f"{len(frame) - _LISTED} more are hatched in the map."
