"""Planted truth: the kinds of heads are there in the declared numbers, and membership follows `min_tasks`."""

import numpy as np
import pytest
from recovery_parts.generator import Design
from recovery_parts.worlds import World, members, needed, planted

pytestmark = pytest.mark.ci

DESIGN, WORLD = Design(), World()


@pytest.mark.parametrize("spread", ["all", "half"])
def test_every_kind_of_head_is_planted_in_its_number(spread):
    effects = planted(DESIGN, World(spread=spread), effect=0.1, rng=np.random.default_rng(0))
    assert effects.shape == (28, 48)
    assert set(np.unique(effects).tolist()) == {-0.1, 0.0, 0.1}
    full = 7 if spread == "all" else 4
    helped = (effects > 0).reshape(4, 7, 48).sum(axis=1)
    hurt = (effects < 0).reshape(4, 7, 48).sum(axis=1)
    assert set(helped.ravel().tolist()) == {0, 1, 3, full}
    assert set(hurt.ravel().tolist()) == {0, full}
    n_helped, n_hurt = (helped == full).sum(axis=0), (hurt == full).sum(axis=0)
    assert ((n_helped == 1) & (n_hurt == 0)).sum() == 4 * WORLD.own
    assert [(n_helped == k).sum() for k in (2, 3)] == [WORLD.two, WORLD.three]
    assert ((n_helped == 1) & (n_hurt == 1)).sum() == WORLD.mixed
    assert ((n_helped == 0) & (n_hurt == 1)).sum() == 4 * WORLD.suppressing
    assert [(helped == k).sum() for k in (1, 3)] == [4 * WORLD.single, 4 * WORLD.short]
    assert (effects == 0).all(axis=0).sum() == 48 - (4 * 7 + 8)


def test_truth_depends_on_min_tasks_as_the_partial_conjunction_does():
    design = Design(categories=2, tasks=3, layers=1, heads=4)
    effects = np.array(
        [[0.1, 0.1, 0.1, -0.1], [0.1, 0.1, 0.0, -0.1], [0.1, 0.0, 0.0, 0.1], *([[0.0, 0.0, 0.2, 0.0]] * 3)]
    )
    expected = {
        1: [[True, True, True, True], [False, False, True, False]],
        "half": [[True, True, False, False], [False, False, True, False]],
        "n": [[True, False, False, False], [False, False, True, False]],
    }
    for min_tasks, truth in expected.items():
        assert members(design, effects, min_tasks=min_tasks).tolist() == truth
    assert members(design, -effects, min_tasks="half").tolist() == [[False, False, False, True], [False] * 4]
    assert [needed(design, m) for m in (1, "half", "n")] == [1, 2, 3]


def test_members_of_half_of_the_tasks_are_none_of_all():
    effects = planted(DESIGN, World(spread="half"), effect=0.1, rng=np.random.default_rng(0))
    numbers = [int(members(DESIGN, effects, min_tasks=m).sum()) for m in (1, "half", "n")]
    half = 4 * WORLD.own + 2 * WORLD.two + 3 * WORLD.three + WORLD.mixed
    assert numbers == [half + 4 * (WORLD.single + WORLD.short), half, 0]


def test_too_many_planted_heads_are_refused():
    with pytest.raises(ValueError, match="36 heads are to be planted, the design has 8"):
        planted(Design(layers=1), World(), effect=0.1, rng=np.random.default_rng(0))
