"""Numbers of `headcats map --json`, as its help describes them."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories.map_result import MapResult
from headcats.categories.membership import head_table
from headcats.reports.text.joint_blocks import relation_numbers

_COUNTS = ["observed", "observed_least", "observed_most", "expected", "p", "expected_within_layers", "p_within_layers"]
_JACCARD = ["jaccard", "jaccard_low", "jaccard_high", "jaccard_least", "jaccard_most"]
_KV_PAIRS = ["kv_pairs", "kv_pairs_expected", "kv_pairs_p", "kv_pairs_q"]


def map_numbers(result: MapResult, *, model: str) -> dict[str, Any]:
    """Numbers of a map, as `headcats map --help` says."""
    about: dict[str, Any] = {"method": result.name}
    if result.is_scored:
        spec = result.spec
        about = {"method": spec.label.method, "positions": spec.label.positions, "metric": spec.metric}
        about |= {"rule": repr(spec.rule), "effect": spec.effect, "min_tasks": str(spec.min_tasks)}
        categories, more = _of_scored(result), {"reach": result.tables["scores"].attrs.get("reach")}
    elif result.block is None:
        about = dict(zip(("method", "and"), result.methods, strict=True))
        categories, more = {"categories": result.agreed}, {}
    else:
        categories, more = {"categories": _of_joint(result)}, _relations(result)
    known = {"rule": result.tables["members"].attrs["rule"], "sign": result.sign, "model": model}
    return about | known | categories | overlap_numbers(result.overlap) | more


def _of_scored(result: MapResult) -> dict[str, Any]:
    shared = result.overlap
    return {
        "not_judged": result.not_judged or None,
        "categories": [
            {
                "category": category.name,
                "tasks": category.n_tasks,
                "tasks_needed": category.min_tasks,
                "judged": category.judged,
                "heads": category.size,
                "heads_without_effect": category.expected,
                "undecided": category.n_undecided,
                **{kind: shared[kind].sel(category=category.name).item() for kind in _KV_PAIRS if kind in shared},
            }
            for category in result.categories
        ],
    }


def _of_joint(result: MapResult) -> list[dict[str, Any]]:
    """Categories with their heads and skipped relations; also those that were tried and have no relation."""
    judged = {category.name: category for category in result.categories}
    return [
        {
            "category": name,
            **({"relations": judged[name].n_tasks if name in judged else 0} if result.is_of_relations else {}),
            "heads": judged[name].size if name in judged else None,
            "skipped": list(result.tried.get(name, ())),
        }
        for name in dict.fromkeys([*judged, *result.tried])
    ]


def _relations(result: MapResult) -> dict[str, Any]:
    if not result.is_of_relations:
        return {}
    relations = {name: values.values for name, values in relation_numbers(result).items()}
    return {"relations": pd.DataFrame(relations)}


def overlap_numbers(shared: xr.Dataset) -> dict[str, Any]:
    """Heads, how many are in exactly k categories, and the Jaccard index of every two categories."""
    names = shared["category"].values.tolist()
    ends = [name for name in _JACCARD if name in shared]
    heads = head_table(shared).to_dict("records")
    return {
        "heads": [
            {str(key): value for key, value in row.items()}
            | {"tasks": [name for name in row["tasks"].replace(" ", "").split(",") if name]}
            for row in heads
        ],
        "shared": shared[_COUNTS].reset_coords(drop=True).to_dataframe().reset_index(),
        "overlap": [
            {"category": name, "other": second}
            | {end: np.asarray(shared[end].sel(category=name, other=second)).item() for end in ends}
            for place, name in enumerate(names)
            for second in names[place + 1 :]
        ],
    }
