"""Categories with as many tasks of each."""

import itertools
import json

import numpy as np
import pytest
import xarray as xr
from simulated import CATEGORIES, block, tree

from headcats import rules
from headcats.base.errors import DataError, OptionError
from headcats.categories import equal_tasks
from headcats.categories.equal_tasks import subsampled_overlap
from headcats.categories.judging import ROWS, Judged
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.map_tables import with_tests
from headcats.categories.membership import categorize
from headcats.categories.shared import overlap
from headcats.reports.text.maps import map_findings
from headcats.scores.scoring import score


@pytest.fixture(scope="module")
def scores() -> xr.Dataset:
    """Head 0 serves all 6 Algorithmic and both Knowledge tasks; head 1 one Algorithmic task in three."""
    rng = np.random.default_rng(0)
    blocks, categories = {}, {}
    for category, n in (("Algorithmic", 6), ("Knowledge", 2)):
        for number in range(n):
            differences = 0.05 * rng.normal(size=(40, 1, 6))
            differences[:, 0, 0] += 0.5
            if category == "Algorithmic" and number < 2:
                differences[:, 0, 1] += 0.5
            blocks[f"{category} {number}"] = block(differences)
            categories[f"{category} {number}"] = category
    results = tree(blocks, categories=categories)
    results.attrs["categories"] = json.dumps(CATEGORIES[:2])
    return score(results, method="denoising_patch")


def test_a_head_of_few_tasks_is_in_as_often_as_a_subset_holds_them(scores: xr.Dataset) -> None:
    whole = categorize(scores, rule=rules.fdr())
    assert whole["size"].values.tolist() == [1, 1]
    found = subsampled_overlap(scores, rule=rules.fdr(), subsets=200)
    assert found["n_tasks"].item() == 2
    # "half" of 2 tasks is both: head 1 is in if both are its two of six, 1 / C(6, 2) = 1 / 15.
    assert found["size"].sel(category="Algorithmic").item() == pytest.approx(1 + 1 / 15, abs=0.05)
    assert (found["size_low"].values.tolist(), found["size_high"].values.tolist()) == ([1.0, 1.0], [2.0, 1.0])
    assert found["size"].sel(category="Knowledge").item() == 1.0
    assert found["observed"].values.tolist() == pytest.approx([1 / 15, 1.0], abs=0.05)
    assert found["jaccard"].sel(category="Algorithmic", other="Knowledge").item() == pytest.approx(29 / 30, abs=0.03)
    assert found.attrs["subsets"] == 200
    assert set(found["jaccard_low"].values.ravel()) | set(found["jaccard_high"].values.ravel()) <= {0.5, 1.0}


def test_a_range_leaves_out_one_subset_in_forty_at_each_end(
    scores: xr.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = iter([0, 0, 1, 1, *[2] * 92, 3, 3, 4, 4])

    def judged(*arguments: object, **options: object) -> Judged:
        outcome = np.where(np.arange(6) < np.array([[next(sizes)], [6]]), 1, -1)[:, None]
        table = xr.Dataset({"effect": (ROWS, outcome * 1.0), "smallest_p": ("category", [0.0, 0.0])})
        return Judged([], table, outcome.astype(np.int8))

    monkeypatch.setattr(equal_tasks, "judge", judged)
    different = itertools.count()
    monkeypatch.setattr(equal_tasks, "sorted", lambda tasks: [*tasks, f"{next(different)}"], raising=False)
    found = subsampled_overlap(scores, subsets=100)
    assert (found["size_low"].values[0], found["size_high"].values[0]) == (1, 3)


@pytest.mark.filterwarnings("ignore:min_tasks=1")
def test_the_ends_of_a_range_are_values_that_some_subset_has(scores: xr.Dataset) -> None:
    found = subsampled_overlap(scores, rule=rules.fdr(), subsets=4, min_tasks=1)
    for end in ("size_low", "size_high"):
        assert np.isin(found[end].values, [1.0, 2.0]).all()
    assert (found["size_low"].values < found["size"].values)[0]
    assert (found["size_high"].values > found["size"].values)[0]


def test_equal_numbers_of_tasks_change_nothing(scores: xr.Dataset) -> None:
    equal = scores.isel(task=[0, 2, 6, 7])
    found = subsampled_overlap(equal, rule=rules.fdr(), subsets=3)
    assert found["size"].values.tolist() == categorize(equal, rule=rules.fdr())["size"].values.tolist()
    assert (found["size_low"] == found["size_high"]).all()
    whole = overlap(categorize(equal, rule=rules.fdr(min_effect=0.01)), draws=1)
    found = subsampled_overlap(equal, rule=rules.fdr(min_effect=0.01), subsets=3)
    for name in ("observed", "observed_least", "observed_most"):
        assert found[name].values.tolist() == whole[name].values.tolist()
    assert (found["observed_most"] > found["observed"]).any()


def test_the_seed_decides(scores: xr.Dataset) -> None:
    first, again, other = (subsampled_overlap(scores, subsets=20, seed=seed) for seed in (0, 0, 1))
    xr.testing.assert_identical(first, again)
    assert not first["size"].equals(other["size"])


def uneven() -> xr.Dataset:
    """Two Algorithmic tasks of 40 items and one of 2; one Knowledge task of 2."""
    rng = np.random.default_rng(0)
    sizes = {"wide": 40, "broad": 40, "narrow": 2, "other": 2}
    blocks = {task: block(rng.normal(0.3, 0.01, (n, 2, 3))) for task, n in sizes.items()}
    results = tree(blocks, categories=dict.fromkeys(blocks, "Algorithmic") | {"other": "Knowledge"})
    results.attrs["categories"] = json.dumps(CATEGORIES[:2])
    return score(results, method="denoising_patch")


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_subsets_that_cannot_be_judged_are_counted() -> None:
    found = subsampled_overlap(uneven(), rule=rules.fdr(), subsets=40)
    assert 18 <= found.attrs["judged"] <= 36  # those with a task of 40 items
    assert found.attrs["subsets"] == 40
    assert found["size"].sel(category="Algorithmic").item() == 6.0


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_where_no_subset_can_be_judged_the_map_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    scores = uneven()
    with pytest.raises(DataError, match="not call any"):
        subsampled_overlap(scores.isel(task=[2, 3]), rule=rules.fdr(), subsets=3)
    members = categorize(scores, rule=rules.fdr())
    shown = {"scores": scores.isel(task=[2, 3]), "members": members, "overlap": overlap(members, draws=10)}
    text = " ".join(map(str, map_findings(MapResult(MapSpec(), with_tests(shown, MapSpec())))))
    assert "fdr(alpha=0.05)" in text


def test_bad_input_is_told(scores: xr.Dataset) -> None:
    with pytest.raises(OptionError, match="subsets"):
        subsampled_overlap(scores, subsets=0)
    with pytest.raises(DataError, match="smallest category has 2"):
        subsampled_overlap(scores, min_tasks=3)
