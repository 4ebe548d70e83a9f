"""Some of what `tests/cluster_faults.py` does, once."""

import re
from collections import Counter

import pytest
from cluster_faults import ON_NODES, table

SAME = "nothing lost, same bits"
EXPECTED = {
    "all workers are killed": SAME,
    "a node dies": SAME,
    "Ctrl-C": SAME,
    "workers run out of memory": "nothing lost, (same bits|within rounding)",
}
CHOSEN = tuple(EXPECTED)


# In CI workers die and run out of memory in test_pool.py.
@pytest.mark.parametrize(
    ("chosen", "n_nodes"), [pytest.param((), 1, marks=pytest.mark.ci), pytest.param(CHOSEN, 2, marks=pytest.mark.slow)]
)
def test_nothing_is_lost(chosen: tuple[str, ...], n_nodes: int) -> None:
    outcomes = table(1, faults={name: ON_NODES[name] for name in chosen}, n_nodes=n_nodes)
    expected = {name: EXPECTED[name] for name in chosen} | {
        "a node with another torch": r"refused \(.*\): HOST has torch 0.0.1, and this process .*",
        "Ray is missing": r"refused \(at once\): .*headcats\[ray\].*",
        "nobody at the address": r"refused \(at once\): No Ray cluster answers .*",
    }
    assert Counter(fault for fault, _ in outcomes) == Counter(expected.keys())
    for fault, became in outcomes:
        assert re.fullmatch(expected[fault], became), (fault, became)
