"""From tasks to categories, and from categories to their overlap."""

import json
import warnings

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from simulated import CATEGORIES, NAMES, block, clustered_noise, null_results, tree, with_null

from headcats import rules
from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.categories.membership import categorize, head_table
from headcats.categories.shared import overlap
from headcats.categories.task_tests import NEW_TASK
from headcats.scores.scoring import score
from headcats.statistics.multiplicity import partial_conjunction


def listed(*names: str) -> str:
    """The attribute `categories` of results with these categories."""
    return json.dumps([entry for entry in CATEGORIES if entry["name"] in names])


def scores_of(
    effect: object, *, p: object = 0.001, half: object = 0.01, categories: list[str] | None = None, n_items: int = 30
) -> xr.Dataset:
    """Scores of one layer: `effect (task, head)`, interval effect +- half, two-sided p."""
    effect = np.asarray(effect, dtype=float)
    p = np.where(np.isnan(effect), np.nan, np.broadcast_to(np.asarray(p, dtype=float), effect.shape))
    categories = ["Knowledge"] * len(effect) if categories is None else categories
    dims = ("task", "layer", "head")
    per_head = {"effect": effect, "low": effect - half, "high": effect + half, "p_value": p}
    scores = xr.Dataset(
        {name: (dims, values[:, None]) for name, values in per_head.items()}
        | {
            "n_items": ("task", [n_items] * len(effect)),
            "smallest_p": ("task", [max(float(n_items) ** (1 - n_items), 1e-4)] * len(effect)),
        },
        coords={
            "task": [f"t{i}" for i in range(len(effect))],
            "category": ("task", categories),
            "layer": [0],
            "head": np.arange(effect.shape[1]),
        },
        attrs={"categories": listed(*categories), "method": "denoising_patch"},
    )
    return with_null(scores, p[:, None])


def members_of(member: object, *, layers: int = 1, exists: object = True) -> xr.Dataset:
    """Memberships `(category, head)`, dealt out to layers of equal size."""
    member = np.asarray(member, dtype=np.int8).reshape(len(member), layers, -1)
    effect = np.where(np.broadcast_to(exists, member.shape[1:]), np.where(member == 1, 0.5, 0.0), np.nan)
    dims = ("category", "layer", "head")
    return xr.Dataset(
        {"member": (dims, member), "effect": (dims, effect)},
        coords={"category": NAMES[: len(member)], "layer": np.arange(layers), "head": np.arange(member.shape[2])},
    )


# ------------------------------------------------------------------------------------------------ tasks to categories
def test_reduction_by_hand() -> None:
    # Three tasks, r = 2. Head 0: one-sided p .01, .02, .4. Head 1: one task points the other way: .005, .45, .99.
    effect = np.array([[0.6, 0.3], [0.4, 0.1], [0.2, -0.5]])
    scores = scores_of(effect, p=[[0.02, 0.01], [0.04, 0.9], [0.8, 0.02]], half=[[0.1, 0.1], [0.3, 0.1], [0.01, 0.1]])
    members = categorize(scores, rule=rules.fdr(min_effect=0), min_tasks=2)
    np.testing.assert_allclose(members["effect"].values.ravel(), [0.4, 0.1])
    np.testing.assert_allclose(members["low"].values.ravel(), [0.19, 0.0])  # of .5, .1, .19 and .2, 0, -.6
    np.testing.assert_allclose(members["high"].values.ravel(), [0.7, 0.2])  # of .7, .7, .21 and .4, .2, -.4
    above = partial_conjunction(np.array([[0.01, 0.005], [0.02, 0.45], [0.4, 0.99]]), r=2)
    np.testing.assert_allclose(members["p_value"].values.ravel(), above, rtol=0.03)
    np.testing.assert_allclose(members["q_value"].values.ravel(), [2 * above[0], above[1]], rtol=0.03)
    # The other direction: one-sided p .99, .98, .6 and .995, .55, .01; effects keep their sign. "Out" is "in fewer than
    # two tasks", so at least two of three are below.
    below = partial_conjunction(1 - np.array([[0.01, 0.005], [0.02, 0.45], [0.4, 0.99]]), r=2)
    np.testing.assert_allclose(members["p_below"].values.ravel(), below, rtol=0.03)
    np.testing.assert_allclose(members["suppressing_p_value"].values.ravel(), below, rtol=0.03)
    np.testing.assert_allclose(members["suppressing_effect"].values.ravel(), [0.4, 0.1])
    np.testing.assert_allclose(members["suppressing_low"].values.ravel(), [0.19, 0.0])
    np.testing.assert_allclose(members["suppressing_high"].values.ravel(), [0.7, 0.2])
    assert (members["n_tasks"].item(), members["min_tasks"].item()) == (3, 2)
    assert members["smallest_p"].item() == partial_conjunction(np.full(3, 1e-4 / 2), r=2)


