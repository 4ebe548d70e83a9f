"""What recovery says of simulated studies, on small ones: nothing found where nothing is, and what is planted found."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from recovery_parts import label_worlds, null, planted, worlds
from recovery_parts.analysis import called, scored
from recovery_parts.generator import METHOD, Design, results
from recovery_parts.label_partitions import PROMPTS, Bench
from recovery_parts.label_worlds import LabelStudy, verdicts
from recovery_parts.repeat import repeat
from recovery_parts.worlds import World
from scipy import stats

import headcats as hc
from headcats.categories.membership import categorize
from headcats.evidence.verdicts import ALPHA, SUPPORTED
from headcats.scores.scoring import score

pytestmark = pytest.mark.slow


def drawn(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def blocks(tree: xr.DataTree) -> list[xr.Dataset]:
    return [node[f"{METHOD}@last"].to_dataset() for node in tree.children.values()]


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


# ------------------------------------------------------------------------------------------------ nothing planted
def bound(repetitions: int) -> int:
    """At .07 per study, more are called once in a thousand runs of this test."""
    return int(stats.binom.ppf(0.999, repetitions, 0.07))


def null_rows(setting: null.Setting, repetitions: int) -> dict[str, dict]:
    design = Design(categories=2, tasks=2, layers=3, heads=4, prompts=64, items=(15, 18))
    measure = null.measure_of(setting, design)
    found = repeat(measure, repetitions=repetitions, processes=1, seed=0, name="null", note=lambda text: None)
    return {row["min_tasks"]: row for row in null.rows(setting, found)}


@pytest.mark.parametrize(("setting", "repetitions"), [(null.SETTINGS[0], 40), (null.SETTINGS[1], 10)])
def test_rarely_anything_is_called_where_nothing_is(setting, repetitions):
    assert setting.items_known
    for row in null_rows(setting, repetitions).values():
        assert round(max(row["helping"], row["suppressing"]) * repetitions) <= bound(repetitions)


def test_the_null_fails_where_items_are_hidden():
    setting = null.SETTINGS[2]
    assert not setting.items_known
    assert round(null_rows(setting, 12)["1"]["either"] * 12) > bound(12)


# ------------------------------------------------------------------------------------------------ planted effects
def test_strong_effects_are_found_with_their_signs_and_sets():
    point = planted.Point(
        effect=0.3,
        design=Design(categories=3, tasks=3, layers=4, heads=6, prompts=64, items=(25, 30), sd=0.1),
        world=World(own=2, two=2, three=1, mixed=1),
        rules=(planted.STRICT, "elbow()"),
    )
    found = repeat(planted.measure_of(point), repetitions=4, processes=1, seed=0, name="strong", note=lambda text: None)
    rows = {(row["rule"], row["min_tasks"]): row for row in planted.rows(point, found)}
    assert len(rows) == 2 * 3
    for (rule, min_tasks), row in rows.items():
        if rule == planted.STRICT:
            assert min(row["recall"], row["suppressing_recall"]) >= 0.95
            assert row["wrong_sign"] == 0
            assert row["false_share"] <= 0.1
            assert row["right_set"] >= 0.9
        elif min_tasks == "1":
            assert row["false_share"] > 0.1  # the elbow returns heads for noise, and the benchmark shows it
    # Heads that matter in single tasks are members for one task, and only for that.
    of_all = 3 * 2 + 2 * 2 + 3 + 1
    assert [rows[planted.STRICT, m]["true"] for m in ("1", "half", "n")] == [of_all + 6, of_all, of_all]


# --------------------------------------------------------------------------------------------- labels of categories
def test_own_heads_are_supported_and_identical_tasks_are_not():
    study = LabelStudy(relabellings=99)
    assert sum(verdicts("three heads of its own, .1", study, drawn(1))["supported"]) >= 3
    assert not any(verdicts("identical tasks", study, drawn(1))["supported"])


def test_words_that_tasks_share_are_not_what_a_category_is_supported_by():
    study = LabelStudy(relabellings=39)
    found = [verdicts(label_worlds.WORDS, study, drawn(seed)) for seed in range(8)]
    assert sum(any(study["signature"]) for study in found) <= 1


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_dealt_to_their_own_categories_tasks_have_the_verdicts_of_evidence(mini, tmp_path):
    tasks = ["list_first", "list_last", "successor", "next_letter", "french_english", "german_french"]
    hc.run(mini, suite=tasks, methods=["denoising_patch"], n_prompts=32, out=tmp_path)
    bench = Bench(tmp_path, relabellings=39, seed=0)
    as_they_are = bench.verdicts(SimpleNamespace(permutation=np.asarray))
    found = hc.run_evidence(mini, tmp_path, n_prompts=PROMPTS, relabellings=39)["relabelling"]
    assert as_they_are["supported"] == (found["verdict"] == SUPPORTED).values.tolist()
    for test in ("signature", "causal"):
        assert as_they_are[test] == (found[f"{test}_p"] <= ALPHA).values.tolist()
    assert as_they_are["error_rate"] == found["error_rate"]
