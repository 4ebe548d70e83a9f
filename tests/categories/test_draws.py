"""Membership probability, sizes without effect, and intervals of the overlap."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from simulated import CATEGORIES, NAMES, block, null_results, tree

from headcats import rules
from headcats.base.errors import DataError, OptionError
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.membership import categorize, head_table
from headcats.categories.run_maps import with_tests
from headcats.categories.shared import overlap
from headcats.reports.text.maps import map_findings
from headcats.scores.scoring import score


def results(effects: dict[tuple[str, int], float], *, sd: float = 0.15, n: int = 60, seed: int = 0) -> xr.DataTree:
    """Two categories of three tasks and ten heads; `effects` of (category, head) are the same in its tasks."""
    rng = np.random.default_rng(seed)
    blocks, categories = {}, {}
    for category in NAMES[:2]:
        for number in range(3):
            differences = sd * rng.normal(size=(n, 1, 10))
            for (named, head), effect in effects.items():
                if named == category:
                    differences[:, 0, head] += effect
            blocks[f"{category} {number}"] = block(differences, items=np.arange(n) // 2)
            categories[f"{category} {number}"] = category
    made = tree(blocks, categories=categories)
    made.attrs["categories"] = json.dumps(CATEGORIES[:2])
    return made


def members_of(found: xr.DataTree, rule: rules.Rule) -> xr.Dataset:
    return categorize(score(found, method="denoising_patch"), rule=rule)


@pytest.fixture(scope="module")
def near() -> xr.Dataset:
    """One head shared, one in Algorithmic alone, and one of Knowledge at the threshold."""
    effects = {("Algorithmic", 0): 0.5, ("Algorithmic", 1): 0.5, ("Knowledge", 1): 0.5, ("Knowledge", 2): 0.105}
    return members_of(results(effects), rules.threshold(value=0.1))


@pytest.fixture(scope="module")
def one_head() -> xr.Dataset:
    return score(results({("Algorithmic", 0): 0.5}), method="denoising_patch")


def test_strong_heads_are_in_always_weak_ones_sometimes_and_others_never() -> None:
    found = results({("Algorithmic", 0): 0.5, ("Algorithmic", 1): 0.1, ("Knowledge", 2): 0.5})
    members = members_of(found, rules.threshold(value=0.1))
    probability = members["probability"].sel(category="Algorithmic").values[0]
    assert probability[0] == 1.0
    assert 0.15 < probability[1] < 0.85  # an effect at the threshold
    assert probability[3:].max() == 0.0
    assert members["probability"].sel(category="Knowledge").values[0, 2] == 1.0
    assert head_table(members)["probability"].tolist()[0] == 1.0


def test_suppressing_heads_have_a_probability_of_their_own() -> None:
    members = members_of(results({("Algorithmic", 0): -0.4}), rules.fdr(min_effect=0.05))
    assert members["suppressing_probability"].sel(category="Algorithmic", head=0).item() > 0.99
    assert members["probability"].sel(category="Algorithmic", head=0).item() == 0.0
    assert (members["size"].values.tolist(), members["suppressing_size"].values.tolist()) == ([0, 0], [1, 0])


def test_the_size_without_effect_is_what_a_rule_finds_in_noise() -> None:
    found = null_results(np.random.default_rng(0), tasks=8, shape=(2, 10), prompts=60, n_items=30)
    scores = score(found, method="denoising_patch")
    top = categorize(scores, rule=rules.top_fraction(p=0.2))
    # It always returns heads, of which some do not help in both tasks.
    assert (top["size_expected"] > 3).all()
    assert (top["size_expected"] <= 4).all()
    assert categorize(scores, rule=rules.fdr(min_effect=0))["size_expected"].max() < 0.2
    loose = categorize(scores, rule=rules.threshold(value=0.1))
    # Real noise beside resampled noise: the same number, up to chance.
    assert loose["size"].mean().item() == pytest.approx(loose["size_expected"].mean().item(), abs=2.5)


@pytest.mark.filterwarnings("ignore:sd_above_mean")
@pytest.mark.parametrize(
    "rule", [rules.fdr(alpha=0.99, min_effect=0), rules.top_fraction(p=0.2), rules.sd_above_mean(k=1)], ids=repr
)
def test_draws_are_judged_at_once_as_one_by_one(rule: rules.Rule) -> None:
    found = results({("Algorithmic", 0): 0.5})
    task = found["Knowledge 0/denoising_patch@last"].to_dataset()
    task["patched"][..., 3] = np.nan  # a head without numbers
    found["Knowledge 0/denoising_patch@last"] = xr.DataTree(task)
    scores = score(found, method="denoising_patch").isel(resample=slice(20), draw=slice(20))
    at_once = categorize(scores, rule=rule)
    assert at_once["size_expected"].max() > 0
    xr.testing.assert_identical(at_once, categorize(scores, rule=replace(rule, takes_draws=False)))


class TestSingleItems:
    """One query item cannot be resampled, and has no scatter."""

    @staticmethod
    def members(single: str) -> xr.Dataset:
        found = results({("Algorithmic", 0): 0.5, ("Algorithmic", 1): 0.5, ("Knowledge", 1): 0.5})
        for task in found.children:
            if task.startswith(single):
                data = found[f"{task}/denoising_patch@last"].to_dataset()
                found[f"{task}/denoising_patch@last"] = xr.DataTree(data.assign_coords(item=("prompt", ["one"] * 60)))
        return members_of(found, rules.threshold(value=0.2))

    def test_what_would_take_draws_is_not_known(self) -> None:
        members = self.members("Algorithmic")
        assert members["size"].values.tolist() == [2, 1]
        for name in ("probability", "suppressing_probability"):
            assert members[name].sel(category="Algorithmic").isnull().all()
            assert members[name].sel(category="Knowledge").notnull().all()
        assert np.isnan(members["size_expected"].values).tolist() == [True, False]
        shared = overlap(members)
        assert shared["jaccard"].values.tolist() == [[1.0, 0.5], [0.5, 1.0]]
        for name in ("jaccard_low", "jaccard_high"):
            assert np.isnan(shared[name].values).tolist() == [[True, True], [True, False]]
        assert head_table(members)["probability"].isna().tolist() == [True, True, False]

    def test_a_map_of_them_says_dashes(self, one_head: xr.Dataset) -> None:
        members = self.members("")
        shared = overlap(members, sign="suppressing")
        assert shared["probability"].isnull().all()
        found = {"scores": one_head, "members": members, "overlap": overlap(members)}
        text = " ".join(map(str, map_findings(MapResult(MapSpec(), with_tests(found, MapSpec())))))
        assert "nan" not in text
        assert "of the resamples of query items" not in text


def test_true_effects_do_not_count_as_noise() -> None:
    strong = members_of(results({("Algorithmic", head): 0.5 for head in range(5)}), rules.threshold(value=0.1))
    assert strong["size"].sel(category="Algorithmic").item() == 5
    assert strong["size_expected"].sel(category="Algorithmic").item() < 0.1


def test_scores_without_draws_give_memberships_without_probabilities(one_head: xr.Dataset) -> None:
    members = categorize(one_head.drop_vars(["resampled", "null_effect_t"]))
    assert not {"probability", "size_expected", "resampled_member"} & set(members)
    assert "jaccard_low" not in overlap(members)
    assert "probability" not in head_table(members)


class TestOverlapIntervals:
    def test_they_hold_the_overlap_of_clear_heads(self, near: xr.Dataset) -> None:
        shared = overlap(near)
        cell = shared.sel(category="Algorithmic", other="Knowledge")
        assert cell["jaccard_low"].item() == pytest.approx(1 / 3)
        assert cell["jaccard_high"].item() == pytest.approx(1 / 2)  # without the head at the threshold
        assert cell["jaccard_low"].item() <= cell["jaccard"].item() <= cell["jaccard_high"].item()

    def test_their_ends_are_indices_that_some_resample_has(self, near: xr.Dataset) -> None:
        for n in range(2, 9):  # few enough for quantiles to lie between them
            shared = overlap(near.isel(resample=slice(n)))
            ends = {shared[name].values[0, 1] for name in ("jaccard_low", "jaccard_high")}
            assert ends <= {1 / 3, 1 / 2}

    def test_they_leave_out_one_resample_in_forty_at_each_end(self, near: xr.Dataset) -> None:
        members = near.isel(resample=slice(100))
        resampled = xr.zeros_like(members["resampled_member"])
        resampled[{"head": 0}] = True
        # Knowledge has 1 to 5 heads, Algorithmic one of them: the index is 1, or 1/2 .. 1/5 in two or three resamples.
        for place, heads in enumerate([5, 5, 4, 4, 3, 3, 3, 2]):
            resampled[{"resample": place, "category": NAMES.index("Knowledge"), "head": slice(heads)}] = True
        shared = overlap(members.assign(resampled_member=resampled))
        cell = shared.sel(category="Algorithmic", other="Knowledge")
        assert (cell["jaccard_low"].item(), cell["jaccard_high"].item()) == (1 / 4, 1.0)


class TestSign:
    def test_the_two_signs_are_two_maps(self) -> None:
        effects = {("Algorithmic", 0): 0.5, ("Algorithmic", 1): -0.5, ("Knowledge", 1): -0.5, ("Knowledge", 2): 0.5}
        members = members_of(results(effects), rules.fdr())
        helping, suppressing = (overlap(members, sign=sign) for sign in ("helping", "suppressing"))
        assert helping["set"].values[0, :3].tolist() == ["Algorithmic", "", "Knowledge"]
        assert suppressing["set"].values[0, :3].tolist() == ["", "Algorithmic+Knowledge", ""]
        assert suppressing["effect"].sel(category="Algorithmic", head=1).item() == pytest.approx(-0.5, abs=0.1)
        assert (helping.attrs["sign"], suppressing.attrs["sign"]) == ("helping", "suppressing")
        assert suppressing["size"].values.tolist() == [1, 1]
        listed = head_table(suppressing)
        assert (listed["kind"].tolist(), listed["head"].tolist()) == (["suppressing"] * 2, ["L0H1"] * 2)
        assert head_table(helping)["kind"].tolist() == ["helping", "suppressing", "helping", "suppressing"]

    def test_other_words_and_missing_verdicts_are_refused(self, near: xr.Dataset) -> None:
        with pytest.raises(OptionError, match="got 'both'"):
            overlap(near, sign="both")
        with pytest.raises(DataError, match="no suppressing heads"):
            overlap(near.drop_vars("suppressing"), sign="suppressing")
