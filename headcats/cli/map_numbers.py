"""What a map says, as numbers for `--json`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories import head_table

_COUNTS = ["observed", "expected", "p", "expected_within_layers", "p_within_layers"]


def map_numbers(found: Mapping[str, xr.Dataset]) -> dict[str, Any]:
    """A map of scored tasks.

    Args:
        found: What `headcats.findings.mapping.tables` returns.

    Returns:
        See `headcats map --help`.
    """
    members, shared = found["members"], found["overlap"]
    attrs, sign = members.attrs, shared.attrs.get("sign", "helping")
    outcome, prefix = ("suppressing", "suppressing_") if sign == "suppressing" else ("member", "")
    return {
        **{name: attrs[name] for name in ("method", "positions", "metric", "rule")},
        "effect": attrs.get("effect", "total"),
        "min_tasks": attrs["asked_min_tasks"],
        "sign": sign,
        "model": attrs["model"],
        "not_judged": attrs.get("not_judged"),
        "categories": [
            {
                "category": name,
                "tasks": one["n_tasks"].item(),
                "tasks_needed": one["min_tasks"].item(),
                "judged": bool(one["effect"].notnull().any()),
                "heads": one[f"{prefix}size"].item(),
                "heads_without_effect": one["size_expected"].item() if "size_expected" in one else None,
                "undecided": int((one[outcome] == 0).where(one["effect"].notnull()).sum()),
            }
            for name, one in ((name, members.sel(category=name)) for name in members["category"].values.tolist())
        ],
        "heads": _heads(shared),
        "shared": _counts(shared),
        "overlap": _overlap(shared),
        "reach": found["scores"].attrs.get("reach"),
    }


def relation_numbers(
    block: xr.Dataset, shared: xr.Dataset, *, threshold: str | float, tried: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """A map of relations by weights.

    Args:
        block: The relations.
        shared: What `hc.overlap` returns of the categories that they make.
        threshold: As in `hc.relation_members`.
        tried: Category that the method was asked for -> relations of it that were refused.

    Returns:
        See `headcats map --help`.
    """
    here = shared["category"].values.tolist()
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
            for name in here
        ]
        + [{"category": name, "relations": 0, "heads": None, "refused": list(tried[name])}
           for name in tried if name not in here],
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
    listed = head_table(shared)
    tasks = [[name for name in text.split(",") if name] for text in listed["tasks"].str.replace(" ", "")]
    return [row | {"tasks": own} for row, own in zip(_rows(listed), tasks, strict=True)]


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
