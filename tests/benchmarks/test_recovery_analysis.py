"""What the benchmark leaves out of the pipeline decides nothing."""

import numpy as np
import pytest
from recovery_parts.analysis import DRAWS, called, scored
from recovery_parts.generator import METHOD, Design, results
from recovery_parts.planted import RULES
from recovery_parts.worlds import MIN_TASKS, World, planted

from headcats.categories.membership import categorize
from headcats.scores.scoring import score

pytestmark = pytest.mark.ci

DESIGN = Design(categories=2, tasks=3, layers=4, heads=6, prompts=32, items=(17, 20))


def study(seed: int):
    rng = np.random.default_rng(seed)
    effects = planted(DESIGN, World(own=2, two=2, three=0, mixed=2), effect=0.15, rng=rng)
    return results(DESIGN, effects, rng=rng)


def test_verdicts_are_those_of_the_tool_with_all_its_draws():
    tree, seed = study(0), int(np.random.default_rng(1).integers(2**62))
    whole = score(tree, method=METHOD, seed=seed)
    assert set(DRAWS) <= set(whole.data_vars)
    short = scored(tree, rng=np.random.default_rng(1))
    rule = next(iter(RULES.values()))
    expected = categorize(whole, rule=rule, min_tasks="half")
    helping, suppressing = called(short, DESIGN, rule=rule, min_tasks="half")
    assert helping.any()
    assert suppressing.any()
    np.testing.assert_array_equal(helping, (expected["member"] == 1).values.reshape(helping.shape))
    np.testing.assert_array_equal(suppressing, (expected["suppressing"] == 1).values.reshape(helping.shape))


def test_all_tasks_are_all_tasks():
    scores = scored(study(0), rng=np.random.default_rng(1))
    rule = next(iter(RULES.values()))
    found = {m: called(scores, DESIGN, rule=rule, min_tasks=m)[0] for m in (*MIN_TASKS, 3)}
    np.testing.assert_array_equal(found["n"], found[3])
    assert found["n"].sum() < found[1].sum()


def test_repetitions_do_not_share_their_draws():
    tree = study(0)
    one, other = (scored(tree, rng=np.random.default_rng(seed)) for seed in (1, 2))
    np.testing.assert_array_equal(one["effect"], other["effect"])
    assert not np.array_equal(one["p_value"], other["p_value"])
