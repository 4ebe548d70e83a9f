"""Growing sets: own tasks, others, random sequences."""

import numpy as np
import pytest
from damages import damage, heads

from headcats.evidence.curves import RANDOM_SEQUENCES, curves, sequences, sets_of
from headcats.evidence.trials import Selection
from headcats.models.head import Head

N_HEADS = {0: 4, 1: 8}
OWN = heads("L1H0", "L0H0", "L1H1")


def selections(**lengths):
    """Task -> how many of the heads of A are known without it."""
    return {
        task: {"A": Selection(OWN[:length]), "B": Selection(reason="none"), "C": Selection(reason="none")}
        for task, length in lengths.items()
    }


def table(**lengths):
    designed = sequences(selections(**lengths), N_HEADS, seed=0)
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
    assert (found["random"].sel(category="A") == 0).all()
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


def test_at_most_twelve_heads():
    many = tuple(Head(layer, head) for layer in range(5) for head in range(4))
    designed = sequences({"t": {"A": Selection(many)}}, dict.fromkeys(range(5), 8), seed=0)
    assert len(designed["t"]["A"][0]) == 12


@pytest.mark.parametrize("lengths", [{"a1": 0, "b1": 0}, {}])
def test_no_heads_or_no_tasks_give_an_empty_table(lengths):
    found, _ = table(**lengths)
    assert found["damage"].sizes == {"category": 3, "side": 2, "k": 0}
