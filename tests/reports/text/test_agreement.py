"""Heads that several protocols agree on."""

import numpy as np
import xarray as xr

from headcats.reports.text.agreement import replicate_findings, replicates
from headcats.results.finding import Table


def members(*inside, known=True, category="Knowledge", n=3):
    """Heads of one layer, some of them in the category."""
    member = np.isin(np.arange(n), inside).astype(np.int8)
    names = ("category", "layer", "head")
    effect = np.full((1, 1, n), 0.5 if known else np.nan)
    variables = {"member": member[None, None], "suppressing": np.zeros((1, 1, n), dtype=np.int8)}
    return xr.Dataset(
        {name: (names, held) for name, held in variables.items()}
        | {prefix + name: (names, effect) for prefix in ("", "suppressing_")
           for name in ("effect", "low", "high", "p_value", "q_value")}
        | {f"{prefix}tasks": (names, np.full((1, 1, n), "")) for prefix in ("", "suppressing_")}
        | {name: ("category", [1]) for name in ("n_tasks", "min_tasks")},
        coords={"category": [category], "layer": [2], "head": np.arange(n)},
    )  # fmt: skip


def test_heads_of_all_and_of_any():
    (found,) = replicates({"a": members(0, 1), "b": members(0, 2), "c": members(0, 1)}, sign="helping")
    heads = {"always": ["L2H0"], "any": ["L2H0", "L2H1", "L2H2"]}
    assert found == {"category": "Knowledge", "judged_by": 3} | heads


def test_protocols_without_numbers_do_not_count():
    (found,) = replicates({"a": members(0), "b": members(0, known=False)}, sign="helping")
    assert (found["judged_by"], found["always"]) == (1, ["L2H0"])
    (none,) = replicates({"a": members(known=False), "b": members(known=False)}, sign="helping")
    assert (none["judged_by"], none["always"], none["any"]) == (0, [], [])


def test_protocols_of_other_categories_are_not_counted_together():
    assert replicates({"a": members(0), "b": members(0, category="Linguistic")}, sign="helping") == []
    assert replicates({"a": members(0)}, sign="helping") == []


def test_many_heads_are_counted_and_not_all_named():
    found = replicate_findings({"a": members(*range(20), n=20), "b": members(*range(20), n=20)}, sign="helping")
    (table,) = (finding for finding in found if isinstance(finding, Table))
    (row,) = table.rows
    named = row[-1]
    assert "20: L2H0 L2H1" in named
    assert named.endswith("and 8 more")
