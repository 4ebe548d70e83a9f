"""Control sets: as many heads per layer, none of the tested ones, distinct, and all of them where there are few."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.evidence.controls import coupled_controls, growing_sequences, matched_sets, middle, relabellings
from headcats.models.head import Head


@st.composite
def head_sets(draw, *, at_most_half=True):
    """Numbers of heads per layer, and a set of at most half of the heads of every layer (at least one head)."""
    n_heads = draw(st.dictionaries(st.integers(0, 9), st.integers(2, 6), min_size=1, max_size=5))
    heads = []
    for layer, count in n_heads.items():
        most = count // 2 if at_most_half else count
        chosen = draw(st.sets(st.integers(0, count - 1), max_size=most))
        heads += [Head(layer, head) for head in chosen]
    if not heads:
        heads = [Head(next(iter(n_heads)), 0)]
    return n_heads, tuple(heads)


def layers(heads):
    return Counter(head.layer for head in heads)


@given(head_sets(), st.integers(1, 30), st.integers(0, 5))
def test_sets_match_layer_by_layer_are_distinct_and_leave_the_tested_heads_out(given_set, n, seed):
    n_heads, heads = given_set
    found = matched_sets(heads, n_heads, n=n, seed=seed)
    assert found.matched == "layers"
    possible = math.prod(math.comb(n_heads[layer] - count, count) for layer, count in layers(heads).items())
    assert len(found.sets) == min(n, possible) == len(set(found.sets))
    for one in found.sets:
        assert list(one) == sorted(set(one))
        assert layers(one) == layers(heads)
        assert not set(one) & set(heads)
        assert all(0 <= head.head < n_heads[head.layer] for head in one)


@given(head_sets())
def test_few_sets_are_all_of_those_that_exist(given_set):
    n_heads, heads = given_set
    others = [Head(layer, head) for layer in n_heads for head in range(n_heads[layer]) if (layer, head) not in heads]
    if len(others) > 12:
        return
    wanted = layers(heads)
    exist = {tuple(sorted(one)) for one in itertools.combinations(others, len(heads)) if layers(one) == wanted}
    found = matched_sets(heads, n_heads, n=10_000, seed=0)
    assert set(found.sets) == exist


@given(head_sets(), st.randoms())
def test_the_same_heads_have_the_same_sets_in_any_order(given_set, random):
    n_heads, heads = given_set
    mixed = random.sample(heads, len(heads))
    assert matched_sets(mixed, n_heads, n=20, seed=1) == matched_sets(heads, n_heads, n=20, seed=1)


def test_more_than_half_of_a_layer_is_matched_by_thirds():
    n_heads = dict.fromkeys(range(6), 2)
    found = matched_sets([Head(0, 0), Head(0, 1)], n_heads, n=100, seed=0)
    assert found.matched == "thirds"
    assert found.sets == ((Head(1, 0), Head(1, 1)),)
    assert matched_sets([Head(0, 0), Head(0, 1), Head(1, 0)], n_heads, n=100, seed=0).matched == "nothing"


def test_no_heads_have_no_controls():
    assert matched_sets([], {0: 4}, n=100, seed=0).sets == ()


def test_every_set_is_as_likely_as_any_other():
    counts: Counter = Counter()
    for seed in range(600):
        counts[matched_sets([Head(0, 0)], {0: 4, 1: 4}, n=1, seed=seed).sets[0]] += 1
    assert sorted(counts) == [(Head(0, head),) for head in (1, 2, 3)]
    assert min(counts.values()) > 150


@given(head_sets(at_most_half=False), st.integers(0, 3))
def test_sequences_follow_the_layers_as_long_as_they_can(given_set, seed):
    n_heads, heads = given_set
    free = sum(n_heads.values()) - len(heads)
    for sequence in growing_sequences(heads, n_heads, n=3, seed=seed):
        assert len(sequence) == len(set(sequence)) == min(len(heads), free)
        assert not set(sequence) & set(heads)
        if all(2 * count <= n_heads[layer] for layer, count in layers(heads).items()):
            assert [head.layer for head in sequence] == [head.layer for head in heads]


def test_a_full_layer_is_replaced_by_the_nearest():
    n_heads = {0: 2, 1: 2, 4: 2}
    (sequence,) = growing_sequences([Head(4, 0), Head(4, 1), Head(1, 0)], n_heads, n=1, seed=0)
    assert [head.layer for head in sequence] == [1, 0, 0]


@pytest.mark.parametrize("seed", [0, 1])
def test_sequences_differ_by_seed_and_repeat(seed):
    n_heads = dict.fromkeys(range(4), 8)
    heads = [Head(layer, 0) for layer in range(4)]
    first = growing_sequences(heads, n_heads, n=5, seed=seed)
    assert first == growing_sequences(heads, n_heads, n=5, seed=seed)
    assert len(set(first)) == 5


def images(row, n_heads, pool_of):
    """Every distinct family of images under maps of the heads of each layer into its pool, by brute force."""
    union = sorted({head for one in row for head in one})
    found = set()
    for targets in itertools.product(*(pool_of(head.layer) for head in union)):
        if len(set(targets)) == len(targets):
            at = dict(zip(union, targets, strict=True))
            found.add(tuple(tuple(sorted(at[head] for head in one)) for one in row))
    return found


ROWS = [
    [(Head(0, 0), Head(0, 1)), (Head(0, 0), Head(1, 0))],
    [(Head(0, 0), Head(0, 1))],
    [(Head(0, 0),), (Head(0, 1),)],
    [(Head(0, 0), Head(0, 1), Head(0, 2))],
]


@pytest.mark.parametrize("row", ROWS)
def test_few_relabellings_are_all_of_those_that_exist(row):
    n_heads = {0: 4, 1: 3}
    row = sorted(row)
    exist = images(row, n_heads, lambda layer: [Head(layer, head) for head in range(n_heads[layer])]) - {tuple(row)}
    found = relabellings(row, n_heads, n=1000, seed=0)
    families = list(zip(*(found[one] for one in row), strict=True))
    assert set(families) == exist
    assert len(families) == len(exist)
    some = relabellings(row, n_heads, n=3, seed=0)
    drawn = set(zip(*(some[one] for one in row), strict=True))
    assert len(drawn) == 3
    assert drawn <= exist


def test_every_relabelling_is_as_likely_as_any_other():
    row = [(Head(0, 0),), (Head(0, 1),)]
    counts: Counter = Counter()
    for seed in range(1100):
        found = relabellings(row, {0: 4}, n=1, seed=seed)
        counts[tuple(found[one][0] for one in row)] += 1
    assert len(counts) == 11
    assert min(counts.values()) > 60


@pytest.mark.parametrize("row", ROWS[:3])
def test_coupled_controls_leave_all_tested_heads_of_the_row_out(row):
    n_heads = {0: 5, 1: 3}
    row = sorted(row)
    union = {head for one in row for head in one}
    exist = images(
        row, n_heads, lambda at: [Head(at, head) for head in range(n_heads[at]) if Head(at, head) not in union]
    )
    found = coupled_controls(row, n_heads, n=1000, seed=0)
    assert set(zip(*(found[one].sets for one in row), strict=True)) == exist


def test_without_room_for_all_of_the_row_every_set_has_controls_of_its_own():
    row = [(Head(0, 0),), (Head(0, 1),)]
    found = coupled_controls(row, {0: 3}, n=100, seed=0)
    assert found == {one: matched_sets(one, {0: 3}, n=100, seed=0) for one in row}
    assert coupled_controls([(), ()], {0: 3}, n=100, seed=0) == relabellings([()], {0: 3}, n=9, seed=0) == {}


def test_the_middle_is_that_of_95_percent_without_missing_values():
    assert middle(np.array([np.nan, *range(201)], dtype=float)) == pytest.approx((5.0, 195.0))
    assert all(map(math.isnan, middle(np.array([np.nan]))))
