"""What recovery says of a study is what the tool says of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from recovery_parts import planted, worlds
from recovery_parts.analysis import called, scored
from recovery_parts.generator import METHOD, Design, results
from recovery_parts.label_partitions import PROMPTS, Bench
from recovery_parts.label_worlds import outcomes
from recovery_parts.worlds import World

import headcats as hc
from headcats.categories.membership import categorize
from headcats.scores.scoring import score

pytestmark = pytest.mark.slow


def drawn(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_verdicts_are_those_of_the_tool_with_all_its_draws():
    design = Design(categories=2, tasks=3, layers=4, heads=6, prompts=32, items=(17, 20))
    effects = worlds.planted(design, World(own=2, two=2, three=0, mixed=2), effect=0.15, rng=drawn())
    tree, seed = results(design, effects, rng=drawn()), int(drawn(1).integers(2**62))
    rule = next(iter(planted.RULES.values()))
    expected = categorize(score(tree, method=METHOD, seed=seed), rule=rule, min_tasks="half")
    helping, suppressing = called(scored(tree, rng=drawn(1)), design, rule=rule, min_tasks="half")
    assert helping.any()
    assert suppressing.any()
    np.testing.assert_array_equal(helping, (expected["member"] == 1).values.reshape(helping.shape))
    np.testing.assert_array_equal(suppressing, (expected["suppressing"] == 1).values.reshape(helping.shape))


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_dealt_to_their_own_categories_tasks_have_the_verdicts_of_evidence(mini, tmp_path):
    tasks = ["list_first", "list_last", "successor", "next_letter", "french_english", "german_french"]
    hc.run(mini, suite=tasks, methods=["denoising_patch"], n_prompts=32, out=tmp_path)
    bench = Bench(tmp_path, relabellings=39, seed=0)
    as_they_are = bench.verdicts(SimpleNamespace(permutation=np.asarray))
    found = hc.run_evidence(mini, tmp_path, n_prompts=PROMPTS, relabellings=39)["relabelling"]
    expected = outcomes(found)
    for name in ("supported", "p", "low", "sources", "size"):
        np.testing.assert_allclose(as_they_are[name], expected[name], err_msg=name)
