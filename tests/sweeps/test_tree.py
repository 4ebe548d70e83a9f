"""Rows of sets of heads: what they share, and that each set ends as the run in which its heads were replaced."""

from hypothesis import given
from hypothesis import strategies as st

from headcats.models.head import Head
from headcats.sweeps.tree import HeadSet, Step, grow

N_LAYERS = 4
HEADS = st.builds(Head, st.integers(0, N_LAYERS - 1), st.integers(0, 2))
SETS = st.lists(st.lists(HEADS, min_size=1, max_size=5).map(tuple), min_size=1, max_size=8)


def outcome(steps: list[Step], row_of: list[int]) -> list[set[Head]]:
    """Heads that were replaced in each row, by following the steps."""
    rows: list[set[Head]] = []
    for step in steps:
        parents = range(len(rows)) if step.parents is None else step.parents
        rows = [set(rows[parent]) for parent in parents] + [set() for _ in range(step.fresh)]
        for row, head in zip(step.rows, step.heads, strict=True):
            rows[row].add(Head(step.layer, head))
    return [rows[row] for row in row_of]


@given(SETS)
def test_every_set_ends_with_its_heads_replaced(sets: list[HeadSet]) -> None:
    steps, row_of = grow(sets, n_layers=N_LAYERS)
    assert outcome(steps, row_of) == [set(heads) for heads in sets]
    first = min(head.layer for heads in sets for head in heads)
    assert [step.layer for step in steps] == list(range(first, N_LAYERS))


@given(SETS)
def test_older_and_fresh_rows_apart_are_the_step(sets: list[HeadSet]) -> None:
    for step in grow(sets, n_layers=N_LAYERS)[0]:
        older, fresh = step.apart()
        assert older.n_rows + fresh.n_rows == step.n_rows
        assert (older.fresh, fresh.fresh) == (0, step.fresh)
        moved = [
            *zip(older.rows, older.heads, strict=True),
            *((row + older.n_rows, head) for row, head in zip(fresh.rows, fresh.heads, strict=True)),
        ]
        assert sorted(moved) == sorted(zip(step.rows, step.heads, strict=True))
        assert all(row < part.n_rows for part in (older, fresh) for row in part.rows)


@given(SETS)
def test_no_row_is_there_twice(sets: list[HeadSet]) -> None:
    steps, _ = grow(sets, n_layers=N_LAYERS)
    for step, later in zip(steps, [*steps[1:], None], strict=True):
        different = {frozenset(head for head in heads if head.layer <= step.layer) for heads in sets} - {frozenset()}
        before = {frozenset(head for head in heads if head.layer < step.layer) for heads in sets} - {frozenset()}
        kept = len(before) if step.parents is None else len(step.parents)
        assert kept + step.fresh == len(different)
        if later is not None and later.parents is not None:
            assert max(later.parents) < len(different)


def test_single_heads_grow_layer_by_layer() -> None:
    sets = [(Head(layer, head),) for layer in range(N_LAYERS) for head in range(3)]
    steps, row_of = grow(sets, n_layers=N_LAYERS)
    assert [(step.parents, step.fresh, step.heads) for step in steps] == [(None, 3, (0, 1, 2))] * N_LAYERS
    assert [step.rows for step in steps] == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]
    assert row_of == list(range(12))
