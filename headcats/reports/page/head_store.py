"""What the page's script knows of every head: categories, verdicts, tasks, and numbers over tasks and methods."""

import json
from typing import Any

import numpy as np
import plotly.colors
import xarray as xr

from headcats.figures.colours import DIVERGING
from headcats.reports.page.material import Material
from headcats.reports.page.numbers import Packed, Rows, deflated_json, effect_rows, on_grid, pack

_DESCRIPTIONS = 20_000
"""Characters for the names of what is packed."""
_SEQUENTIAL = "Viridis"


def head_store(material: Material, *, room: int) -> tuple[dict[str, Any], bytes]:
    """The description that becomes JSON, and the bytes that it describes (see `headcats.reports.page.numbers`).

    Args:
        material: What the page shows.
        room: Characters that both may take, compressed.
    """
    grid, per_layer = _grid(material)
    without = _described(material, Packed(), grid, per_layer)
    packed = pack(_rows(material, grid), room=room - len(deflated_json(without)) - _DESCRIPTIONS)
    return _described(material, packed, grid, per_layer), packed.data


def _grid(material: Material) -> tuple[tuple[int, int], list[int]]:
    model = material.manifest.model
    per_layer = [0] * (max(model.layers) + 1)
    for layer, n in zip(model.layers, model.heads, strict=True):
        per_layer[layer] = n
    return (len(per_layer), max(per_layer)), per_layer


def _rows(material: Material, grid: tuple[int, int]) -> list[Rows]:
    """The mapped method by task and by category, then the joint methods, which are small, then all others."""
    rows = [effect_rows(table, dim="task", label=label, grid=grid) for label, table in material.scores.items()]
    if material.tables:
        rows.insert(1, effect_rows(material.tables["members"], dim="category", label=material.mapped, grid=grid))
    strengths = material.strengths
    if strengths is None:
        return rows
    for label in strengths["method"].values.tolist():
        table = strengths.sel({"method": label})
        groups = tuple(str(name) for name in table["group"].values)
        values = {"score": on_grid(table["strength"].astype(float), grid)}
        rows.insert(min(2, len(rows)), Rows(label, "group", str(table["reduction"].item()), groups, groups, values))
    return rows


def _described(material: Material, packed: Packed, grid: tuple[int, int], per_layer: list[int]) -> dict[str, Any]:
    about: dict[str, Any] = {
        "grid": grid,
        "per_layer": per_layer,
        "blocks": packed.about,
        "left_out": packed.left_out,
        "scales": {"effect": _scale(DIVERGING), "score": _scale(_SEQUENTIAL)},
        "in_letter": "i",
        "categories": [],
        "verdicts": [],
        "tasks": [],
    }
    if not material.tables:
        return about
    overlap = material.tables["overlap"]
    colours = {entry["name"]: entry["colour"] for entry in json.loads(overlap.attrs["categories"])}
    if overlap.attrs.get("sign") == "suppressing":
        about["in_letter"] = "s"
    for category in overlap["category"].values.tolist():
        table = overlap.sel(category=category)
        about["categories"].append({"name": category, "colour": colours[category]})
        about["verdicts"].append(_verdicts(table, about["in_letter"], grid))
        about["tasks"].append(_tasks(table, grid))
    return about


def _verdicts(category: xr.Dataset, letter: str, grid: tuple[int, int]) -> str:
    """A letter for every head, layer by layer: in, suppressing, undecided, out, or "-" where there is no number."""
    member, effect = (on_grid(category[name].astype(float), grid) for name in ("member", "effect"))
    suppressing = (
        on_grid(category["suppressing"].astype(float), grid, fill=0.0) if "suppressing" in category else np.zeros(grid)
    )
    cases = [~np.isfinite(effect), member == 1, suppressing == 1, member == 0]
    return "".join(np.select(cases, ["-", letter, "s", "u"], "o").ravel().tolist())


def _tasks(category: xr.Dataset, grid: tuple[int, int]) -> dict[int, str]:
    """Place of a head, layer by layer -> the tasks that it passes in; heads without any are left out."""
    texts = on_grid(category["tasks"].astype(object), grid, fill="").ravel()
    return {place: str(text) for place, text in enumerate(texts.tolist()) if text}


def _scale(name: str) -> list[list[Any]]:
    return [[float(place), colour] for place, colour in plotly.colors.get_colorscale(name)]
