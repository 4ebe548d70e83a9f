"""Growing sets: own tasks, others, random sequences."""

import numpy as np
import pytest
from damages import damage, heads

from headcats.evidence.curves import RANDOM_SEQUENCES, curves, sequences, sets_of
from headcats.models.head import Head

N_HEADS = {0: 4, 1: 8}
OWN = heads("L1H0", "L0H0", "L1H1")


CATEGORY_OF = {"a1": "A", "a2": "A", "b1": "B", "b2": "B", "c1": "C", "t": "A"}


def ordered(**lengths):
    """Task -> as many of the heads of A as are known without it."""
    return {task: {"A": OWN[:length], "B": (), "C": ()} for task, length in lengths.items()}


def table(**lengths):
    designed = sequences(ordered(**lengths), N_HEADS, category_of=CATEGORY_OF, seed=0)
    rate = {"a1": 0.2, "a2": 0.1, "b1": 0.01, "b2": 0.03, "c1": 0.0}
    measured = {
        task: damage(
            task, task[0].upper(), lambda one, task=task: rate[task] * len(set(one) & set(OWN)), sets_of(designed, task)
        )
        for task in lengths
    }
    return curves(designed, measured, categories=("A", "B", "C")), designed


def test_by_hand():
    found, _ = table(a1=3, a2=3, b1=3, b2=3, c1=3)
    own, others = (found["damage"].sel(category="A", side=side) for side in ("own", "others"))
    np.testing.assert_allclose(own, [0.15, 0.3, 0.45])
    # Mean over B's tasks is .02 per head, over C's 0: together .01.
    np.testing.assert_allclose(others, [0.01, 0.02, 0.03], atol=1e-12)
    assert found["n_tasks"].sel(category="A", k=3).values.tolist() == [2, 3]
    assert found["random"].sizes["sequence"] == RANDOM_SEQUENCES
    assert (found["random"].sel(category="A", side="own") == 0).all()
    assert found["random"].sel(category="A", side="others").isnull().all()
    assert found["damage"].sel(category="B").isnull().all()


def test_a_task_drops_out_where_its_list_ends():
    found, _ = table(a1=3, a2=1, b1=2, b2=2, c1=2)
    np.testing.assert_allclose(found["damage"].sel(category="A", side="own"), [0.15, 0.4, 0.6])
    assert found["n_tasks"].sel(category="A", side="own").values.tolist() == [2, 1, 1]
    assert np.isnan(found["damage"].sel(category="A", side="others", k=3))


def test_random_sequences_grow_in_the_same_layers_without_the_heads():
    _, designed = table(a1=3)
    own, random = designed["a1"]["A"]
    assert own == OWN
    assert len(random) == RANDOM_SEQUENCES
    for sequence in random:
        assert [head.layer for head in sequence] == [1, 0, 1]
        assert not set(sequence) & set(OWN)
    needed = sets_of(designed, "a1")
    assert {OWN[:1], tuple(sorted(OWN[:2])), tuple(sorted(OWN))} <= needed


def test_where_a_layer_is_used_up_the_nearest_one_takes_its_place():
    n_heads = {0: 2, 1: 2, 2: 2, 4: 2}
    many = heads("L4H0", "L4H1", "L1H0")
    (_, random) = sequences({"t": {"A": many}}, n_heads, category_of=CATEGORY_OF, seed=0)["t"]["A"]
    assert {tuple(head.layer for head in sequence) for sequence in random} == {(2, 2, 1)}
    everything = tuple(Head(layer, head) for layer in n_heads for head in range(2))
    assert (
        sequences({"t": {"A": everything}}, n_heads, category_of=CATEGORY_OF, seed=0)["t"]["A"][1]
        == [()] * RANDOM_SEQUENCES
    )


def test_the_same_heads_have_the_same_random_ones():
    first, second = (sequences(ordered(a1=3), N_HEADS, category_of=CATEGORY_OF, seed=seed) for seed in (0, 0))
    assert first == second
    assert sequences(ordered(a1=3), N_HEADS, category_of=CATEGORY_OF, seed=1) != first
    assert len(set(first["a1"]["A"][1])) > 1


@pytest.mark.parametrize("lengths", [{"a1": 0, "b1": 0}, {}])
def test_no_heads_or_no_tasks_give_an_empty_table(lengths):
    found, _ = table(**lengths)
    assert found["damage"].sizes == {"category": 3, "side": 2, "k": 0}
