"""Categories over revisions with known truth: what comes and goes, what differs, and what cannot be compared."""

import json

import numpy as np
import pytest
import xarray as xr
from simulated_series import SHAPE, STRONG, TASKS, heads, results_of, series_of

from headcats.base.errors import DataError, OptionError, StatisticsWarning, UnknownNameError
from headcats.evidence.comparison.revisions import over_revisions


def changed(course, category, revision):
    """Head -> change and whether it is found, of those whose call changes."""
    cell = course.sel(category=category, revision=revision).transpose(..., "layer", "head")
    places = zip(*np.nonzero(cell["change"].values), strict=True)
    return {
        f"L{layer}H{head}": (int(cell["change"][layer, head]), bool(cell["change_found"][layer, head]))
        for layer, head in places
    }


LATER = {"Knowledge": heads(L0H0=0.4, L1H3=0.3), "Linguistic": heads(L0H0=0.4)}


@pytest.fixture(scope="module")
def runs():
    return {"step1": results_of(STRONG), "step2": results_of(LATER, seed=1)}


@pytest.fixture(scope="module")
def course(runs):
    return over_revisions(series_of(runs))


def test_a_head_that_comes_and_one_that_goes_are_found(course):
    assert changed(course, "Knowledge", "step2") == {"L1H2": (-1, True), "L1H3": (1, True)}
    assert changed(course, "Linguistic", "step2") == {}
    assert changed(course, "Knowledge", "step1") == {}
    difference = course["difference"].sel(category="Knowledge", revision="step2")
    np.testing.assert_allclose(difference.values, LATER["Knowledge"] - STRONG["Knowledge"], atol=0.05)
    assert course["n_compared"].sel(revision="step2").values.tolist() == [2, 2]
    assert course["step"].values.tolist() == [1, 2]
    assert course["before"].values.tolist() == [["", ""], ["step1", "step1"]]


def test_each_revision_is_judged_as_alone(runs, course):
    alone, together = over_revisions(series_of({"step2": runs["step2"]})), course.sel(revision=["step2"])
    for name in ("member", "effect", "low", "high", "q_value", "mean_effect", "size", "task_effect", "task_q"):
        xr.testing.assert_identical(alone[name], together[name])


def test_a_call_can_change_though_nothing_differs():
    """Two measurements of one truth near the cut-off of the rule: what is not a difference is not found to be one."""
    near = {"Knowledge": np.full(SHAPE, 0.1), "Linguistic": heads(L0H0=0.4)}
    calls = found = 0
    for seed in range(2):
        pair = {f"step{place}": results_of(near, noise=0.08, seed=2 * seed + place) for place in range(2)}
        course = over_revisions(series_of(pair))
        calls += int((course["change"] != 0).sum())
        found += int(course["change_found"].sum())
    assert calls >= 5
    assert found == 0


def test_a_head_that_comes_while_its_mean_effect_falls_is_not_found_to_come():
    """In one task alone before, which is not enough, and weakly in both after."""
    before = {**STRONG, "k1": heads(L0H0=0.4, L0H1=0.9), "k2": heads(L0H0=0.4)}
    after = {**STRONG, "Knowledge": heads(L0H0=0.4, L0H1=0.2)}
    course = over_revisions(series_of({"step1": results_of(before), "step2": results_of(after, seed=1)}))
    assert changed(course, "Knowledge", "step2") == {"L0H1": (1, False)}
    cell = course.sel(category="Knowledge", revision="step2", layer=0, head=1)
    assert float(cell["difference_high"]) < -0.1


def test_a_skipped_task_is_no_zero_and_the_comparison_goes_over_what_is_not_judged():
    all_skipped = results_of(STRONG, skipped=TASKS)
    some = results_of(STRONG, skipped=["k1", "k2", "l2"], seed=2)
    revisions = {"step1": results_of(STRONG), "step2": all_skipped, "step3": some, "step4": results_of(STRONG, seed=3)}
    with pytest.warns(StatisticsWarning, match=r"single task.*Linguistic \(l1\).*\(step3\)"):
        course = over_revisions(series_of(revisions, listed=["step5"]))
    assert course["size"].sel(category="Knowledge").isnull().values.tolist() == [False, True, True, False, True]
    assert course["n_skipped"].sel(category="Knowledge").values.tolist() == [0, 2, 2, 0, 2]
    assert course["before"].sel(category="Knowledge").values.tolist() == ["", "", "", "step1", ""]
    assert course["before"].sel(category="Linguistic").values.tolist() == ["", "", "step1", "step3", ""]
    assert course["n_compared"].sel(category="Linguistic").values.tolist() == [0, 0, 1, 1, 0]
    assert course["task_effect"].sel(task="k1").isnull().all(("layer", "head")).values.tolist()[1:3] == [True, True]
    assert course["skipped"].sel(task="k1").values.tolist() == ["", *["the model cannot do it"] * 2, "", "not run"]
    assert json.loads(course.attrs["not_judged"]) == {"step2": "every task is skipped", "step5": "not run"}
    assert not course["change"].sel(revision=["step2", "step5"]).any()


def test_tasks_with_other_prompts_are_left_out_of_the_test_and_counted():
    later = {"Knowledge": heads(L0H0=0.4), "Linguistic": heads(L0H0=0.1)}
    second = results_of(later, prompts={"k1": "others", "l1": "others", "l2": "others"}, seed=1)
    course = over_revisions(series_of({"step1": results_of(STRONG), "step2": second})).sel(revision="step2")
    assert course["n_compared"].values.tolist() == [1, 0]
    assert course["n_other_prompts"].values.tolist() == [1, 2]
    assert course["difference"].sel(category="Linguistic").isnull().all()
    assert bool(course["change_found"].sel(category="Knowledge", layer=1, head=2))
    assert not course["change_found"].sel(category="Linguistic").any()


def test_a_table_can_be_stored(tmp_path, course):
    course.to_netcdf(tmp_path / "course.nc")
    with xr.open_dataset(tmp_path / "course.nc") as stored:
        xr.testing.assert_equal(stored.load(), course)


def test_what_is_no_series_or_cannot_be_judged_is_refused():
    results = results_of(STRONG)
    with pytest.raises(DataError, match="of one model"):
        over_revisions(results)
    with pytest.raises(DataError, match="No task"):
        over_revisions(series_of({"step1": results_of(STRONG, skipped=TASKS)}))
    series = series_of({"step1": results})
    with pytest.raises(UnknownNameError, match="mean_ablation"):
        over_revisions(series, method="mean_ablation")
    with pytest.raises(OptionError, match="alpha"):
        over_revisions(series, alpha=1)
    smaller = results_of(STRONG).map_over_datasets(
        lambda data: data.isel(head=slice(3)) if "head" in data.dims else data
    )
    smaller.attrs = results.attrs
    with pytest.raises(DataError, match="step1 and step2 have different heads"):
        over_revisions(series_of({"step1": results, "step2": smaller}))
