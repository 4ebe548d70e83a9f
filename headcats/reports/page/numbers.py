"""What the page's script knows of every head: categories, verdicts, tasks, and numbers over tasks and methods.

The numbers are packed so that a page can hold them for 80 x 64 heads.
"""

import base64
import json
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int16, Shaped

from headcats.categories.head_roles import head_roles
from headcats.categories.outcome import IN, NOT_JUDGED, UNDECIDED, outcomes
from headcats.figures.colours import listed_colours
from headcats.reports.page.material import Material
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.finding import by_category, line
from headcats.results.head_axes import ABSENT, HEAD, KV_HEAD, letter, noun
from headcats.results.visible import visible

_EFFECT_FIELDS = ("effect", "low", "high", "q_value")
# An effect is kept to the fourth digit; larger ones than 3.2 to 1/32000 of the largest.
_STEP, _LARGEST, _MISSING = 1e-4, 32000, -32768
# q as thousandths of its decimal logarithm: to a quarter of a percent, down to 1e-32.
_PER_DECADE = 1000
_DESCRIPTIONS = 20_000
"""Characters for the names of what is packed."""


@dataclass(frozen=True)
class Rows:
    """Numbers `(row, layer, head)` of every head in each row: a task, a category or a group, as `dim` says."""

    label: str
    dim: str
    unit: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    values: Mapping[str, Float[np.ndarray, "row layer head"]]


@dataclass
class Packed:
    """Packed numbers for the page: a description, one run of bytes, and the labels for which there was no room."""

    about: list[dict[str, Any]] = field(default_factory=list)
    data: bytes = b""
    left_out: list[str] = field(default_factory=list)


def head_store(material: Material, *, room: int) -> tuple[dict[str, Any], bytes]:
    """The description that becomes JSON, and the bytes that it describes; both take `room` characters at most."""
    model = material.run.manifest.model
    per_layer = [0] * (max(model.layers, default=0) + 1)
    for layer, n in _per_layer(material):
        per_layer[layer] = n
    grid = (len(per_layer), max(per_layer))
    described = material.run.descriptors if material.unit == HEAD else None
    about = {
        "grid": grid,
        "per_layer": per_layer,
        "letter": letter(material.unit),
        "noun": noun(material.unit),
        "kv_head": _kv_heads(material, grid),
        "missing": _missing(described),
        "attention": [
            {"category": category, "thumbnails": pictures} for category, pictures in material.attention.contents.items()
        ],
        **_categories(material, grid),
    }
    packed = pack(_rows(material, described, grid), room=room - len(deflated_json(about)) - _DESCRIPTIONS)
    return _visible(about | {"blocks": packed.about, "left_out": packed.left_out}), packed.data


def _visible(content: Any) -> Any:
    """Make texts visible; names that belong together stay the same."""
    if isinstance(content, str):
        return visible(content)
    if isinstance(content, dict):
        return {key: _visible(value) for key, value in content.items()}
    return list(map(_visible, content)) if isinstance(content, list | tuple) else content


def _per_layer(material: Material) -> Iterator[tuple[int, int]]:
    """Layer and its number of heads, or of groups where the map is of these."""
    model = material.run.manifest.model
    if material.unit == HEAD:
        yield from zip(model.layers, model.heads, strict=True)
        return
    exists = material.tables["overlap"]["effect"].notnull().any("category")
    yield from zip(exists["layer"].values.tolist(), exists.sum("head").values.tolist(), strict=True)


def _kv_heads(material: Material, grid: tuple[int, int]) -> list[list[int]] | None:
    """Number of the key-value head that each query head reads; None where none is shared, and on a page of groups."""
    for table in (material.tables.get("overlap"), material.strengths):
        if table is not None and KV_HEAD in table.coords:
            return _on_grid(table[KV_HEAD], grid, fill=ABSENT).tolist()
    return None


def pack(blocks: Sequence[Rows], *, room: int) -> Packed:
    """Pack rows in turn, the most important first, while the compressed bytes fit into `room` characters."""
    packed = Packed()
    for rows in blocks:
        about, data = _encoded(rows, start=len(packed.data))
        if packed.about and len(deflated(packed.data + data)) > room:
            packed.left_out.append(rows.label)
            continue
        packed.about.append(about)
        packed.data += data
    return packed


