"""What a map says, as numbers for `--json`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories.head_list import head_table
from headcats.categories.reading import Reading

_COUNTS = ["observed", "expected", "p", "expected_within_layers", "p_within_layers"]


def map_numbers(tables: Mapping[str, xr.Dataset], reading: Reading) -> dict[str, Any]:
    """A map of scored tasks.

    Args:
        tables: What `headcats.categories.reading.map_tables` returns.
        reading: What they are of.

    Returns:
        See `headcats map --help`.
    """
    members, shared = tables["members"], tables["overlap"]
    outcome, prefix = ("suppressing", "suppressing_") if reading.sign == "suppressing" else ("member", "")
    return {
        "method": reading.label.method,
        "positions": reading.label.positions,
        "metric": reading.metric,
        "rule": repr(reading.rule),
        "effect": reading.effect,
        "min_tasks": str(reading.min_tasks),
        "sign": reading.sign,
        "model": reading.model,
        "not_judged": members.attrs.get("not_judged"),
        "categories": [
            {
                "category": name,
                "tasks": category["n_tasks"].item(),
                "tasks_needed": category["min_tasks"].item(),
                "judged": bool(category["effect"].notnull().any()),
                "heads": category[f"{prefix}size"].item(),
                "heads_without_effect": category["size_expected"].item() if "size_expected" in category else None,
                "undecided": int((category[outcome] == 0).where(category["effect"].notnull()).sum()),
            }
            for name, category in ((name, members.sel(category=name)) for name in members["category"].values.tolist())
        ],
        "heads": _heads(shared),
        "shared": _counts(shared),
        "overlap": _overlap(shared),
        "reach": tables["scores"].attrs.get("reach"),
    }


def relation_numbers(
    block: xr.Dataset, shared: xr.Dataset, *, threshold: str | float, tried: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """A map of relations by weights.

    Args:
        block: The relations.
        shared: What `hc.overlap` returns of the categories that they make.
        threshold: As in `hc.categories.relation_members`.
        tried: Category that the method was asked for -> relations of it that were refused.

    Returns:
        See `headcats map --help`.
    """
    mapped = shared["category"].values.tolist()
    least = block["threshold"] if threshold == "calibrated" else xr.full_like(block["threshold"], float(threshold))
    largest = block["score"].max(("layer", "head"))
    return {
        "method": block.attrs["label"],
        "rule": shared.attrs["rule"],
        "sign": "helping",
        "model": block.attrs["model"],
        "categories": [
            {
                "category": name,
                "relations": shared["n_tasks"].sel(category=name).item(),
                "heads": shared["size"].sel(category=name).item(),
                "refused": list(tried.get(name, ())),
            }
            for name in mapped
        ]
        + [{"category": name, "relations": 0, "heads": None, "refused": list(tried[name])}
           for name in tried if name not in mapped],
        "heads": _heads(shared),
        "shared": _counts(shared),
        "overlap": _overlap(shared),
        "relations": [
            {
                "relation": str(task),
                "category": block["category"].values[place],
                "pairs": block["n"].values[place],
                "null": block["null"].values[place],
                "threshold": least.values[place],
                "heads": int((block["score"].values[place] >= least.values[place]).sum()),
                "largest_score": largest.values[place],
            }
            for place, task in enumerate(block["task"].values)
        ],
    }  # fmt: skip


def _heads(shared: xr.Dataset) -> list[dict[str, Any]]:
    rows = _rows(head_table(shared))
    return [row | {"tasks": [name for name in row["tasks"].replace(" ", "").split(",") if name]} for row in rows]


def _counts(shared: xr.Dataset) -> list[dict[str, Any]]:
    return _rows(shared[_COUNTS].reset_coords(drop=True).to_dataframe().reset_index())


def _overlap(shared: xr.Dataset) -> list[dict[str, Any]]:
    names = shared["category"].values.tolist()
    ends = [name for name in ("jaccard", "jaccard_low", "jaccard_high") if name in shared]
    return [
        {"category": name, "other": other}
        | {end: np.asarray(shared[end].sel(category=name, other=other)).item() for end in ends}
        for place, name in enumerate(names)
        for other in names[place + 1 :]
    ]


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
