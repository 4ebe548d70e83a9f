"""The table of claims about heads, on tiny studies, and the worlds behind it."""

from pathlib import Path

import numpy as np
import pytest
from recovery_parts import claims, skewed
from recovery_parts.generator import Design, results
from recovery_parts.worlds import World

TINY = Design(categories=2, tasks=3, layers=2, heads=6, prompts=16, items=(16, 16))
FEW = World(own=2, two=0, three=0, mixed=0, suppressing=0, single=0, short=0)


def drawn(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_members_far_above_the_bar_are_found_and_others_are_not():
    assert claims.recall(TINY, FEW, 0.6, drawn()) == (1.0, 1.0, 0.0)
    assert claims.recall(TINY, FEW, 0.06, drawn())[0] < 0.5


def test_heads_above_the_bar_in_too_few_tasks_are_no_members():
    quiet = Design(categories=1, layers=4, heads=6, prompts=32, items=(32, 32), sd=0.02)
    assert claims.false_share(quiet, 8, drawn()) == 0.0


def test_equal_heads_are_out_nowhere():
    out, everywhere = claims.equal_effects(Design(categories=2, tasks=3, layers=2, heads=6, sd=0.02), drawn())
    assert (out, everywhere) == (0.0, 1.0)


@pytest.mark.parametrize("noise", claims.COVERED)
def test_intervals_cover(noise):
    design = Design(categories=2, tasks=6, noise=noise, prompts=16, items=(16, 16))
    assert claims.coverage(design, drawn()) > 0.9


def test_rows_count_studies_with_any_call_and_with_one_that_is_not_marked():
    calls = [(True, True, True, False), (True, False, False, False)]
    found = [skewed.NullStudy({"q": study}, (0.0,) * 4) for study in calls]
    (row,) = skewed.rows(skewed.SkewedNull("spikes", 32), found)
    shares = [row[name] for name in ("helping", "suppressing", "helping, unmarked", "suppressing, unmarked")]
    assert shares == [1.0, 0.5, 0.5, 0.0]


def test_residuals_of_a_run_have_no_effect_and_its_scatter(monkeypatch):
    effects = np.zeros((TINY.n_tasks, TINY.n_heads))
    effects[:, 0] = 0.5
    run = results(TINY, effects, rng=drawn())
    monkeypatch.setattr(skewed, "load", lambda folder: run)
    skewed._centred.cache_clear()
    null = skewed.residuals(Path("a run"), items=400, rng=drawn())
    skewed._centred.cache_clear()
    for task in run.children:
        block = null[f"{task}/{skewed.LABEL}"].to_dataset()
        difference = (block["patched"] - block["corrupted"]).values[0].reshape(400, -1)
        np.testing.assert_allclose(difference.mean(axis=0), 0, atol=4 * TINY.sd / np.sqrt(400))
        assert (difference.std(axis=0) > TINY.sd / 2).all()
        assert len(set(block["item"].values)) == 400
