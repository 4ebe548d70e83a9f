"""All heads of the map in one table, and where they are."""

import functools
from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.registry import lookup, names
from headcats.categories.head_columns import HEAD_COLUMNS
from headcats.categories.membership import head_table
from headcats.figures import reads
from headcats.figures.layer_profile import layer_profile
from headcats.figures.overlap_map import overlap_map
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Folded, Heading, Part, drawn_or_why_not, section
from headcats.reports.page.python_lines import figure_lines
from headcats.reports.page.sections.joint_heads import requested_heads
from headcats.reports.text.maps import head_findings, unit_note
from headcats.results.finding import Table, interval_text, line, number_text, table
from headcats.results.head_axes import KV_HEAD, cell_name, unit_of

_MOST = 400
"""Rows of a table; the CSV of the page has every head."""
_NUMBERS = ["effect", "95 % interval", "q"]


@section("Heads")
def heads(material: Material) -> Iterator[Part]:
    """One row per head and category, undecided ones, one map per category, and where in the model the heads are.

    Of a joint method a row per category, and its maps.
    """
    if material.joint is not None:
        yield from requested_heads(material, material.joint)
    if (result := material.scored) is None:
        return
    overlap = result.overlap
    yield from unit_note(material.tables["members"])
    rows = head_table(overlap)
    if len(rows):
        yield _table(rows[:_MOST])
        if len(rows) > _MOST:
            yield line("map.more_rows", n=len(rows) - _MOST)
        if columns := _columns(rows, "described"):
            cells = zip(rows["head"], rows["category"], *columns.values(), strict=True)
            shown = table("map.described", ["head", "category", *columns], list(cells)[:_MOST], numeric=columns)
            yield Folded(line("map.described_of"), (shown,))
    undecided = (overlap["member"] == 0) & overlap["effect"].notnull()
    if undecided.any():
        yield Folded(line("map.undecided_heads", n=int(undecided.sum())), tuple(_undecided(overlap, undecided)))
    yield Folded(line("map.criteria"), (*head_findings(result),))
    code = functools.partial(figure_lines, material, material.spec)
    draw = functools.partial(overlap_map, overlap, title=material.spec.title)
    # Colours alone tell few categories apart: of more there is no such figure.
    of_map = drawn_or_why_not("overlap_map", draw, line("map.figure"), code("overlap_map(overlap)"), "layer-head")
    yield Folded(line("map.one_per_category"), (of_map,))
    if result.inside.any():
        draw = functools.partial(layer_profile, overlap)
        profile = drawn_or_why_not("layer_profile", draw, line("map.layers_figure"), code("layer_profile(overlap)"))
        yield Folded(line("map.where"), (profile,))
    # Figures registered by another package, or in a notebook, that read one of the tables of the map.
    for name in names("figure"):
        draw = lookup("figure", name)
        if draw.__module__.split(".")[0] != "headcats" and reads(draw) in material.tables:
            yield Heading(name)
            shown_as = line("map.registered_figure", name=name)
            of_other = functools.partial(draw, material.tables[reads(draw)])
            yield drawn_or_why_not(name, of_other, shown_as, code(f"{name}({reads(draw)})"))


def _table(rows: pd.DataFrame) -> Table:
    columns = _columns(rows, "heads")
    kinds = ["kind"] if rows["kind"].nunique() > 1 else []
    shared = ["kv head"] if KV_HEAD in rows else []
    cells = [
        (
            row["head"],
            row["category"],
            *([row["kind"]] if kinds else []),
            *([str(row[KV_HEAD])] if shared else []),
            number_text(row["effect"], 3),
            interval_text(row["low"], row["high"], 3),
            f"{row['q']:.2g}",
            *(texts[place] for texts in columns.values()),
            row["tasks"].replace(",", ", "),
        )
        for place, row in enumerate(rows.to_dict("records"))
    ]
    numeric = [*shared, *_NUMBERS, *columns]
    return table("map.all_heads", ["head", "category", *kinds, *numeric, "tasks"], cells, numeric=numeric)


def _columns(rows: pd.DataFrame, part: str) -> dict[str, list[str]]:
    """Texts of those labelled columns of a part of the page that have any number."""
    labelled = {name: of.label for name, of in HEAD_COLUMNS.items() if of.label and of.part == part}
    columns = {label: _column(rows, name.removesuffix("_low")) for name, label in labelled.items()}
    return {label: texts for label, texts in columns.items() if any(text != "-" for text in texts)}


def _column(rows: pd.DataFrame, name: str) -> list[str]:
    """Numbers, or the interval of that name; nothing where the list of heads has neither."""
    if name in rows:
        return [number_text(value, 2 if name == "probability" else 3) for value in rows[name]]
    ends = [f"{name}_low", f"{name}_high"]
    return [interval_text(low, high, 3) for low, high in rows[ends].to_numpy()] if ends[0] in rows else []


def _undecided(overlap: xr.Dataset, undecided: xr.DataArray) -> Iterator[Part]:
    yield line("map.undecided_meaning")
    unit = unit_of(overlap)
    cells = overlap[["effect", "low", "high", "q_value"]].assign(undecided=undecided)
    frame = cells.reset_coords(drop=True).to_dataframe().reset_index()
    frame = frame[frame["undecided"]].sort_values("high", ascending=False)
    rows = [
        (cell_name(row.layer, row.head, unit), row.category, number_text(row.effect, 3),
         interval_text(row.low, row.high, 3), "-" if np.isnan(row.q_value) else f"{row.q_value:.2g}")
        for row in frame.head(_MOST).itertuples()
    ]  # fmt: skip
    yield table("map.undecided_table", ["head", "category", *_NUMBERS], rows, numeric=_NUMBERS)
    if len(frame) > _MOST:
        yield line("map.more_undecided", n=len(frame) - _MOST)
