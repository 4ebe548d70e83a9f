"""Membership as a function of the number of tasks that a head must matter for."""

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

from headcats.base.errors import DataError, TooFewItemsError
from headcats.categories.membership import categorize
from headcats.categories.required_tasks import sizes_by_min_tasks
from headcats.scores.scoring import score


def scores_of(*, items: int = 40) -> xr.Dataset:
    """Head h of 5 serves the first h Algorithmic tasks; head 4 both Knowledge tasks; head 0 nothing."""
    rng = np.random.default_rng(0)
    blocks, categories = {}, {}
    for category, n in (("Algorithmic", 4), ("Knowledge", 2)):
        for number in range(n):
            differences = 0.02 * rng.normal(size=(items, 1, 5))
            serving = np.arange(5) > number if category == "Algorithmic" else np.arange(5) == 4
            differences[:, 0] += 0.5 * serving
            blocks[f"{category} {number}"], categories[f"{category} {number}"] = block(differences), category
    return score(tree(blocks, categories=categories), method="denoising_patch")


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_sizes_are_those_of_categorize_at_every_number() -> None:
    scores = scores_of()
    sizes = sizes_by_min_tasks(scores)
    assert sizes["min_tasks"].values.tolist() == [1, 2, 3, 4]
    by_name = {name: sizes["size"].sel(category=name).values.tolist() for name in ("Algorithmic", "Knowledge")}
    assert by_name["Algorithmic"] == [4, 3, 2, 1]
    np.testing.assert_array_equal(by_name["Knowledge"], [1, 1, np.nan, np.nan])
    assert sizes["size"].sel(category="Linguistic").isnull().all()
    members = categorize(scores, min_tasks=3)
    assert int(members["size"].sel(category="Algorithmic")) == 2
    undecided = int((members["member"].sel(category="Algorithmic") == 0).sum())
    assert int(sizes["undecided"].sel(category="Algorithmic", min_tasks=3)) == undecided


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_numbers_that_the_rule_cannot_judge_are_nan() -> None:
    scores = scores_of(items=3)
    judged = sizes_by_min_tasks(scores)["size"].sel(category="Algorithmic").notnull().values
    for min_tasks, known in enumerate(judged, start=1):
        if known:
            categorize(scores, min_tasks=min_tasks)
        else:
            with pytest.raises(TooFewItemsError):
                categorize(scores, min_tasks=min_tasks)
    assert 0 < judged.sum() < 4
    with pytest.raises(TooFewItemsError):
        sizes_by_min_tasks(scores_of(items=2))


def test_bad_input_is_told() -> None:
    scores = scores_of(items=8)
    with pytest.raises(DataError, match="No category has a task"):
        sizes_by_min_tasks(scores.assign(effect=scores["effect"] * np.nan))
    with pytest.raises(DataError, match="sizes_by_min_tasks takes the scores"):
        sizes_by_min_tasks(xr.Dataset())
