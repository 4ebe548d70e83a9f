"""The overlap map, the heads of every category, what categories share, and the numbers of every head."""

import functools
from collections.abc import Iterator

import pandas as pd
import xarray as xr

from headcats.categories.membership import head_table
from headcats.figures import reads
from headcats.figures.layer_profile import layer_profile
from headcats.figures.overlap_map import overlap_map
from headcats.figures.set_counts import set_counts
from headcats.registry import lookup, names
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn, Explorer, Folded, Heading, Part, drawn_or_why_not, section
from headcats.reports.text.maps import head_findings, shared_findings
from headcats.reports.text.over_tasks import difference_table, required_tasks
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.finding import Table, by_category, interval_text, line, number_text, table
from headcats.results.head_axes import KV_HEAD, cell_name, unit_of

_ROWS = 40
_NUMBERS = ["effect", "95 % interval", "q"]
# Column of the head list, or name of an interval in it -> column of the page.
_OPTIONAL = {"specific": "task-specific", "probability": "in resamples", "new_task": "a new task"}
_OVER_TASKS = {"mean_effect": "mean of tasks", "these_tasks": "these tasks", "new_task": "a new task"}
_OVER_TASKS |= {"task_sd": "SD between tasks"}
_DESCRIPTORS = {name: about.label for name, about in DESCRIPTORS.items()}


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
    yield from required_tasks(material.tables, material.reading)
    all_heads = head_table(overlap)
    for category, row in by_category(overlap):
        yield Heading(category)
        yield from _category(row, all_heads[all_heads["category"] == category], material.reading.sign)
    if bool((overlap["member"] == 1).any()):
        yield Heading("Where in the model")
        yield Drawn("layer_profile", layer_profile(overlap), line("map.layers_figure"))
    # Figures registered by another package, or in a notebook, that read one of the tables of the map.
    for name in names("figure"):
        draw = lookup("figure", name)
        if draw.__module__.split(".")[0] != "headcats" and reads(draw) in material.tables:
            yield Heading(name)
            shown = line("map.registered_figure", name=name)
            yield drawn_or_why_not(name, functools.partial(draw, material.tables[reads(draw)]), shown)


@section("Overlap against chance")
def shared(material: Material) -> Iterator[Part]:
    """Counts and Jaccard indices with what chance gives, and every sentence that `headcats map` prints below them."""
    if not material.tables:
        return
    overlap = material.tables["overlap"]
    if bool((overlap["member"] == 1).any()) and overlap.sizes["category"] > 1:
        yield Drawn("set_counts", set_counts(overlap), line("map.set_counts_figure"))
    yield from shared_findings(material.tables, material.reading)
    yield from difference_table(material.tables["differences"])


@section("Every head, task by task")
def explorer(material: Material) -> Iterator[Part]:
    """Drawn by the page's script from the packed numbers."""
    if material.tables or material.strengths is not None:
        yield Explorer()
    for label, reason in material.not_scored.items():
        yield line("explorer.not_scored", label=label, reason=reason)


def _category(overlap: xr.Dataset, of_category: pd.DataFrame, sign: str) -> Iterator[Part]:
    has_number = overlap["effect"].notnull()
    if not bool(has_number.any()):
        yield line("map.category_skipped")
        return
    category, chance = str(overlap["category"].item()), None
    needed, n = (int(overlap[name]) for name in ("min_tasks", "n_tasks"))
    expected = number_text(overlap.get("size_expected"), 1)
    if expected != "-":
        chance = line("map.chance_rare") if expected == "0.0" else line("map.chance", n=expected)
    yield line("map.criterion", category=category, needed=needed, n=n, chance=chance)
    for kind in ("helping", "suppressing"):
        rows = of_category[of_category["kind"] == kind]
        first_rows, more_rows = rows[:_ROWS], rows[_ROWS:]
        if len(rows):
            yield _table("map.category_heads", first_rows, category=category, kind=kind)
        elif kind == sign:
            yield line("map.no_head", kind=kind, category=category)
        if len(more_rows):
            more = _table("map.more_category_heads", more_rows, category=category, kind=kind)
            yield Folded(line("map.more_heads", n=len(more_rows), kind=kind), (more,))
        if columns := _columns(rows, _OVER_TASKS):
            over_tasks = zip(rows["head"], *columns.values(), strict=True)
            shown = table("map.over_tasks", ["head", *columns], over_tasks, numeric=columns)
            yield Folded(line("map.over_tasks_of", kind=kind), (shown,))
        if columns := _columns(rows, _DESCRIPTORS):
            described = zip(rows["head"], *columns.values(), strict=True)
            shown = table("map.descriptors", ["head", *columns], described, numeric=columns)
            yield Folded(line("map.descriptors_of", kind=kind), (shown,))
    undecided = (overlap["member"] == 0) & has_number
    if undecided.any():
        yield Folded(line("map.undecided_heads", n=int(undecided.sum())), tuple(_undecided(overlap, undecided)))


def _numbers(effect: float, low: float, high: float, q: float) -> tuple[str, str, str]:
    return number_text(effect, 3), interval_text(low, high, 3), f"{q:.2g}"


def _table(id: str, rows: pd.DataFrame, **title: str) -> Table:
    columns = _columns(rows, _OPTIONAL)
    cells = [
        (
            row["head"],
            *([str(row[KV_HEAD])] if KV_HEAD in row else []),
            *_numbers(row["effect"], row["low"], row["high"], row["q"]),
            *(texts[place] for texts in columns.values()),
            row["tasks"].replace(",", ", "),
        )
        for place, row in enumerate(rows.to_dict("records"))
    ]
    shared = ["kv head"] if KV_HEAD in rows else []
    numeric = [*shared, *_NUMBERS, *columns]
    return table(id, ["head", *numeric, "tasks"], cells, numeric=numeric, **title)


def _columns(rows: pd.DataFrame, optional: dict[str, str]) -> dict[str, list[str]]:
    """Texts of those columns that have any number."""
    columns = {column: _column(rows, name) for name, column in optional.items()}
    return {column: texts for column, texts in columns.items() if any(text != "-" for text in texts)}


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
        (cell_name(row.layer, row.head, unit), *_numbers(row.effect, row.low, row.high, row.q_value))
        for row in frame.head(_ROWS).itertuples()
    ]
    yield table("map.undecided_table", ["head", *_NUMBERS], rows, numeric=_NUMBERS)
    if len(frame) > _ROWS:
        yield line("map.more_undecided", n=len(frame) - _ROWS)
