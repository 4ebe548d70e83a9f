"""Relation scores as labelled data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import xarray as xr

from headcats.methods.ov_relation.pairs import Relation
from headcats.methods.ov_relation.settings import RelationSettings
from headcats.methods.ov_relation.static import Counts
from headcats.tasks.definition import Task
from headcats.tasks.suites import make_suite

_GRID = ("task", "layer", "head")


def labelled(
    relation: Relation,
    counts: Counts,
    settings: RelationSettings,
    *,
    layers: Sequence[int],
    category: str,
    provenance: Mapping[str, Any],
) -> xr.Dataset:
    """One relation as a dataset with a `task` axis of one, with its null and thresholds."""
    ds = xr.Dataset(
        coords={
            "task": [relation.name],
            "layer": list(layers),
            "head": list(range(counts.top.shape[1])),
            "category": ("task", [category]),
        }
    )
    for name, side, prefix in (("score", "top", ""), ("suppression", "bottom", "suppression_")):
        null = counts.null(side, percentile=settings.null_percentile)
        ds[name] = (_GRID, counts.shares(side)[None])
        ds[f"{prefix}null"] = ("task", [null])
        ds[f"{prefix}threshold"] = ("task", [max(settings.threshold, null)])
    ds["direct"] = ("task", [counts.direct / counts.pairs])
    ds["direct_later"] = ("task", [counts.direct_later / counts.pairs])
    ds["n"] = ("task", np.array([len(relation)]))
    ds["k"] = ("task", np.array([settings.k_of(copying=relation.copying)]))
    provenance_of_relation = {
        **provenance,
        "settings": asdict(settings),
        "sign": "score: the head raises the targets; suppression: it lowers them",
        "relations": {
            relation.name: {
                "copying": relation.copying,
                "kept": relation.report.kept,
                "dropped": relation.report.dropped,
            }
        },
    }
    return ds.assign_attrs(
        method=provenance["method"], provenance=json.dumps(provenance_of_relation, ensure_ascii=False)
    )


def joined(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Relations of one model and one setting along `task`, in their order."""
    together = xr.concat(list(parts), dim="task", combine_attrs="override", join="exact")
    provenances = [json.loads(part.attrs["provenance"]) for part in parts]
    relations = {name: entry for part in provenances for name, entry in part["relations"].items()}
    return together.assign_attrs(provenance=json.dumps(provenances[0] | {"relations": relations}, ensure_ascii=False))


def category_list(categories: Sequence[str]) -> str:
    """The attribute `categories`, in order of first appearance, with the colours that a suite would give them."""
    tasks = [
        Task(f"relation{number}", name, "relations of a script", lambda n, *, seed: [])
        for number, name in enumerate(categories)
    ]
    entries = [{"name": category.name, "colour": category.colour} for category in make_suite(tasks).categories]
    return json.dumps(entries, ensure_ascii=False)
