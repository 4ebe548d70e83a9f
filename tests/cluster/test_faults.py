"""Some of what `tests/cluster_faults.py` does, once."""

import re
from collections import Counter

import pytest
from cluster_faults import ON_NODES, table

CHOSEN = ("all workers are killed", "Ctrl-C", "workers run out of memory", "a node dies")


@pytest.mark.ci
def test_nothing_is_lost() -> None:
    outcomes = table(1, faults={name: ON_NODES[name] for name in CHOSEN}, n_nodes=2)
    expected = dict.fromkeys(CHOSEN, "nothing lost, same bits") | {
        "a node with another torch": r"refused \(.*\): HOST has torch 0.0.1, and this process .*",
        "workers run out of memory": "nothing lost, (same bits|within rounding)",
        "Ray is missing": r"refused \(at once\): .*headcats\[ray\].*",
        "nobody at the address": r"refused \(at once\): No Ray cluster answers .*",
    }
    assert Counter(fault for fault, _ in outcomes) == Counter(expected.keys())
    for fault, became in outcomes:
        assert re.fullmatch(expected[fault], became), (fault, became)
