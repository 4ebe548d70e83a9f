"""Findings of a map: how sure it is, what is shared, what the effects are made of."""

import functools
import json

import numpy as np
import pytest
import xarray as xr
from reports.by_id import by_id
from simulated import CATEGORIES, NAMES, block, tree

from headcats.base.errors import DataError, StatisticsWarning
from headcats.categories.differences import effect_differences
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.membership import categorize
from headcats.categories.run_maps import map_tables, read_scores, with_tests
from headcats.reports.text.maps import difference_table, map_findings
from headcats.results.finding import Finding
from headcats.results.run_results import RunResults

RULE = "fdr:alpha=0.05,min_effect=0.05"


def results(
    *, tasks: tuple[int, int] = (3, 2), controls: bool = True, noise: float = 0.05, items: int = 24
) -> xr.DataTree:
    """Head 0 helps both categories, head 1 Algorithmic, head 2 suppresses Knowledge; half of every effect is common to
    any wrong task."""
    rng = np.random.default_rng(0)
    blocks, categories, seconds = {}, {}, {}
    for category, n in zip(NAMES[:2], tasks, strict=True):
        for number in range(n):
            differences = noise * rng.normal(size=(2 * items, 1, 6))
            differences[:, 0, 0] += 0.4
            differences[:, 0, 1] += 0.4 * (category == "Algorithmic")
            differences[:, 0, 2] -= 0.4 * (category == "Knowledge")
            task = f"{category} {number}"
            blocks[task], categories[task] = block(differences, items=np.arange(2 * items) // 2), category
            seconds[task] = block(differences / 2, items=np.arange(2 * items) // 2)
    made = tree(blocks, categories=categories)
    for task in blocks if controls else ():
        made[f"{task}/second_corruption_patch@last"] = xr.DataTree(seconds[task])
    made.attrs["categories"] = json.dumps(CATEGORIES[:2])
    made.attrs["manifest"] = json.dumps({"plan": {"metrics": ["logit_diff"]}, "methods": ["denoising_patch@last"]})
    return made


def tables(tree_of: xr.DataTree, **options: str) -> dict[str, xr.Dataset]:
    return map_tables(RunResults(tree_of), reading_of(tree_of, **options))


def reading_of(tree_of: xr.DataTree, **options: str) -> MapSpec:
    return MapSpec.parse(**options).resolve(RunResults(tree_of))


def usual() -> dict[str, xr.Dataset]:
    """Tables of the usual results with their tests over tasks; they may be changed."""
    return {name: table.copy(deep=True) for name, table in _usual().items()}


@functools.cache
def _usual() -> dict[str, xr.Dataset]:
    made = results()
    return with_tests(tables(made, rule=RULE), reading_of(made, rule=RULE))


def findings(found: dict[str, xr.Dataset], **options: str) -> dict[str, Finding]:
    attrs = found["scores"].attrs
    reading = MapSpec.parse(method=attrs["method"], positions=attrs["positions"], **options)
    tested = "differences" in found and not {"min_tasks", "sign"} & set(options)
    return by_id(map_findings(MapResult(reading, found if tested else with_tests(found, reading))))


def test_heads_shared_heads_and_what_the_data_can_reach() -> None:
    said = findings(usual(), rule=RULE)
    rows = {row[0]: row[1:] for row in said["map.heads"].rows}
    assert rows["Algorithmic"][:3] == ("2 of 3", "2", "0.0")
    assert set(rows["Algorithmic"][3].split()) == {"L0H0", "L0H1"}
    assert rows["Knowledge"][:5] == ("2 of 2", "1", "0.0", "L0H0", "L0H2")
    assert said["map.settled"].fields == {"kind": "helping", "share": 0.8}
    assert said["map.jaccard"].rows[0][:2] == ("Knowledge", "0.50 (0.50 to 0.50)")
    share = said["map.shares"].fields["first"].fields
    assert [share[name] for name in ("median", "least", "most")] == [50, 50, 50]
    assert said["map.shares"].fields["option"].id == "map.task_specific_option"
    assert "map.counts" in said


def test_members_that_rest_on_doubtful_tasks_are_named() -> None:
    found = usual()
    assert "map.doubtful" not in findings(found)
    heads = found["members"]["member"] == 1
    found["members"] = found["members"].assign(doubtful=heads & (heads["category"] == "Knowledge"))
    assert findings(found)["map.doubtful"].fields["names"] == ["L0H0 Knowledge"]


def test_loose_members_are_named() -> None:
    found = usual() | tables(results(noise=0.5), rule="threshold:value=0.4")
    assert findings(found)["map.loose"].fields["names"]


def test_without_controls_it_says_what_is_not_known() -> None:
    said = findings(usual() | tables(results(controls=False), rule=RULE))
    assert said["map.no_controls"].fields["controls"] == ["second_corruption_patch", "other_item_patch"]


def test_shares_below_zero_are_explained() -> None:
    found = usual()
    found["scores"]["task_share"][0] = -0.27
    share = findings(found)["map.shares"].fields["first"]
    assert (share.fields["least"], share.fields["most"]) == (-27, 50)
    assert share.fields["negative"].id == "map.share_negative"
    found["scores"]["task_share"][:] = np.nan
    assert findings(found)["map.shares"].fields["first"].id == "map.share_unknown"


def test_undecided_heads_are_counted_as_out() -> None:
    noisy = tables(results(noise=0.6), rule=RULE)
    shared, said = noisy["overlap"], findings(noisy, rule=RULE)
    assert said["map.undecided_out"].fields == {"n": int(shared["undecided"].sum())}
    assert [int(row[1]) for row in said["map.counts"].rows] == shared["observed"].values.tolist()
    assert "map.undecided_out" not in findings(usual(), rule=RULE)


def test_a_map_without_heads_prints_no_zeros() -> None:
    said = findings(usual() | tables(results(), rule="threshold:value=9"))
    assert said["map.nothing_shared"].fields == {"kind": "helping", "undecided": 0}
    assert "map.counts" not in said


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_a_rule_that_cannot_judge_leaves_heads_undecided_where_asked() -> None:
    few = results(items=2)
    reading = reading_of(few)
    with pytest.raises(DataError, match="not call any"):
        categorize(read_scores(RunResults(few), reading), rule=reading.rule)
    found = tables(few)
    assert (found["members"]["member"] == 0).all()
    assert "not call any" in found["members"].attrs["not_judged"]
    said = findings(found, rule=RULE)
    assert said["map.not_judged"].place == "note"
    assert not {"map.nothing_shared", "map.shares"} & set(said)


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_one_category_shares_nothing() -> None:
    said = findings(tables(results(tasks=(3, 0)), rule=RULE), rule=RULE)
    assert {"map.single_category", "map.category_not_judged"} <= set(said)
    assert "map.counts" not in said
    assert said["map.heads"].rows[1][0] == "Knowledge"
    assert said["map.heads"].rows[1][2:] == ("-",) * 5
    assert "map.category_not_judged" not in findings(usual(), rule=RULE)


def test_effects_that_need_no_task_are_told() -> None:
    tree_of = results()
    for task in tree_of.children:
        second = tree_of[f"{task}/second_corruption_patch@last"].to_dataset()
        raised = second.assign(patched=second["patched"] * 3)
        tree_of[f"{task}/second_corruption_patch@last"] = xr.DataTree(raised)
    share = findings(usual() | tables(tree_of, rule=RULE), rule=RULE)["map.shares"].fields["first"]
    assert (share.id, share.fields["median"]) == ("map.share", -50)


def test_suppressing_heads_have_a_map_of_their_own() -> None:
    found = tables(results(), rule=RULE, sign="suppressing")
    said = findings(found, sign="suppressing")
    assert "suppressing heads" in said["map.heads"].fields["reading"]
    assert said["map.heads"].rows[1][:6] == ("Knowledge", "2 of 2", "1", "0.0", "L0H0", "L0H2")
    # They are about helping heads.
    assert "map.shares" not in said


def test_task_specific_effects_have_a_title_of_their_own() -> None:
    tree_of = results()
    found = tables(tree_of, rule=RULE, effect="task_specific")
    np.testing.assert_allclose(found["scores"]["effect"].sel(head=0), 0.2, atol=0.02)
    said = findings(found, effect="task_specific")
    assert "task-specific effects" in said["map.heads"].fields["reading"]
    assert "map.shares" not in said
    both = reading_of(tree_of, effect="task_specific", sign="suppressing")
    assert both.title.split(", ")[:3] == ["denoising_patch", "task-specific effects", "suppressing heads"]
    assert "half" in both.title
    assert reading_of(tree_of).title.split(", ")[0].split(" at ") == ["denoising_patch", "last"]
    assert "suppressing" not in both.scores_title


def test_pairs_of_categories_whose_heads_differ_are_named_with_their_number() -> None:
    found = tables(results(tasks=(5, 5)))
    # Head 1 helps Algorithmic alone, head 2 suppresses Knowledge alone.
    shown = findings(found)["map.differences"]
    assert shown.columns == ("", "Algorithmic")
    head_1, head_2 = (effect_differences(found["scores"])["difference"].values[1, 0, 0, head] for head in (1, 2))
    first, second = sorted((f"L0H1 {head_1:+.3f}", f"L0H2 {head_2:+.3f}"), key=lambda text: -abs(float(text[5:])))
    assert shown.rows == (("Knowledge", f"2: {first}, {second}"),)


def test_nothing_differs_and_nothing_can_be_tested() -> None:
    scores = tables(results(tasks=(4, 4)))["scores"]
    alike = scores.assign(effect=xr.full_like(scores["effect"], 0.3) + 0.1 * np.arange(8)[:, None, None])
    tested = effect_differences(alike.assign(category=("task", ["Algorithmic", "Knowledge"] * 4)))
    (shown, _) = difference_table(tested)
    assert shown.rows == (("Knowledge", "0"),)
    with pytest.warns(StatisticsWarning, match="4 independent sources"):
        single = effect_differences(scores.isel(task=[0, 4]))
    assert not list(difference_table(single))
