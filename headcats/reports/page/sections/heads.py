"""Heads of the map, what categories share, and what other methods say of heads."""

import functools
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.registry import lookup, names
from headcats.categories.head_columns import HEAD_COLUMNS
from headcats.categories.map_result import MapResult, block_title
from headcats.categories.map_spec import MapSpec
from headcats.categories.membership import head_table
from headcats.figures.figure import reads
from headcats.figures.overlap_map import overlap_map
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Folded, Heading, Part, drawn_or_why_not, section
from headcats.reports.text.maps import head_findings, shared_findings, unit_note
from headcats.reports.text.short import block_findings, suite_findings
from headcats.results.finding import Table, interval_text, line, number_text, table
from headcats.results.head_axes import HEAD, KV_HEAD, cell_name, unit_of
from headcats.results.label import Label

_MOST = 400
"""Rows of a table; the CSV of the page has every head."""
_NUMBERS = ["effect", "95 % interval", "q"]


@section("Heads")
def heads(material: Material) -> Iterator[Part]:
    """One row per head and category, undecided ones, and figures of other packages."""
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
        n = int(undecided.any("category").sum())
        yield Folded(line("map.undecided_heads", n=n), tuple(_undecided(overlap, undecided)))
    yield Folded(line("map.criteria"), (*head_findings(result),))
    # Figures registered by another package, or in a notebook, that read one of the tables of the map.
    for name in names("figure"):
        draw = lookup("figure", name)
        if draw.__module__.split(".")[0] != "headcats" and reads(draw) in material.tables:
            yield Heading(name)
            shown_as = line("map.registered_figure", name=name)
            of_other = functools.partial(draw, material.tables[reads(draw)])
            yield drawn_or_why_not(name, of_other, shown_as)


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


@section("Overlap")
def shared(material: Material) -> Iterator[Part]:
    """Shared heads, Jaccard indices, and every sentence that `headcats map` prints below them."""
    if (result := material.scored) is None:
        return
    yield from shared_findings(result)


@section("Other methods")
def methods(material: Material) -> Iterator[Part]:
    """A figure and a few sentences for each."""
    declarations = material.run.declarations
    shown = [
        (label, block, block_title(block) if declarations[label].figure else "", suite_findings(block))
        for label, block in material.run.joint_blocks.items()
    ]
    for label, scores in material.scores.items():
        if declarations[label].figure:
            spec = MapSpec(Label.parse(label), material.spec.metric).resolve(material.run)
            shown.append((label, scores, spec.scores_title, []))
    for place, (label, data, title, findings) in enumerate(shown):
        yield Heading(label)
        yield from findings
        declared = declarations[label]
        if name := declared.figure:
            alt = line("methods.figure", label=label, name=name)
            # A cell of a head says nothing of the groups that the page is about.
            heads = declared.figure_heads if material.unit == HEAD else ""
            draw = functools.partial(_drawn, name, data, title=title)
            yield drawn_or_why_not(f"{name}_{place}", draw, alt, heads)
    for label, reason in material.not_scored.items():
        yield line("methods.not_scored", label=label, reason=reason)


def _drawn(name: str, table: xr.Dataset, *, title: str) -> go.Figure:
    return lookup("figure", name)(table, title=title)


def requested_heads(material: Material, result: MapResult) -> Iterator[Part]:
    """Heads of the joint method that the page is of, as its rule and its options select them."""
    yield from block_findings(result)
    if result.inside.any():
        draw = functools.partial(overlap_map, result.overlap, title=result.title)
        shown = line("methods.figure", label=result.name, name="overlap_map")
        # A cell of a head says nothing of the groups that the page is about.
        heads: Literal["layer-head", ""] = "layer-head" if material.unit == HEAD else ""
        yield drawn_or_why_not("overlap_map_selected", draw, shown, heads)
