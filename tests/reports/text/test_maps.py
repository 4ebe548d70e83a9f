"""What is said of a map: how sure it is, what is shared, what the effects are made of."""

import json

import numpy as np
import pytest
import xarray as xr
from simulated import CATEGORIES, NAMES, block, tree

from headcats.categories.reading import Reading, judge_scores, map_tables, read_scores
from headcats.cli.console import tell
from headcats.errors import DataError, OptionError
from headcats.reports.text.maps import map_findings
from headcats.rules import fdr
from headcats.rules.text import parse_rule
from headcats.study.defaults import DEFAULT_RULE

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
    return map_tables(tree_of, reading_of(tree_of, **options))


def reading_of(tree_of: xr.DataTree, **options: str) -> Reading:
    return Reading.parse(**options).resolve(tree_of)


def printed(capsys: pytest.CaptureFixture[str], found: dict[str, xr.Dataset], **options: str) -> str:
    attrs = found["scores"].attrs
    tell(map_findings(found, Reading.parse(**{"method": attrs["method"], "positions": attrs["positions"]} | options)))
    captured = capsys.readouterr()
    return " ".join((captured.err + captured.out).replace("│", " ").split())


def test_everything_that_a_map_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, tables(results(), rule=RULE), rule=RULE)
    assert "Algorithmic 2 of 3 2 0.0 L0H0 L0H1 none" in text or "Algorithmic 2 of 3 2 0.0 L0H1 L0H0 none" in text
    assert "Knowledge 1 of 2 1 0.0 L0H0 L0H2" in text
    assert "Every helping head is in its category in at least 80% of the resamples" in text
    assert "Knowledge 0.50 (0.50 to 0.50)" in text
    assert "With 2 tasks of each category (50 random subsets; range)" in text
    assert "50 % of the effect needs the right task (median task; 50 % to 50 %)." in text
    assert "Task-specific effects alone: `--effect task_specific`." in text
    assert "told from 0 with 80% probability (a rule's min_effect comes on top): 0." in text
    assert "on one task that fdr(alpha=0.05, min_effect=0.05) finds with 80% probability: 0." in text


def test_commands_have_the_rule_that_functions_have() -> None:
    assert repr(parse_rule(DEFAULT_RULE)) == repr(fdr())


def test_a_rule_without_a_smallest_effect_promises_none(capsys: pytest.CaptureFixture[str]) -> None:
    for rule in ("fdr:min_effect=0", "threshold:value=0.2"):
        assert "finds with 80%" not in printed(capsys, tables(results(), rule=rule), rule=rule)


def test_loose_members_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    found = tables(results(noise=0.5), rule="threshold:value=0.4")
    assert "In fewer than 80% of the resamples of query items: " in printed(capsys, found)


def test_without_controls_it_says_what_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, tables(results(controls=False), rule=RULE))
    assert "is not known: second_corruption_patch and other_item_patch were not run." in text


def test_equal_numbers_of_tasks_need_no_second_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert "random subsets" not in printed(capsys, tables(results(tasks=(2, 2)), rule=RULE), rule=RULE)
    # Nor can more tasks be asked for than the smallest category has.
    found = tables(results(), rule=RULE)
    assert "random subsets" not in printed(capsys, found, rule=RULE, min_tasks="3")
    assert "`--min-tasks 2` asks for 2 of 2." in printed(capsys, found, rule=RULE, min_tasks="2")


def test_shares_below_zero_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    found = tables(results(), rule=RULE)
    found["scores"]["task_share"][0] = -0.27
    text = printed(capsys, found)
    assert "-27 % to 50 %; negative: the other wrong task brings back more than the clean prompt)." in text
    found["scores"]["task_share"][:] = np.nan
    assert "What share of the effects needs the right task is not known." in printed(capsys, found)


def test_signs_that_do_not_change_are_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    found = tables(results(), rule=RULE)
    differing = xr.zeros_like(found["scores"]["effect"], dtype=bool)
    assert "change their sign" not in printed(
        capsys, found | {"scores": found["scores"].assign(sign_differs=differing)}
    )
    differing[0, 0, 0] = True
    text = printed(capsys, found | {"scores": found["scores"].assign(sign_differs=differing)})
    assert "1 of 10 effects of at least 0.1 (head x task) change their sign" in text


def test_a_map_without_heads_prints_no_zeros(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, tables(results(), rule="threshold:value=9"))
    assert "No helping head is in any category: nothing is shared." in text
    assert "Shared heads against chance" not in text


@pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
def test_what_is_not_the_default_is_in_the_title_and_in_the_name() -> None:
    tree_of = results()
    names, titles = set(), set()
    variants = (
        {},
        {"rule": "fdr:alpha=0.01,min_effect=0.05"},
        {"rule": "threshold:value=0.2"},
        {"min_tasks": "2"},
        {"min_tasks": "3"},
        {"effect": "task_specific"},
    )
    for options in variants:
        reading = reading_of(tree_of, **({"rule": RULE} | options))
        names.add(f"overlap_map{reading.file_suffix(tree_of)}.html")
        titles.add(reading.title)
    assert len(names) == len(titles) == len(variants)
    assert {"overlap_map.html", "overlap_map-min_tasks=2.html"} < names
    assert "overlap_map-fdr-alpha=0.01-min_effect=0.05.html" in names
    assert any(one.endswith("in at least 2 tasks") for one in titles)
    assert any(one.endswith("in at least half of the tasks") for one in titles)


def test_the_title_names_the_model() -> None:
    tree_of = results()
    tree_of.attrs["manifest"] = json.dumps(json.loads(tree_of.attrs["manifest"]) | {"model": {"name": "mini"}})
    assert reading_of(tree_of).title.endswith("in at least half of the tasks, model mini")


@pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
def test_a_rule_that_cannot_judge_leaves_heads_undecided_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    few = results(items=4)
    reading = reading_of(few)
    with pytest.raises(DataError, match="could not call any head"):
        judge_scores(read_scores(few, reading), reading)
    found = tables(few)
    assert (found["members"]["member"] == 0).all()
    assert "could not call any head" in found["members"].attrs["not_judged"]
    text = printed(capsys, found, rule=RULE)
    assert "No head can be judged, so the map shows every head as undecided: " in text
    for claim in ("tasks of each category", "nothing is shared", "Smallest effect", "of the effect needs"):
        assert claim not in text


def test_other_reasons_are_errors_all_the_same() -> None:
    with pytest.raises(DataError, match="null_calibrated needs null effects"):
        tables(results(controls=False), rule="null_calibrated")


@pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
def test_one_category_shares_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, tables(results(tasks=(3, 0)), rule=RULE), rule=RULE)
    assert "Only one category has numbers, so there is nothing to share." in text
    assert "against chance" not in text
    assert "Knowledge 1 of 0 - - - - -" in text or "Knowledge 0 of 0 - - - - -" in text
    assert "- not judged: no task of the category has numbers" in text
    assert "not judged" not in printed(capsys, tables(results(), rule=RULE), rule=RULE)


def test_positions_are_asked_of_the_default_method_too() -> None:
    tree_of = results(controls=False)
    for task in tree_of.children:
        tree_of[f"{task}/denoising_patch@all"] = tree_of[f"{task}/denoising_patch@last"].copy()
    assert tables(tree_of, rule=RULE)["scores"].attrs["positions"] == "last"
    assert tables(tree_of, rule=RULE, positions="all")["scores"].attrs["positions"] == "all"
    with pytest.raises(OptionError, match="nonsense"):
        tables(tree_of, rule=RULE, positions="nonsense")


def test_effects_that_need_no_task_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    tree_of = results()
    for task in tree_of.children:
        second = tree_of[f"{task}/second_corruption_patch@last"].to_dataset()
        raised = second.assign(patched=second["patched"] * 3)
        tree_of[f"{task}/second_corruption_patch@last"] = xr.DataTree(raised)
    text = printed(capsys, tables(tree_of, rule=RULE), rule=RULE)
    assert "None of the effect needs the right task (-50 %) (median task; -50 % to -50 %; negative: the other" in text


def test_suppressing_heads_have_a_map_and_files_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    tree_of = results()
    found = tables(tree_of, rule=RULE, sign="suppressing")
    text = printed(capsys, found, sign="suppressing")
    assert "Heads by denoising_patch, suppressing heads, at last" in text
    assert "Knowledge 1 of 2 1 0.0 L0H0 L0H2" in text
    assert "random subsets" not in text
    assert "of the effect needs" not in text, "said of the helping map"
    assert reading_of(tree_of, sign="suppressing").file_suffix(tree_of) == "-suppressing"
    assert reading_of(tree_of).file_suffix(tree_of) == ""


def test_task_specific_effects_have_a_title_and_files_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    tree_of = results()
    found = tables(tree_of, rule=RULE, effect="task_specific")
    np.testing.assert_allclose(found["scores"]["effect"].sel(head=0), 0.2, atol=0.02)
    text = printed(capsys, found, effect="task_specific")
    assert "denoising_patch, task-specific effects, at last" in text
    assert "of the effect needs" not in text
    both = reading_of(tree_of, effect="task_specific", sign="suppressing")
    assert both.title.startswith("denoising_patch, task-specific effects, suppressing heads, at last, logit_diff")
    assert reading_of(tree_of).title.startswith("denoising_patch at last, logit_diff")
    assert both.scores_title == "denoising_patch, task-specific effects, at last, logit_diff"
    assert reading_of(tree_of, effect="task_specific").file_suffix(tree_of) == "-task_specific"


@pytest.mark.parametrize(("option", "said"), [({"effect": "half"}, "effect must be"), ({"sign": "up"}, "sign must be")])
def test_other_words_are_refused(option: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        tables(results(), rule=RULE, **option)
