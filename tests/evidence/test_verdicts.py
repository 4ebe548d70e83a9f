"""Verdicts: one declared rule."""

import pytest
import xarray as xr
from damages import category_a
from hypothesis import given
from hypothesis import strategies as st

from headcats.evidence.verdicts import (
    INCONCLUSIVE,
    LEAST_CONTROLS,
    NOT_SUPPORTED,
    SUPPORTED,
    in_current_words,
    verdict,
    verdicts,
)


def verdict_on_a(**options) -> str:
    return verdict(category_a(**options).sel(category="A"))


def test_supported():
    assert verdicts(category_a()).values.tolist() == [SUPPORTED, INCONCLUSIVE]


def test_relabellings_that_keep_some_heads_are_inconclusive():
    options = {"relabelled": 100, "as_specific": 34, "keeping": 34}
    assert category_a(**options)["specificity_p"].sel(category="A") == 0.05
    assert verdict_on_a(**options) == INCONCLUSIVE


def test_relabellings_decide_against_it_where_disjoint_sets_do_not_speak_for_it():
    assert verdict_on_a(relabelled=100, as_specific=34, controls=18) == NOT_SUPPORTED
    assert verdict_on_a(relabelled=100, as_specific=34, controls=40, reaching=9) == NOT_SUPPORTED


def test_disjoint_sets_count_where_there_are_enough():
    assert verdict_on_a(controls=19, reaching=1) == NOT_SUPPORTED
    assert verdict_on_a(controls=18, reaching=18) == SUPPORTED


@pytest.mark.parametrize("n", [18, 1])
def test_eighteen_relabellings_are_one_too_few(n):
    assert verdict_on_a(relabelled=n, controls=100) == INCONCLUSIVE


def test_a_difference_that_is_not_told_from_zero_is_not_supported():
    table = category_a(own=0.11, noise=1.0)
    assert table["specificity_low"].sel(category="A") < 0
    for name in ("specificity_p", "specificity_exact_p"):
        table[name].loc[{"category": "A"}] = 0.05
    assert verdict(table.sel(category="A")) == NOT_SUPPORTED


@given(*[st.integers(0, 60)] * 4)
def test_the_rule_is_both_p_and_their_numbers(relabelled, as_specific, controls, reaching):
    as_specific, reaching = min(as_specific, relabelled), min(reaching, controls)
    table = category_a(relabelled=relabelled, as_specific=as_specific, controls=controls, reaching=reaching)
    exact, p = (1 + as_specific) / (1 + relabelled), (1 + reaching) / (1 + controls)
    enough = controls >= LEAST_CONTROLS
    if relabelled < LEAST_CONTROLS:
        expected = INCONCLUSIVE
    elif enough and p > 0.05:
        expected = NOT_SUPPORTED
    elif exact <= 0.05:
        expected = SUPPORTED
    else:
        expected = INCONCLUSIVE if enough else NOT_SUPPORTED
    assert verdict(table.sel(category="A")) == expected


def test_older_files_are_read_in_current_words():
    reading = "A stands: 0.60.\nB does not stand: 0.\nC cannot be decided by heads.\n(`stands` or `does not stand`)"
    stored = xr.Dataset(
        {"verdict": ("category", ["stands", "does not stand", "cannot be decided", SUPPORTED])},
        attrs={"reading": reading},
    )
    table = in_current_words(stored)
    assert table["verdict"].values.tolist() == [SUPPORTED, NOT_SUPPORTED, INCONCLUSIVE, SUPPORTED]
    first, second, third, last = table.attrs["reading"].splitlines()
    assert first == "A: supported: 0.60."
    assert second.startswith("B: not supported")
    assert third.startswith("C: inconclusive by")
    assert "stand" not in last
    assert in_current_words(table).identical(table)
    assert in_current_words(xr.Dataset(attrs={"kind": "other"})).attrs == {"kind": "other"}
