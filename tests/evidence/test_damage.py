"""Damage is a share of the gap, the same as joint sweeps give, and says why where there is none."""

import numpy as np
import pytest
from planted import planted_model
from specific import N_LAYERS, OWN, batches, tasks_of

from headcats.base.errors import DataError
from headcats.evidence.damage import TaskDamage, blocks_needed, done_here, measure_tasks
from headcats.models.adapter import adapt
from headcats.models.head import Head
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.joint import joint_sweep
from headcats.sweeps.reference import Reference

SETS = [(Head(0, 0),), (Head(0, 0), Head(1, 0)), (Head(0, 0), Head(1, 0), Head(2, 0)), (Head(3, 3),)]


@pytest.fixture(scope="module")
def material():
    tasks, slots = tasks_of("Knowledge", "Linguistic", each=1), {"Knowledge": (1,), "Linguistic": (2,)}
    held = batches(tasks, slots=slots, first_seed=100)["knowledge0"]
    reference = Reference(list(batches(tasks, slots=slots, first_seed=200, n=40).values()), name="suite")
    return adapt(planted_model(OWN, n_layers=N_LAYERS)), held, reference


def measure_damage(model, of_task, sets, *, reference, positions) -> TaskDamage:
    """Damage to one task; a DataError where it cannot be measured."""
    measured, left_out = measure_tasks(
        {"task": of_task}, {"task": sets}, reference=reference, positions=positions, work=done_here(model)
    )
    if left_out:
        raise DataError(left_out["task"])
    return measured["task"]


@pytest.mark.parametrize("positions", ["last", "all"])
def test_it_is_what_joint_sweeps_give(material, positions):
    model, held, reference = material
    found = measure_damage(model, [held], SETS, reference=reference, positions=positions)
    ds = (
        joint_sweep(
            model,
            held,
            "mean_ablation",
            SETS,
            metrics=["logit_diff"],
            positions=positions,
            reference=reference,
            path="hooked",
        )
        .sel(metric="logit_diff")
        .astype("float64")
    )
    expected = (ds.clean - ds.patched).mean("prompt") / (ds.clean - ds.corrupted).mean()
    np.testing.assert_allclose(found.shares(SETS), expected, atol=1e-5)
    assert (np.diff(found.shares(SETS[:3])) > 0).all()


def test_damage_by_heads_that_add_up_adds_up(material):
    _, held, reference = material
    # The answer's logit is 6 above the distractor's, where log-probability is saturated.
    model = adapt(planted_model(OWN, n_layers=N_LAYERS, written=0.005, read=18.2))
    heads = [(Head(layer, 0),) for layer in range(3)]
    found = measure_damage(model, [held], [*heads, sum(heads, ())], reference=reference, positions="last")
    assert found.gap.mean() == pytest.approx(12, abs=0.2)
    assert found.shares([sum(heads, ())]) == pytest.approx(0.5, abs=0.02)
    assert found.shares(heads).sum() == pytest.approx(0.5, abs=0.02)


def test_prompts_of_several_lengths_are_one_task(material):
    model, held, reference = material
    whole = measure_damage(model, [held], SETS, reference=reference, positions="last")
    parts = [held.select(range(8)), held.select(range(8, len(held)))]
    split = measure_damage(model, parts, SETS, reference=reference, positions="last")
    np.testing.assert_allclose(split.shares(SETS), whole.shares(SETS), atol=1e-6)


def test_sets_in_any_order_and_the_empty_set(material):
    model, held, reference = material
    found = measure_damage(model, [held], [*SETS, ()], reference=reference, positions="last")
    assert found.shares([()]).tolist() == [0.0]
    np.testing.assert_array_equal(found.shares([SETS[1][::-1]]), found.shares([SETS[1]]))
    assert len(found.columns) == len(SETS)


def test_what_cannot_be_measured_says_why(material):
    model, held, reference = material
    options = {"reference": reference, "positions": "last"}
    with pytest.raises(DataError, match="n_prompts"):
        measure_damage(model, [], SETS, **options)
    blind = PromptBatch(**{**vars(held), "clean": held.corrupted})
    with pytest.raises(DataError, match=r"gap .*\(logit_diff -?\d+\.\d\d, 95 %"):
        measure_damage(model, [blind], SETS, **options)
    with pytest.raises(DataError, match="single query item"):
        measure_damage(model, [held.select([0])], SETS, **options)


def test_prompts_with_unknown_roles_are_left_out_until_they_are_most(material):
    model, held, reference = material
    odd = ("bos", "slot1", "slot2", "elsewhere")
    labels = tuple(odd if place < 6 else one for place, one in enumerate(held.labels))
    few = PromptBatch(**{**vars(held), "labels": labels, "corrupted_labels": labels})
    found = measure_damage(model, [few], SETS, reference=reference, positions="all")
    assert len(found.gap) == len(held) - 6
    half = measure_damage(model, [few.select(range(12))], SETS, reference=reference, positions="all")
    assert len(half.gap) == 6
    with pytest.raises(DataError, match="elsewhere"):
        measure_damage(model, [few.select(range(11))], SETS, reference=reference, positions="all")
    at_last = measure_damage(model, [few], SETS, reference=reference, positions="last")
    assert len(at_last.gap) == len(held)  # the last token is matched whatever its role


def test_no_sets_still_give_the_gap(material):
    model, held, reference = material
    found = measure_damage(model, [held], [], reference=reference, positions="last")
    assert found.gap.mean() > 0
    assert found.drop.shape == (len(held), 0)


def test_blocks_needed_by_hand(material):
    _, held, _ = material
    # One set from layer 0 on, in 4 layers; a second one that shares layer 0 and splits in layer 1.
    assert blocks_needed([held], [SETS[0]], positions="last", n_layers=4) == 4 * len(held)
    assert blocks_needed([held], SETS[:2], positions="last", n_layers=4) == (1 + 2 * 3) * len(held)
    assert blocks_needed([held], SETS[:2], positions="all", n_layers=4) == 7 * len(held) * held.length
    assert blocks_needed([held], [()], positions="last", n_layers=4) == 0
