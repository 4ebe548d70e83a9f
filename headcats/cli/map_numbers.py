"""What `headcats map --json` says, as its help describes it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories.by_block import checked_selection
from headcats.categories.membership import head_table
from headcats.categories.reading import Reading
from headcats.reports.text.joint_blocks import least_scores, of_tasks
from headcats.rules.rule import Rule

_COUNTS = ["observed", "observed_least", "observed_most", "expected", "p", "expected_within_layers", "p_within_layers"]
_JACCARD = ["jaccard", "jaccard_low", "jaccard_high", "jaccard_least", "jaccard_most"]
_KV_PAIRS = ["kv_pairs", "kv_pairs_expected", "kv_pairs_p", "kv_pairs_q"]


def map_numbers(tables: Mapping[str, xr.Dataset], reading: Reading) -> dict[str, Any]:
    """A map of scored tasks (`map_tables`), as `headcats map --help` says."""
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
                **{kind: shared[kind].sel(category=name).item() for kind in _KV_PAIRS if kind in shared},
            }
            for name, category in ((name, members.sel(category=name)) for name in members["category"].values.tolist())
        ],
        **overlap_numbers(shared),
        "reach": tables["scores"].attrs.get("reach"),
    }


def joint_numbers(
    block: xr.Dataset, tables: Mapping[str, xr.Dataset], *, rule: Rule | None, tried: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """A map of a joint method, as `headcats map --help` says; `tried`: category -> its skipped relations."""
    members, shared = tables["members"], tables["overlap"]
    mapped = shared["category"].values.tolist()
    relations, by_task = dict[str, xr.DataArray](), of_tasks(block)
    n_relations = dict(zip(mapped, shared["n_tasks"].values.tolist(), strict=True))
    if by_task:
        least, scores = least_scores(block, rule), block[checked_selection(block).variable]
        counted = {"pairs": "n", "null": "null"}
        relations = {
            "relation": block["task"],
            "category": block["category"],
            **{column: block[name] for column, name in counted.items() if name in block},
            "threshold": least,
            "heads": (scores >= least).sum(("layer", "head")),
            "largest_score": scores.max(("layer", "head")),
        }
    return {
        "method": block.attrs["label"],
        "rule": members.attrs["rule"],
        "sign": shared.attrs["sign"],
        "model": block.attrs["model"],
        "categories": [
            {
                "category": name,
                **({"relations": n_relations.get(name, 0)} if by_task else {}),
                "heads": shared["size"].sel(category=name).item() if name in mapped else None,
                "skipped": list(tried.get(name, ())),
            }
            for name in dict.fromkeys([*mapped, *tried])
        ],
        **overlap_numbers(shared),
        **({"relations": pd.DataFrame({name: values.values for name, values in relations.items()})} if by_task else {}),
    }


def both_numbers(members: xr.Dataset, shared: xr.Dataset, *, names: tuple[str, str], model: str) -> dict[str, Any]:
    """A map of heads that two methods agree on, as `headcats map --help` says."""
    prefix = "suppressing_" if shared.attrs["sign"] == "suppressing" else ""
    variables = {"heads": "size", "first": "size_first", "other": "size_other", "by_chance": "size_by_chance"}
    columns = {name: members[prefix + variable] for name, variable in (variables | {"p": "p_by_chance"}).items()}
    categories = {"category": members["category"]} | columns
    return {
        "method": names[0],
        "and": names[1],
        "rule": members.attrs["rule"],
        "sign": shared.attrs["sign"],
        "model": model,
        "categories": pd.DataFrame({name: values.values for name, values in categories.items()}),
        **overlap_numbers(shared),
    }


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
