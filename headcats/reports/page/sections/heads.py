"""The overlap map, and the heads of every category with their numbers."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories.head_list import head_table
from headcats.figures import reads
from headcats.figures.layer_profile import layer_profile
from headcats.figures.overlap_map import overlap_map
from headcats.registry import lookup, names
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn, Folded, Heading, Part, section
from headcats.reports.text.finding import Finding, Table, line, table
from headcats.reports.text.maps import head_findings

_ROWS = 40
_NUMBERS = ["effect", "95 % interval", "q"]


@section("Map of the heads")
def heads(material: Material) -> Iterator[Part]:
    """The map, and below it what the map is made of."""
    if not material.tables:
        return
    overlap = material.tables["overlap"]
    figure = overlap_map(overlap, title=material.reading.title)
    yield Drawn("overlap_map", figure, line("map.figure"), heads="layer-head")
    yield line("map.choose_head")
    yield from head_findings(material.tables, material.reading)
    all_heads = head_table(overlap)
    for category in overlap["category"].values.tolist():
        yield Heading(category)
        of_category = all_heads[all_heads["category"] == category]
        yield from _category(overlap.sel(category=category), of_category, overlap.attrs.get("sign", "helping"))
    if bool((overlap["member"] == 1).any()):
        yield Heading("Where in the model")
        yield Drawn("layer_profile", layer_profile(overlap), line("map.layers_figure"))
    # Figures registered by another package, or in a notebook, that read one of the tables of the map.
    for name in names("figure"):
        draw = lookup("figure", name)
        if draw.__module__.split(".")[0] != "headcats" and reads(draw) in material.tables:
            yield Heading(name)
            yield Drawn(name, draw(material.tables[reads(draw)]), line("map.registered_figure", name=name))


def _category(overlap: xr.Dataset, of_category: pd.DataFrame, sign: str) -> Iterator[Part]:
    if not bool(overlap["effect"].notnull().any()):
        yield line("map.category_skipped")
        return
    category = str(overlap["category"].item())
    needed, n = (int(overlap[name]) for name in ("min_tasks", "n_tasks"))
    yield line("map.criterion", category=category, needed=needed, n=n, chance=_chance(overlap))
    for kind in ("helping", "suppressing"):
        rows = of_category[of_category["kind"] == kind]
        if len(rows):
            yield _table("map.category_heads", rows[:_ROWS], category=category, kind=kind)
        elif kind == sign:
            yield line("map.no_head", kind=kind, category=category)
        if len(rows) > _ROWS:
            rest = _table("map.more_category_heads", rows[_ROWS:], category=category, kind=kind)
            yield Folded(line("map.more_heads", n=len(rows) - _ROWS, kind=kind), (rest,))
    undecided = int(((overlap["member"] == 0) & overlap["effect"].notnull()).sum())
    if undecided:
        yield Folded(line("map.undecided_heads", n=undecided), tuple(_undecided(overlap)))


def _chance(overlap: xr.Dataset) -> Finding | None:
    expected = float(overlap["size_expected"]) if "size_expected" in overlap else float("nan")
    if not np.isfinite(expected):
        return None
    return line("map.chance", n=expected) if f"{expected:.1f}" != "0.0" else line("map.chance_none")


def _table(id: str, rows: pd.DataFrame, **title: str) -> Table:
    optional = {"specific": "task-specific", "probability": "in resamples"}
    optional = {name: column for name, column in optional.items() if name in rows and rows[name].notna().any()}
    cells = [
        (
            str(row["head"]),
            f"{row['effect']:z.3f}",
            f"{row['low']:z.3f} to {row['high']:z.3f}",
            f"{row['q']:.2g}",
            *(f"{row[name]:z.2f}" if np.isfinite(row[name]) else "-" for name in optional),
            str(row["tasks"]).replace(",", ", "),
        )
        for _, row in rows.iterrows()
    ]
    numeric = [*_NUMBERS, *optional.values()]
    return table(id, ["head", *numeric, "tasks"], cells, numeric=numeric, **title)


def _undecided(overlap: xr.Dataset) -> Iterator[Finding]:
    yield line("map.undecided_meaning")
    columns = ["effect", "low", "high", "q_value", "member"]
    frame = overlap[columns].reset_coords(drop=True).to_dataframe().reset_index()
    frame = frame[(frame["member"] == 0) & frame["effect"].notna()].sort_values("high", ascending=False)
    rows = [
        (f"L{row.layer}H{row.head}", f"{row.effect:z.3f}", f"{row.low:z.3f} to {row.high:z.3f}", f"{row.q_value:.2g}")
        for row in frame.head(_ROWS).itertuples()
    ]
    yield table("map.undecided_table", ["head", *_NUMBERS], rows, numeric=_NUMBERS)
    if len(frame) > _ROWS:
        yield line("map.more_undecided", n=len(frame) - _ROWS)
