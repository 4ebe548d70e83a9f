"""The labelled table: which block, which sign, which unit, which warning."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from simulated import CATEGORIES, block, null_results, tree

from headcats import rules
from headcats.base.errors import DataError, OptionError, StatisticsWarning, UnknownNameError
from headcats.scores.scoring import score
from headcats.statistics.task import mean_interval

N, SHAPE = 24, (2, 3)


def two_tasks(**options: object) -> xr.DataTree:
    rng = np.random.default_rng(0)
    blocks = {
        "capitals": block(0.5 + rng.normal(size=(N, *SHAPE)), items=np.arange(N) // 2, **options),
        "antonyms": block(rng.normal(size=(N, *SHAPE)), gaps=np.linspace(1, 3, N), items=np.arange(N) // 2, **options),
    }
    return tree(blocks, categories={"capitals": "Knowledge", "antonyms": "Linguistic"})


@pytest.mark.parametrize("base", ["clean", "corrupted"])
def test_schema_signs_and_units(base: str) -> None:
    results = two_tasks(base=base)
    scores = score(results, method="denoising_patch")
    per_head = {"effect", "low", "high", "p_value", "q_value", "raw", "standard_error"}
    per_head |= {"skewness", "doubtful"}
    assert {name for name in scores.data_vars if scores[name].dims == ("task", "layer", "head")} == per_head
    assert {name for name in scores.data_vars if scores[name].dims == ("task",)} == {
        "n", "n_items", "gap", "gap_low", "gap_high", "reliability", "smallest_p",
    }  # fmt: skip
    assert scores["task"].values.tolist() == ["capitals", "antonyms"]
    assert scores["category"].values.tolist() == ["Knowledge", "Linguistic"]
    assert scores["category"].dims == ("task",)
    assert (scores["n"].values.tolist(), scores["n_items"].values.tolist()) == ([N, N], [N // 2, N // 2])
    assert json.loads(scores.attrs["categories"]) == CATEGORIES
    assert [scores.attrs[key] for key in ("method", "metric", "positions")] == ["denoising_patch", "logit_diff", "last"]
    # Positive = the head helps, whichever run was edited; shares of the gap of the same task.
    np.testing.assert_allclose(scores["gap"], [1.0, 2.0])
    np.testing.assert_allclose([scores["gap_low"][0], scores["gap_high"][0]], 1.0)
    assert 1 < scores["gap_low"][1] < 2 < scores["gap_high"][1] < 3
    np.testing.assert_allclose(scores["raw"] / scores["gap"], scores["effect"])
    planted = (0.5 + np.random.default_rng(0).normal(size=(N, *SHAPE))).mean(axis=0)
    np.testing.assert_allclose(scores["raw"].sel(task="capitals"), planted)
    # The same prompts as denoising and as ablation: the same effects.
    other = score(two_tasks(base="clean", distractors=np.arange(N) % 3), method="denoising_patch")
    xr.testing.assert_allclose(scores, other)


def test_q_values_are_over_heads_and_tasks_together() -> None:
    scores = score(two_tasks(), method="denoising_patch")
    p = np.sort(scores["p_value"].values.ravel())
    smallest_q = (p * p.size / np.arange(1, p.size + 1)).min()
    assert float(scores["q_value"].min()) == pytest.approx(smallest_q)
    np.testing.assert_array_equal(scores["q_value"].isnull(), scores["doubtful"])


def test_an_effect_that_rare_items_could_undo_is_doubtful() -> None:
    """A steady small effect is called, a rare large exception on another task tells against it."""
    rng = np.random.default_rng(0)
    steady = -0.012 + 0.001 * rng.normal(size=(30, 1, 3))
    exceptions = steady.copy()
    exceptions[:2, 0, 0] += 0.25
    blocks = {"seen": block(exceptions), "unseen": block(steady)}
    scores = score(tree(blocks, categories=dict.fromkeys(blocks, "Knowledge")), method="denoising_patch")
    assert scores["doubtful"].values[:, 0].tolist() == [[True, False, False], [True, False, False]]
    assert np.isnan(scores["q_value"].values[1, 0, 0])
    assert scores["q_value"].values[1, 0, 1] < 0.1


def test_rounding_of_other_heads_changes_no_number_of_a_test() -> None:
    """Heads that do nothing, and one with the whole effect, on processors that round otherwise."""
    rng = np.random.default_rng(0)
    exact = np.zeros((30, 2, 3))
    exact[:, 0, 0], exact[:, 0, 1] = 1.0, rng.normal(0.3, 0.4, size=30)
    rounded = exact.copy()
    rounded[:, 1] += 1e-7 * rng.normal(size=(30, 3))
    rounded[4, 0, [0, 2]] += 1e-7
    first, second = (
        score(tree({"a": block(values), "b": block(values[::-1])}, categories=dict.fromkeys("ab", "Knowledge")))
        for values in (exact, rounded)
    )
    for name in ("null_t", "null_effect_t", "doubtful", "skewness", "noise_correlation"):
        xr.testing.assert_allclose(first[name], second[name], rtol=1e-5)
    varied = {"layer": 0, "head": 1}
    xr.testing.assert_identical(first["p_value"].sel(varied), second["p_value"].sel(varied))
    assert not second["doubtful"].sel(layer=0, head=[0, 2]).any()


def test_a_task_alone_has_the_same_effects_and_in_another_order_all_is_the_same() -> None:
    results = two_tasks()
    together = score(results, method="denoising_patch")
    turned = xr.DataTree.from_dict({f"/{task}": results[task].to_dataset() for task in ("antonyms", "capitals")})
    for task in turned.children:
        turned[f"{task}/denoising_patch@last"] = results[f"{task}/denoising_patch@last"].copy()
    turned.attrs = results.attrs
    swapped = score(turned, method="denoising_patch")
    order = ["capitals", "antonyms"]
    xr.testing.assert_identical(swapped.sel(task=order, other_task=order), together)
    del turned["antonyms"]
    alone = score(turned, method="denoising_patch")
    for name in ("effect", "standard_error", "reliability", "gap_low"):
        xr.testing.assert_identical(alone[name], together[name].sel(task=["capitals"]))


def test_seed_changes_draws_and_nothing_else() -> None:
    first, second = (score(two_tasks(), method="denoising_patch", seed=seed) for seed in (0, 1))
    xr.testing.assert_identical(first["effect"], second["effect"])
    assert (first["low"] != second["low"]).any()


def test_tasks_without_this_block_are_left_out_by_name() -> None:
    results = two_tasks()
    results["antonyms/zero_ablation@all"] = results["antonyms/denoising_patch@last"]
    del results["antonyms"]["denoising_patch@last"]
    with pytest.warns(StatisticsWarning, match=r"1 of 2 tasks .*antonyms"):
        scores = score(results, method="denoising_patch")
    assert scores["task"].values.tolist() == ["capitals"]


def test_positions_are_chosen_or_asked_for() -> None:
    results = two_tasks()
    for task in ("capitals", "antonyms"):
        results[f"{task}/denoising_patch@all"] = results[f"{task}/denoising_patch@last"]
    with pytest.raises(OptionError, match=r"at last, all:"):
        score(results, method="denoising_patch")
    assert score(results, method="denoising_patch", positions="all").attrs["positions"] == "all"
    with pytest.raises(OptionError, match="not at 'first'"):
        score(results, method="denoising_patch", positions="first")


def test_unknown_names_list_what_the_results_hold() -> None:
    with pytest.raises(UnknownNameError, match=r"mean 'denoising_patch'\?"):
        score(two_tasks(), method="denoise_patch")
    with pytest.raises(UnknownNameError, match="Known: logit_diff"):
        score(two_tasks(), method="denoising_patch", metric="prob")
    with pytest.raises(UnknownNameError, match=r"=\['logit_diff', 'prob'\]"):
        score(two_tasks(), method="denoising_patch", metric="prob")
    with pytest.raises(UnknownNameError, match=r"Known: logit_diff\.$"):  # no run has a metric of that name
        score(two_tasks(), method="denoising_patch", metric="probability")
    with pytest.raises(UnknownNameError, match=r"--methods mean_ablation"):
        score(two_tasks(), method="mean_ablation")


def test_gap_that_is_not_clearly_above_zero_is_refused_with_its_interval() -> None:
    rng = np.random.default_rng(6)
    gaps = 3 * stats.zscore(rng.normal(size=32), ddof=1) + 0.3
    differences = 0.5 + 0.1 * rng.normal(size=(32, *SHAPE))
    blocks = {
        "weak": block(differences, gaps=gaps),
        "few": block(differences[:4], gaps=np.array([4.0, -3, -3, 4])),
        "clear": block(differences[:8]),
    }
    results = tree(blocks, categories=dict.fromkeys(blocks, "Knowledge"))
    with pytest.warns(StatisticsWarning, match=r"weak \(0.3, .* -0.\d+ to 1.\d+\), few \("):
        scores = score(results, method="denoising_patch")
    weak = scores.sel(task="weak")
    nothing = ("effect", "low", "high", "p_value", "q_value")
    assert all(weak[name].isnull().all() for name in nothing)
    assert not (rules.threshold(value=0.3)(scores).sel(task="weak") == 1).any()
    # The interval is the one that decides whether a task is scored at all.
    expected = mean_interval(gaps, np.arange(32).astype(str))
    np.testing.assert_allclose([weak["gap"], weak["gap_low"], weak["gap_high"]], expected)
    assert scores["effect"].sel(task="clear").notnull().all()
    # Tasks that are left out do not count among the tests.
    clear = scores.sel(task="clear")
    p = np.sort(clear["p_value"].values.ravel())
    assert float(clear["q_value"].min()) == pytest.approx((p * p.size / np.arange(1, p.size + 1)).min())
    assert scores.attrs["smallest_p"] == scores["smallest_p"].sel(task="clear").item()


def test_without_any_clear_gap_there_are_no_numbers() -> None:
    results = tree({"t": block(np.ones((4, *SHAPE)), gaps=-np.ones(4))}, categories={"t": "Knowledge"})
    with pytest.warns(StatisticsWarning, match=r"for t \(-1, .* -1 to -1\)"):
        scores = score(results, method="denoising_patch")
    assert scores["effect"].isnull().all()


def test_blocks_that_do_not_fit_are_named() -> None:
    results = two_tasks()
    results["antonyms/denoising_patch@last"] = block(np.ones((N, 2, 4)))
    with pytest.raises(DataError, match=r"'antonyms' .*\[0, 1, 2, 3\], .*'capitals' .*\[0, 1, 2\]"):
        score(results, method="denoising_patch")
    results["antonyms/denoising_patch@last"] = block(np.ones((N, *SHAPE))).drop_vars("item")
    with pytest.raises(DataError, match=r"'antonyms'.*lacks item"):
        score(results, method="denoising_patch")


def test_labels_that_are_missing_are_named() -> None:
    results = two_tasks()
    del results["antonyms"].attrs["category"]
    with pytest.raises(DataError, match=r"'antonyms' .*no category"):
        score(results, method="denoising_patch")
    results["antonyms"].attrs["category"] = "Grammar"
    with pytest.raises(DataError, match="Grammar"):
        score(results, method="denoising_patch")
    del results.attrs["categories"]
    with pytest.raises(DataError, match="attribute `categories`"):
        score(results, method="denoising_patch")


def test_the_smallest_p_is_that_of_the_items() -> None:
    results = null_results(np.random.default_rng(0), tasks=2, shape=(2, 4), prompts=24, n_items=6)
    assert score(results, method="denoising_patch").attrs["smallest_p"] == 6.0**-5


def test_scores_survive_a_file(tmp_path: object) -> None:
    scores = score(two_tasks(distractors=np.arange(N) % 3), method="denoising_patch")
    scores.to_netcdf(f"{tmp_path}/scores.nc", engine="h5netcdf")
    with xr.open_dataset(f"{tmp_path}/scores.nc", engine="h5netcdf") as again:
        xr.testing.assert_identical(again.load(), scores)


def test_heads_that_share_keys_and_values_are_named_where_any_block_names_them() -> None:
    number = xr.Variable(("layer", "head"), [[0, 0, 1], [0, 1, -1]])
    results = two_tasks()
    assert "kv_head" not in score(results, method="denoising_patch").coords
    path = "antonyms/denoising_patch@last"
    results[path] = xr.DataTree(results[path].to_dataset().assign_coords(kv_head=number))
    table = score(results, method="denoising_patch")
    assert table.kv_head.values.tolist() == [[0, 0, 1], [0, 1, -1]]
    assert "unit" not in table.attrs