def deflated(data: bytes) -> str:
    """Compressed, as text that may stand in a page."""
    return base64.b64encode(zlib.compress(data, 7)).decode("ascii")  # 9 takes five times as long for .6 % less


def deflated_json(content: Any) -> str:
    """JSON, compressed likewise."""
    return deflated(json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8"))


def _rows(material: Material, described: xr.Dataset | None, grid: tuple[int, int]) -> list[Rows]:
    """The mapped method by task and by category, then what is small, joint methods and descriptors, then all others."""
    tables = [(label, "task", table) for label, table in material.scores.items()]
    if material.scored is not None:
        reduced = [(each.name, "category", each.tables["members"]) for each in material.scored.all]
        tables = [tables[0], *reduced, *tables[1:]]
    rows = []
    for label, dim, table in tables:
        names, groups = (tuple(map(str, table[coordinate].values)) for coordinate in (dim, "category"))
        values = {name: _as_shown(name, _on_grid(table[name].astype(float), grid)) for name in _EFFECT_FIELDS}
        rows.append(Rows(label, dim, "effect, in shares of the clean-corrupted gap", names, groups, values))
    small = []
    if (strengths := material.strengths) is not None:
        for label in strengths["method"].values.tolist():
            table = strengths.sel({"method": label})
            names = tuple(map(str, table["group"].values))
            values = {"score": _on_grid(table["strength"].astype(float), grid)}
            small.append(Rows(label, "group", str(table["reduction"].item()), names, names, values))
    n = 1 + len(material.scored.all) if material.scored is not None else 0
    return [*rows[:n], *small, *_described(described, grid), *rows[n:]]


def _as_shown(name: str, values: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Numbers that round as the tables of the page do, packed or not: q to two digits, others to three decimals."""
    if name == "q_value":
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = 10 ** (np.floor(np.log10(values)) - 1)
        return np.where(values > 0, np.rint(values / unit) * unit, values)
    packed, shown = np.rint(values / _STEP), 10 * np.rint(values / 1e-3)
    # .12349 would be packed as .1235, and shown as .124 instead of .123.
    return np.where(abs(packed - shown) == 5, (packed - np.sign(packed - shown)) * _STEP, values)


def _described(descriptors: xr.Dataset | None, grid: tuple[int, int]) -> Iterator[Rows]:
    """Rows of descriptors, of one unit each, and of the direct logits for the answers of every task."""
    if descriptors is None:
        return
    by_unit: dict[str, list[str]] = defaultdict(list)
    for name in descriptors.data_vars:
        if name in DESCRIPTORS and descriptors[name].dims == ("layer", "head"):
            by_unit[DESCRIPTORS[str(name)].unit].append(str(name))
    for unit, of_unit in by_unit.items():
        labels = tuple(DESCRIPTORS[name].label for name in of_unit)
        values = np.stack([_on_grid(descriptors[name], grid) for name in of_unit])
        yield Rows(f"descriptors ({unit})", "descriptor", unit, labels, labels, {"score": values})
    if "category" in descriptors.coords:
        about = DESCRIPTORS["direct_logit"]
        names, groups = (tuple(map(str, descriptors[name].values)) for name in ("task", "category"))
        values = _on_grid(descriptors["direct_logit"], grid)
        yield Rows(about.label, "task", about.unit, names, groups, {"score": values})


def _missing(descriptors: xr.Dataset | None) -> list[str]:
    """Why some descriptors have no number, each reason with what it is of."""
    of_reason: dict[str, list[str]] = defaultdict(list)
    for name, values in {} if descriptors is None else descriptors.data_vars.items():
        if reason := values.attrs.get("missing"):
            of_reason[reason].append(DESCRIPTORS[str(name)].label)
    return [f"{', '.join(labels)}: {reason}" for reason, labels in of_reason.items()]


def _categories(material: Material, grid: tuple[int, int]) -> dict[str, Any]:
    """Categories, and of each one the verdict on every head and the tasks that heads pass in."""
    about: dict[str, Any] = {"in_letter": "i", "categories": [], "maps": [], "tasks": [], "roles": {}}
    if material.scored is None:
        return about
    overlap = material.tables["overlap"]
    colours = listed_colours(overlap)
    if overlap.attrs.get("sign") == "suppressing":
        about["in_letter"] = "s"
    for role in head_roles(overlap):
        about["roles"].setdefault(role.head, []).append(str(line("answer.role", **role._asdict())))
    for category, table in by_category(overlap):
        about["categories"].append({"name": category, "colour": colours[category]})
        # Place of a head, layer by layer -> its tasks; heads without any are left out.
        texts = _on_grid(table["tasks"].astype(object), grid, fill="").ravel().tolist()
        about["tasks"].append({place: str(text) for place, text in enumerate(texts) if text})
    for each in material.scored.all:
        tables = dict(by_category(each.overlap))
        verdicts = [_verdicts(tables[name], about["in_letter"], grid) if name in tables else "-" * (grid[0] * grid[1])
                    for name in (entry["name"] for entry in about["categories"])]  # fmt: skip
        about["maps"].append({"name": each.name, "verdicts": verdicts})
    return about


def _verdicts(category: xr.Dataset, letter: str, grid: tuple[int, int]) -> str:
    """A letter for every head, layer by layer: in, suppressing, undecided, out, or "-" where there is no number."""
    outcome = _on_grid(outcomes(category), grid, fill=NOT_JUDGED)
    suppressing = _on_grid(category.get("suppressing", 0 * category["member"]), grid, fill=0)
    cases = [outcome == NOT_JUDGED, outcome == IN, suppressing == 1, outcome == UNDECIDED]
    return "".join(np.select(cases, ["-", letter, "s", "u"], "o").ravel().tolist())


def _on_grid(
    values: xr.DataArray, grid: tuple[int, int], *, fill: Any = np.nan
) -> Shaped[np.ndarray, "*row layer head"]:
    """Values with every layer and head from 0 on; `fill` where one is absent."""
    bare = values.reset_coords(drop=True).transpose(..., "layer", "head")
    return bare.reindex(layer=range(grid[0]), head=range(grid[1]), fill_value=fill).to_numpy()


def _encoded(rows: Rows, *, start: int) -> tuple[dict[str, Any], bytes]:
    """Description and bytes; `low` and `high` are kept as distances from the effect, which compress better."""
    sizes = {name: array for name, array in rows.values.items() if name != "q_value"}
    largest = max(np.abs(array[np.isfinite(array)]).max(initial=0.0) for array in sizes.values())
    # Twice, as the distance of an end from its effect has to fit too.
    step = max(_STEP if "effect" in sizes else 0.0, 2 * float(largest) / _LARGEST) or _STEP
    steps = {name: _counts(array, step) for name, array in sizes.items()}
    data = b""
    for name, array in rows.values.items():
        if name == "q_value":
            with np.errstate(divide="ignore"):
                counts = _counts(np.log10(np.maximum(array, 1e-32)), 1 / _PER_DECADE)
        elif name in ("low", "high"):
            distance = (1 if name == "high" else -1) * (steps[name].astype(int) - steps["effect"])
            missing = (steps[name] == _MISSING) | (steps["effect"] == _MISSING)
            counts = np.where(missing, _MISSING, distance).astype(np.int16)
        else:
            counts = steps[name]
        # All low bytes, then all high bytes: the latter hardly differ, and take next to no room.
        data += counts.astype("<i2", order="C").view(np.uint8).reshape(-1, 2).T.tobytes()
    about = {
        "label": rows.label, "what": rows.dim, "unit": rows.unit, "names": list(rows.names),
        "groups": list(rows.groups), "fields": list(rows.values), "step": step, "start": start,
        "shape": list(next(iter(sizes.values())).shape),
    }  # fmt: skip
    return about, data


def _counts(values: Float[np.ndarray, "*shape"], step: float) -> Int16[np.ndarray, "*shape"]:
    finite = np.isfinite(values)
    return np.where(finite, np.rint(np.where(finite, values, 0) / step), _MISSING).astype(np.int16)
