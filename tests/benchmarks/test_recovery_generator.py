"""The generator keeps what it declares: else the benchmark would test something else than it says."""

import dataclasses

import numpy as np
import pytest
import xarray as xr
from recovery_parts.generator import METHOD, Design, noise, results, without_items
from scipy import stats

from headcats.scores.scoring import score

pytestmark = pytest.mark.ci

SMALL = Design(categories=2, tasks=3, layers=3, heads=4)


def blocks(tree: xr.DataTree) -> list[xr.Dataset]:
    return [node[f"{METHOD}@last"].to_dataset() for node in tree.children.values()]


def differences(block: xr.Dataset) -> np.ndarray:
    found = (block["patched"] - block["corrupted"]).sel(metric="logit_diff")
    return found.transpose("prompt", "layer", "head").values.reshape(block.sizes["prompt"], -1)


def drawn(seed: int, **changes: object) -> xr.DataTree:
    design = dataclasses.replace(SMALL, **changes)
    return results(design, np.zeros((design.n_tasks, design.n_heads)), rng=np.random.default_rng(seed))


@pytest.mark.parametrize(("within_item", "between_heads"), [(0.5, 0.3), (0.0, 0.3), (0.5, 0.0)])
def test_noise_has_unit_variance_heavy_tails_and_the_declared_correlations(within_item, between_heads):
    item = np.repeat(np.arange(60_000), 2)
    rng = np.random.default_rng(0)
    design = Design(layers=1, heads=3, within_item=within_item, between_heads=between_heads)
    found = noise(design, rng, item=item)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(found.var(axis=0), 1, atol=0.05)
    first, second = found[::2], found[1::2]
    for head in range(3):
        assert np.corrcoef(first[:, head], second[:, head])[0, 1] == pytest.approx(within_item, abs=0.03)
    between = np.corrcoef(found.T)[np.triu_indices(3, k=1)]
    np.testing.assert_allclose(between, between_heads, atol=0.03)
    # Two heads on two prompts of one item: both at once, nothing beyond.
    across = np.corrcoef(first[:, 0], second[:, 1])[0, 1]
    assert across == pytest.approx(within_item * between_heads, abs=0.03)
    # Beyond 5 standard deviations a normal variable has 6e-7 of its mass.
    assert (np.abs(found) > 5).mean() > 1e-4


@pytest.mark.parametrize(("kind", "skewness"), [("normal", 0.0), ("log-normal", -6.2), ("spikes", -4.1)])
def test_other_noises_have_mean_zero_unit_variance_and_their_skew(kind, skewness):
    design = Design(layers=1, heads=3, noise=kind)
    found = noise(design, np.random.default_rng(0), item=np.arange(200_000))
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(found.var(axis=0), 1, atol=0.08)
    np.testing.assert_allclose(stats.skew(found), skewness, rtol=0.25, atol=0.05)


def test_every_item_is_asked_about_and_there_are_25_to_45_of_them():
    numbers = set()
    for seed in range(8):
        for block in blocks(drawn(seed)):
            numbers.add(len(set(block["item"].values.tolist())))
            assert block.sizes["prompt"] == 64
            assert set(np.unique(block["distractor_task"].values, return_counts=True)[1].tolist()) == {16}
    assert min(numbers) >= 25
    assert max(numbers) <= 45
    assert len(numbers) > 10
    for block in blocks(drawn(0, prompts=16)):
        assert len(set(block["item"].values.tolist())) == 16


def test_the_same_seed_gives_the_same_study_and_another_one_another():
    xr.testing.assert_identical(drawn(3), drawn(3))
    assert not np.array_equal(differences(blocks(drawn(3))[0]), differences(blocks(drawn(4))[0]))


def test_planted_effects_are_exact_where_there_is_no_noise():
    design = dataclasses.replace(SMALL, sd=0.0, by_distractor=0.25)
    effects = np.random.default_rng(0).choice([-0.1, 0.0, 0.2], size=(design.n_tasks, design.n_heads))
    tree = results(design, effects, rng=np.random.default_rng(1))
    for planted, block in zip(effects, blocks(tree), strict=True):
        found = differences(block)
        np.testing.assert_allclose(found.mean(axis=0), planted, atol=1e-12)
        np.testing.assert_allclose(found.std(axis=0), 0.25 * np.abs(planted), atol=1e-12)
        for name in np.unique(block["distractor_task"].values):
            assert np.ptp(found[block["distractor_task"].values == name], axis=0).max() < 1e-12


def test_scores_of_a_study_are_what_was_planted():
    effects = np.zeros((SMALL.n_tasks, SMALL.n_heads))
    effects[:3, 0], effects[3:, 5] = 0.4, -0.4
    tree = results(dataclasses.replace(SMALL, sd=0.1), effects, rng=np.random.default_rng(2))
    scores = score(tree, method=METHOD)
    found = scores["effect"].values.reshape(effects.shape)
    np.testing.assert_allclose(found, effects, atol=0.1)
    np.testing.assert_allclose(scores["gap"], 1.0, atol=0.06)
    assert scores["category"].values.tolist() == ["Category A"] * 3 + ["Category B"] * 3
    assert (scores["n_items"] >= 25).all()


def test_without_items_every_prompt_is_an_item_and_nothing_else_changes():
    tree = drawn(0)
    for kept, hidden in zip(blocks(tree), blocks(without_items(tree)), strict=True):
        assert len(set(hidden["item"].values.tolist())) == 64
        xr.testing.assert_identical(kept.drop_vars("item"), hidden.drop_vars("item"))
    assert without_items(tree).attrs == tree.attrs
