"""Inputs that went wrong give errors of headcats alone, end in time and write nothing elsewhere."""

import fuzzing
import hostile_folders

# A report takes more than a second; these read results without one, all but two of them.
QUICK = ["manifest, bytes", "manifest, entries", "block, structure", "suite, entries", "study.toml", "options"]


def test_a_few_inputs() -> None:
    outcomes = fuzzing.table(len(QUICK), seed=9, kinds=QUICK)
    assert {kind for kind, _ in outcomes} == set(QUICK)
    assert {found for _, found in outcomes} <= set(fuzzing.FINE)


def test_a_few_hostile_folders() -> None:
    kinds = ("bomb in a table", "link out", "storage elsewhere", "code by name")  # map, report, merge, evidence
    outcomes = hostile_folders.table(len(kinds), seed=3, kinds=kinds)
    assert {kind for kind, _, _ in outcomes} == set(kinds)
    assert {found for _, _, found in outcomes} <= set(fuzzing.FINE)
