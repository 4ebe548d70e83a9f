"""Categories of tasks of which some lack the donors of a second corruption."""

import functools
import warnings

import numpy as np
import pytest
import xarray as xr
from simulated import NAMES, block, tree

from headcats.base.errors import StatisticsWarning
from headcats.categories.membership import categorize, head_table
from headcats.categories.shared import overlap
from headcats.categories.task_tests import NEW_TASK
from headcats.scores.scoring import score

pytestmark = pytest.mark.filterwarnings("ignore:.*(of a single task|stay empty).*")
WRONG = np.random.default_rng(9).uniform(0, 0.2, (6, 1, 4))  # what any donor does: task, head


@functools.cache
def scores_of(*controlled: int) -> xr.Dataset:
    """Six Algorithmic tasks and four heads, of which the first helps and the last suppresses; donors of a second
    corruption do no more than `WRONG`."""
    rng = np.random.default_rng(1)
    blocks, controls = {}, {}
    for number in range(6):
        blocks[f"t{number}"] = block(WRONG[number] + np.array([0.6, 0.0, 0.0, -0.6]) + rng.normal(0, 0.05, (40, 1, 4)))
        controls[f"t{number}"] = block(WRONG[number] + rng.normal(0, 0.05, (40, 1, 4)))
    results = tree(blocks, categories=dict.fromkeys(blocks, NAMES[0]))
    for number in controlled:
        results[f"t{number}/second_corruption_patch@last"] = xr.DataTree(controls[f"t{number}"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # tasks without the control
        return score(results, method="denoising_patch")


class TestTaskSpecificEffects:
    def test_they_are_reduced_like_effects(self) -> None:
        scores = scores_of(*range(6))
        members = categorize(scores, min_tasks=4).sel(category="Algorithmic")
        for name in ("specific_effect", "specific_low", "specific_high"):
            ordered = np.sort(scores[name].values, axis=0)
            np.testing.assert_allclose(members[name], ordered[2])
            np.testing.assert_allclose(members[f"suppressing_{name}"], ordered[3])
        np.testing.assert_allclose(members["specific_effect"].values[0], [0.6, 0, 0, -0.6], atol=0.03)

    def test_the_head_list_shows_them_beside_the_effect(self) -> None:
        members = categorize(scores_of(*range(6)))
        listed = head_table(members)
        columns = ["head", "category", "kind", "effect", "low", "high", "specific", "q", "tasks", "probability"]
        columns += ["doubtful"]
        assert listed.columns.tolist() == [*columns, *NEW_TASK]
        helping, suppressing = (listed[listed["kind"] == kind].iloc[0] for kind in ("helping", "suppressing"))
        assert helping["specific"] == pytest.approx(0.6, abs=0.05)
        assert suppressing["specific"] == pytest.approx(-0.6, abs=0.05)
        own = head_table(overlap(members, sign="suppressing"))
        assert own["specific"].tolist() == listed[listed["kind"] == "suppressing"]["specific"].tolist()

    def test_too_few_tasks_with_the_control_leave_them_unknown(self) -> None:
        members = categorize(scores_of(0, 1), min_tasks=3).sel(category="Algorithmic")
        assert members["effect"].notnull().all()
        assert members["specific_effect"].isnull().all()
        assert "specific" not in head_table(categorize(scores_of()))