def test_the_effect_of_the_rule_is_inside_the_test() -> None:
    """Effects of .2 in one of three tasks and .04 in the others: above .05 in one, and above 0 in all."""
    effect = np.array([[0.2, 0.2], [0.04, 0.2], [0.04, 0.2]])
    scores = scores_of(effect, p=2 * stats.norm.sf(effect / 0.005))
    above_zero, above_five_percent = (
        categorize(scores, rule=rules.fdr(min_effect=least), min_tasks=2)["member"].values[0, 0] for least in (0, 0.05)
    )
    assert above_zero.tolist() == [1, 1]
    assert above_five_percent.tolist() == [0, 1]


def test_a_member_that_needs_doubtful_tasks_is_marked() -> None:
    scores = scores_of(np.full((3, 2), 0.5), p=1e-6)
    scores["doubtful"].loc[{"task": ["t0", "t1"], "head": 0}] = True
    scores["doubtful"].loc[{"task": "t0", "head": 1}] = True
    members = categorize(scores, min_tasks=2)
    assert members["member"].values[0, 0].tolist() == [1, 1]
    assert members["doubtful"].values[0, 0].tolist() == [True, False]  # two tasks are needed, and one is left, or two
    assert not members["suppressing_doubtful"].any()
    assert head_table(members)["doubtful"].tolist() == [True, False]
    assert "suppressing_doubtful" not in overlap(members, sign="suppressing")


