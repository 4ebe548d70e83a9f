"""Inputs that went wrong give errors of headcats alone, end in time and write nothing elsewhere."""

import fuzzing

# A report takes more than a second; these read results without one, all but two of them.
QUICK = [
    "manifest, bytes",
    "manifest, entries",
    "manifest of version 0.1, entries",
    "block, structure",
    "suite, entries",
    "study.toml",
    "options",
]


def test_a_few_inputs() -> None:
    outcomes = fuzzing.table(len(QUICK), seed=9, kinds=QUICK)
    assert {kind for kind, _ in outcomes} == set(QUICK)
    assert {found for _, found in outcomes} <= set(fuzzing.FINE)