def test_a_further_task_never_makes_half_ask_for_more_than_one_more() -> None:
    """And one task is enough only where there is one."""
    needed = [
        categorize(scores_of(np.full((n, 1), 0.5)), rule=rules.threshold(value=0.1))["min_tasks"].item()
        for n in range(2, 9)
    ]
    assert needed == [2, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize("min_tasks", [1, "half"])
def test_a_category_that_rests_on_a_single_task_is_named(min_tasks: int | str) -> None:
    effect = np.array([[0.5], [0.5], [np.nan], [0.5]])
    scores = scores_of(effect, categories=["Knowledge", "Linguistic", "Linguistic", "Translation"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        members = categorize(scores, min_tasks=min_tasks)
    missing, single = (str(one.message) for one in caught)
    assert missing.endswith(": t2.")
    assert "single task" in single
    assert single.endswith(": Knowledge (t0), Linguistic (t1), Translation (t3).")
    assert members["min_tasks"].values.tolist() == members["n_tasks"].values.tolist() == [1, 1, 1]


def test_benjamini_hochberg_runs_over_heads_and_categories() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((2, 10)) ** 3
    scores = scores_of(np.full((4, 10), 0.5), p=np.repeat(p, 2, axis=0), categories=["Knowledge", "Linguistic"] * 2)
    scores["category"] = ("task", ["Knowledge"] * 2 + ["Linguistic"] * 2)
    members = categorize(scores, rule=rules.fdr(min_effect=0), min_tasks=2)
    # Both tasks have the same p: one of two is left, for Stouffer. No p is below half the smallest two-sided one.
    expected = stats.false_discovery_control(np.clip(p.ravel() / 2, 5e-5, 1) / 0.8).reshape(2, 10)
    np.testing.assert_allclose(members["q_value"].values[:, 0], expected, rtol=0.02)
    np.testing.assert_array_equal(members["member"].values[:, 0] == 1, expected <= 0.05)
    assert 0 < (expected <= 0.05).sum() < 20


def test_three_outcomes_and_suppressing_heads_apart() -> None:
    effect = np.tile([0.5, -0.5, 0.0, 0.5, 0.0], (2, 1))
    p = np.tile([0.001, 0.001, 0.8, 0.3, 0.8], (2, 1))
    scores = scores_of(effect, p=p)
    scores["standard_error"][..., 2] = 0.01  # 0 is clearly below .05, either way; of the last head nothing is known
    members = categorize(scores, min_tasks=2)
    assert members["member"].values.ravel().tolist() == [1, -1, -1, 0, 0]
    assert members["suppressing"].values.ravel().tolist() == [-1, 1, -1, 0, 0]
    assert members["member"].dtype == members["suppressing"].dtype == np.int8


def test_tasks_list_those_that_stand_alone() -> None:
    effect = [[0.5, 0.5], [0.5, -0.5], [0.0, -0.5]]
    p = [[0.001, 0.001], [0.001, 0.001], [0.9, 0.001]]
    members = categorize(scores_of(effect, p=p), min_tasks=2)
    assert members["tasks"].values.ravel().tolist() == ["t0,t1", "t0"]
    assert members["suppressing_tasks"].values.ravel().tolist() == ["", "t1,t2"]


def test_order_of_categories_and_attributes_come_from_the_scores() -> None:
    scores = scores_of(np.full((6, 1), 0.5), categories=["Translation", "Algorithmic", "Linguistic"] * 2)
    members = categorize(scores, rule=rules.threshold(value=0.3))
    assert members["category"].values.tolist() == ["Algorithmic", "Linguistic", "Translation"]
    assert members.attrs["rule"] == "threshold(value=0.3)"
    assert members.attrs["method"] == "denoising_patch"
    assert members.attrs["categories"] == scores.attrs["categories"]


def test_a_task_without_numbers_does_not_count() -> None:
    effect = np.array([[0.5], [0.5], [np.nan]])
    with pytest.warns(StatisticsWarning, match="their category: t2"):
        members = categorize(scores_of(effect))
    assert (members["n_tasks"].item(), members["min_tasks"].item(), members["member"].item()) == (2, 2, 1)


def test_a_head_missing_in_one_task_can_be_in_but_never_out() -> None:
    # Head 0 is in on the numbers there are; head 1 would be out, did its missing task not matter; head 2 is known.
    effect = np.array([[0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [np.nan, np.nan, 0.0]])
    scores = scores_of(effect, p=np.array([[0.001, 0.9, 0.9]] * 3))
    scores["standard_error"][..., 1:] = 0.01
    for rule in (rules.fdr(), rules.threshold(value=0.2)):
        assert categorize(scores, rule=rule, min_tasks=2)["member"].values.ravel().tolist() == [1, 0, -1]
    # All three are needed: nothing is known about head 0's third largest effect.
    members = categorize(scores, min_tasks=3)
    assert members["member"].values.ravel().tolist() == [0, 0, -1]
    assert np.isnan(members["effect"].values.ravel()[:2]).all()


def test_a_category_of_fewer_tasks_than_needed_stays_undecided() -> None:
    scores = scores_of(np.full((5, 1), 0.5), categories=["Knowledge"] * 3 + ["Linguistic"] * 2)
    with pytest.warns(StatisticsWarning, match=r"min_tasks=3 .*: Linguistic \(2\)\.$"):
        members = categorize(scores, min_tasks=3)
    assert members["member"].values.ravel().tolist() == [1, 0]
    assert members["size"].values.tolist() == [1, 0]
    assert (members["n_tasks"].values.tolist(), members["min_tasks"].values.tolist()) == ([3, 2], [3, 3])
    assert np.isnan(members["effect"].sel(category="Linguistic")).all()
    # The other is judged as if it stood alone.
    alone = categorize(scores.isel(task=[0, 1, 2]).assign_attrs(categories=listed("Knowledge")), min_tasks=3)
    xr.testing.assert_identical(members.sel(category=["Knowledge"]).drop_attrs(), alone.drop_attrs())
    assert overlap(members)["set"].item() == "Knowledge"


def test_too_few_tasks_everywhere_are_named() -> None:
    scores = scores_of(np.full((5, 1), 0.5), categories=["Knowledge"] * 3 + ["Linguistic"] * 2)
    with pytest.raises(DataError, match=r"4 .*\(Knowledge: 3, Linguistic: 2\)"):
        categorize(scores, min_tasks=4)


EFFECTS = np.array([[0.5, 0.0, -0.5, 0.01]] * 6)


@pytest.mark.parametrize(("rule", "empty"), [(rules.fdr(), "Algorithmic"), (rules.elbow(), "Linguistic")])
def test_a_category_without_numbers_stays_and_is_empty(rule: rules.Rule, empty: str) -> None:
    """Whether its tasks were refused before scoring (no rows) or in scoring (NaN)."""
    names = [name for name in NAMES[:3] for _ in range(2)]
    full = scores_of(EFFECTS, p=0.001, categories=names)
    refused = full.isel(task=[name != empty for name in names])
    nan = full.copy()
    for name in ("effect", "low", "high", "p_value"):
        nan[name] = nan[name].where(nan["category"] != empty)
    with pytest.warns(StatisticsWarning, match=f"stay empty: {empty}.$"):
        members = categorize(refused, rule=rule)
    with (
        pytest.warns(StatisticsWarning, match=f"stay empty: {empty}.$"),
        pytest.warns(StatisticsWarning, match="their category: t"),
    ):
        xr.testing.assert_identical(categorize(nan, rule=rule), members)

    assert members["category"].values.tolist() == NAMES[:3]
    nothing = members.sel(category=empty)
    assert (nothing["member"] == 0).all()
    assert (nothing["suppressing"] == 0).all()
    assert (nothing["tasks"] == "").all()
    assert (nothing["suppressing_tasks"] == "").all()
    assert [nothing[name].item() for name in ("n_tasks", "min_tasks", "n_items")] == [0, 0, 0]
    for name in ("effect", "low", "high", "p_value", "q_value", "smallest_p"):
        assert nothing[name].isnull().all()
    # The others are as if it had never been listed.
    others = [name for name in NAMES[:3] if name != empty]
    refused.attrs["categories"] = listed(*others)
    alone = categorize(refused, rule=rule)
    xr.testing.assert_identical(members.sel(category=others).drop_attrs(), alone.drop_attrs())
    assert {name: members[name].dtype.kind for name in members} == {name: alone[name].dtype.kind for name in alone}
    assert members["member"].dtype == members["suppressing"].dtype == np.int8
    assert members.attrs["smallest_p"] == alone.attrs["smallest_p"] == pytest.approx(5e-5 / 0.8)


def test_without_any_category_with_numbers_nothing_is_judged() -> None:
    scores = scores_of([[np.nan], [np.nan]], categories=["Knowledge", "Linguistic"])
    with pytest.raises(DataError, match=r"\(Knowledge, Linguistic\)"):
        categorize(scores)


def test_min_tasks_one_warns_that_it_saturates() -> None:
    with pytest.warns(StatisticsWarning, match=r"saturates: Knowledge \(3 tasks\)"):
        categorize(scores_of(np.full((3, 1), 0.5)), min_tasks=1)


@pytest.mark.parametrize("min_tasks", [0, -1, "most", True])
def test_min_tasks_out_of_range(min_tasks: int | str) -> None:
    with pytest.raises(OptionError, match="min_tasks must"):
        categorize(scores_of(np.full((2, 1), 0.5)), min_tasks=min_tasks)


def test_too_few_items_for_a_category_are_told() -> None:
    scores = scores_of(np.full((4, 2), 0.5), p=0.25, n_items=2)
    with pytest.raises(DataError, match=r"2 query items .* [34] query"):
        categorize(scores)


@pytest.mark.parametrize("seed", range(2))
def test_order_of_tasks_and_heads_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = scores_of(
        rng.normal(0.2, 0.3, size=(7, 6)),
        p=rng.random((7, 6)) ** 4,
        half=0.1,
        categories=[*NAMES[:2] * 2, *rng.choice(NAMES[:2], 3).tolist()],
    )
    tasks, heads = rng.permutation(7), rng.permutation(6)
    plain = categorize(scores)
    moved = categorize(scores.isel(task=tasks, head=heads)).sel(head=np.arange(6))
    xr.testing.assert_allclose(
        moved.drop_vars(["tasks", "suppressing_tasks"]), plain.drop_vars(["tasks", "suppressing_tasks"])
    )
    for name in ("tasks", "suppressing_tasks"):
        for one, other in zip(moved[name].values.ravel(), plain[name].values.ravel(), strict=True):
            assert set(one.split(",")) == set(other.split(","))


# ------------------------------------------------------------------------------------------------------------ overlap
def test_sets_counts_and_jaccard_by_hand() -> None:
    members = members_of([[1, 1, 0, -1, -1], [1, 0, 1, 0, -1], [1, -1, 1, -1, -1]])
    result = overlap(members)
    assert result["n_categories"].values.ravel().tolist() == [3, 1, 2, 0, 0]
    assert result["n_categories"].dtype == np.int8
    assert result["set"].values.ravel().tolist() == [
        "Algorithmic+Knowledge+Linguistic", "Algorithmic (1 undecided)", "Knowledge+Linguistic (1 undecided)",
        "(1 undecided)", "",
    ]  # fmt: skip
    np.testing.assert_array_equal(result["undecided"], members["member"] == 0)
    assert result["observed"].values.tolist() == [1, 1, 1]
    assert result["k"].values.tolist() == [1, 2, 3]
    np.testing.assert_allclose(result["jaccard"], [[1, 1 / 3, 1 / 3], [1 / 3, 1, 1], [1 / 3, 1, 1]])
    xr.testing.assert_identical(result["member"], members["member"])


def test_empty_categories_have_no_jaccard() -> None:
    result = overlap(members_of([[1, 0], [0, 0], [0, 0]]))
    np.testing.assert_array_equal(result["jaccard"], [[1, 0, 0], [0, np.nan, np.nan], [0, np.nan, np.nan]])


def test_heads_that_do_not_exist_are_not_undecided() -> None:
    result = overlap(members_of([[1, 0, 0], [1, 0, 0]], exists=np.array([True, True, False])))
    assert result["undecided"].values[:, 0].tolist() == [[False, True, False]] * 2


# -------------------------------------------------------------------------------------------------------- end to end
def planted_results() -> xr.DataTree:
    """L0H1 serves Algorithmic and Knowledge, L1H2 Knowledge alone, L1H0 suppresses Linguistic."""
    blocks, of_task = {}, {}
    for task, category in enumerate(NAMES[:3] * 4):
        effect = np.zeros((2, 3))
        effect[0, 1] = 0.4 if category in ("Algorithmic", "Knowledge") else 0
        effect[1, 2] = 0.3 if category == "Knowledge" else 0
        effect[1, 0] = -0.3 if category == "Linguistic" else 0
        items = np.arange(48) % 24
        noise = 0.05 * clustered_noise(np.random.default_rng(task), items=items, heads=6).reshape(48, 2, 3)
        blocks[f"{category.lower()}_{task}"] = block(effect + noise, items=items, distractors=np.arange(48) % 3)
        of_task[f"{category.lower()}_{task}"] = category
    results = tree(blocks, categories=of_task)
    results.attrs["categories"] = listed(*NAMES[:3])
    return results


@pytest.fixture(scope="module")
def planted_scores() -> xr.Dataset:
    return score(planted_results(), method="denoising_patch")


def test_planted_heads_get_the_right_sets(planted_scores: xr.Dataset) -> None:
    result = overlap(categorize(planted_scores))
    assert result["set"].values.tolist() == [["", "Algorithmic+Knowledge", ""], ["", "", "Knowledge"]]
    assert not result["undecided"].any()
    table = head_table(result)
    columns = ["head", "category", "kind", "effect", "low", "high", "q", "tasks", "probability", "doubtful"]
    assert table.columns.tolist() == [*columns, *NEW_TASK]
    np.testing.assert_allclose(table["mean_effect"], table["effect"], atol=0.1)
    assert (table["new_task_low"] < table["mean_effect"]).all()
    assert table[["head", "category", "kind"]].to_numpy().tolist() == [
        ["L0H1", "Algorithmic", "helping"],
        ["L0H1", "Knowledge", "helping"],
        ["L1H2", "Knowledge", "helping"],
        ["L1H0", "Linguistic", "suppressing"],
    ]
    np.testing.assert_allclose(table["effect"], [0.4, 0.4, 0.3, -0.3], atol=0.03)
    assert ((table["low"] < table["effect"]) & (table["effect"] < table["high"])).all()
    assert table["tasks"][0] == "algorithmic_0,algorithmic_3,algorithmic_6,algorithmic_9"
    assert (table["q"] < 0.05).all()


def test_no_members_give_an_empty_table() -> None:
    members = categorize(scores_of(np.zeros((2, 2)), p=1.0))
    assert head_table(overlap(members)).shape == (0, 15)


# ------------------------------------------------------------------------------------- false calls on simulated nulls
def null_calls(seeds: range, *, shape: tuple[int, int], clusters: bool = True, **sizes: int) -> dict[str, float]:
    """Share of null runs in which `fdr(.05, min_effect=0)` calls anything, by what is called."""
    rule = rules.fdr(alpha=0.05, min_effect=0)
    called: dict[str, int] = {"head-task": 0, "head-category, 1 task": 0, "head-category, half": 0}
    for seed in seeds:
        results = null_results(np.random.default_rng(seed), shape=shape, clusters=clusters, **sizes)
        # No membership is read from the draws, and reducing them would take nine tenths of the time.
        scores = score(results, method="denoising_patch", seed=seed).drop_vars(["resampled", "null_effect_t"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)
            any_task = categorize(scores, rule=rule, min_tasks=1)
        called["head-task"] += bool((rule(scores) == 1).any())
        called["head-category, 1 task"] += bool((any_task["member"] == 1).any())
        called["head-category, half"] += bool((categorize(scores, rule=rule)["member"] == 1).any())
    return {name: count / len(seeds) for name, count in called.items()}


@pytest.mark.parametrize(("n", "unclustered_n"), [(4, 1), pytest.param(30, 10, marks=pytest.mark.slow)])
def test_null_calls_stay_at_the_nominal_level_only_with_clusters(n: int, unclustered_n: int) -> None:
    """The small version: a true share of 7 % would pass the bound in 999 of 1000 choices of seeds."""
    sizes = {"tasks": 8, "prompts": 64, "n_items": 16}
    bound = stats.binom.ppf(0.999, n, 0.07) / n
    clustered = null_calls(range(n), shape=(4, 6), **sizes)
    assert max(clustered.values()) <= bound
    # The bound has teeth: with prompts taken for independent, something is called in many runs.
    unclustered = null_calls(range(unclustered_n), shape=(4, 6), clusters=False, **sizes)
    assert unclustered["head-category, 1 task"] > max(bound, 0.5)
