"""The page of a joint method: of a run of nothing else, or where it is named."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from example_joint import probe_of
from reports.page.read_pages import codes, described, pasted, plain, said, section, sentence, written
from reports.page.saved_runs import gated_run, gates_block, run_without_heads, scored_run, suite_run, with_joint_block
from simulated_series import STRONG, TASKS, results_of, series_of
from simulated_series import written as write_series

import headcats as hc
from headcats.base.errors import DataError, OptionError, StatisticsWarning

pytestmark = pytest.mark.usefixtures("joint_methods")

GATES = np.random.default_rng(0).random((2, 2, 3, 4))
KV_HEADS = [[0, 0, 1, 1]] * 3


@pytest.fixture
def gates(tmp_path: Path) -> Path:
    return gated_run(tmp_path / "gates", GATES, kv_head=KV_HEADS)


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Tasks that were scored one by one, and gates over all."""
    folder = scored_run(tmp_path / "both", per_layer={0: 4, 1: 4, 2: 4})
    return with_joint_block(folder, "made_gates", gates_block(GATES))


def sorted_by(folder: Path, **options: Any) -> xr.Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # of categories that the block has no numbers of
        return hc.categorize(hc.suite_blocks(hc.load(folder))["made_gates"], **options)


def names_of(members: xr.Dataset, *, variable: str = "member") -> dict[str, set[str]]:
    """Category -> heads in it."""
    inside = members[variable] == 1
    return {
        category: {f"L{layer}H{head}" for layer, head in np.argwhere(inside.sel(category=category).values)}
        for category in members["category"].values.tolist()
    }


def listed(content: str, *, column: str = "in (largest score first)") -> dict[str, set[str]]:
    """Category -> heads in a column of the first table in the tab of heads."""
    table = content.partition('<section id="heads"')[2].partition("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)]
    header, *cells = [[plain(cell) for cell in row] for row in rows]
    return {row[0]: set(re.findall(r"L\d+H\d+", row[header.index(column)])) for row in cells}


def answered(content: str) -> set[str]:
    """Heads that the first sentences name."""
    return set(re.findall(r"L\d+H\d+", section(content, "answer")))


def test_gates_alone_are_the_answer_of_their_page(gates: Path):
    content = written(gates, method="made_gates")
    assert [path.name for path in gates.glob("*.html")] == ["report.html"]
    expected = names_of(sorted_by(gates))
    assert listed(content) == expected
    assert answered(content) == set().union(*expected.values())
    assert sentence("answer.no_map") not in section(content, "answer")
    assert 'id="figure-overlap_map_selected"' in content
    assert 'data-figure="gate_scores_0" data-heads="layer-head"' in content  # a click gives that head
    assert described(content)["kv_head"] == KV_HEADS


def test_a_rule_changes_heads_file_and_lines(gates: Path, monkeypatch: pytest.MonkeyPatch):
    rule = hc.rules.top_fraction(p=0.25)
    page = hc.report(gates, rule=rule)
    assert page.name == "report-made_gates-top_fraction-p=0.25.html"
    content = page.read_text(encoding="utf-8")
    expected = sorted_by(gates, rule=rule)
    assert listed(content) == names_of(expected)
    monkeypatch.chdir(gates.parent)
    scope = of_lines(content)
    xr.testing.assert_identical(scope["members"], expected)


def of_lines(content: str) -> dict[str, Any]:
    """What the lines of Python on the page make."""
    (lines,) = [text for text in pasted(content) if text.startswith("import headcats") and "figures" not in text]
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        exec(lines, scope)
    return scope


def test_suppressing_heads_have_a_page_of_their_own(gates: Path, monkeypatch: pytest.MonkeyPatch):
    page = hc.report(gates, sign="suppressing")
    assert page.name == "report-made_gates-suppressing.html"
    content = page.read_text(encoding="utf-8")
    monkeypatch.chdir(gates.parent)
    scope = of_lines(content)
    assert scope["overlap"].attrs["sign"] == "suppressing"
    expected = names_of(scope["members"], variable="suppressing")
    assert listed(content, column="suppressing") == expected
    assert answered(content) == set().union(*expected.values())


def test_no_suppressing_head_is_said_of_these_alone(tmp_path: Path):
    """Helping heads, which the table below lists, are another matter."""
    folder = gated_run(tmp_path / "gates", np.full((1, 2, 2, 3), 0.9))
    content = written(folder, sign="suppressing")
    assert sentence("short.none_by", method="made_gates", kind="suppressing") in section(content, "answer")
    assert listed(content) == {"Knowledge": {f"L{layer}H{head}" for layer in range(2) for head in range(3)}}


def test_where_tasks_were_scored_it_is_the_page_of_the_method_that_is_named(both: Path):
    usual, content = "".join(codes(both, "run")), written(both, method="made_gates")
    assert sorted(path.name for path in both.glob("*.html")) == ["report-made_gates.html", "report.html"]
    assert listed(content) == names_of(sorted_by(both))
    assert 'id="figure-hero_0"' not in content
    ran = said(both, "answer", method="made_gates")["answer.ran"].fields
    assert (ran["scored"], ran["tasks"]) == (4, 4)
    assert "report both --method made_gates" in section(content, "run")
    assert "hc.categorize(blocks" not in usual


def test_options_that_change_nothing_are_refused_before_a_page_is_written(both: Path, gates: Path, tmp_path: Path):
    for place, message, options in (
        (both, "--metric", {"method": "made_gates", "metric": "prob"}),
        (gates, "only made_gates", {"method": "mean_ablation"}),
        (gates, "--effect", {"effect": "task_specific"}),
        (gates, "min_tasks", {"min_tasks": 7}),
        (gates, "--positions", {"positions": "last"}),
        (run_without_heads(tmp_path / "made up"), "--rule", {"rule": hc.rules.threshold(value=0.2)}),
    ):
        with pytest.raises(OptionError, match=message):
            hc.report(place, **options)
        assert list(place.glob("*.html")) == []


def probe_at_chance() -> xr.Dataset:
    found = probe_of(
        np.random.default_rng(0).random((2, 3, 3, 4)), functions=["A", "B", "C"], verdict="not above chance"
    )
    return found.assign_attrs(summary=json.dumps(["Right no more often than chance."]))


def test_a_probe_at_chance_has_a_page_that_says_so_and_no_map(tmp_path: Path):
    folder = suite_run(tmp_path / "probe", "class_probe", probe_at_chance(), per_layer={0: 4, 1: 4, 2: 4})
    content = written(folder)
    assert sentence("answer.no_map") in section(content, "answer")
    assert "no more often than chance" in section(content, "methods")
    with pytest.raises(DataError, match="above chance"):
        hc.report(folder, rule=hc.rules.threshold(value=0.2))


def test_of_several_methods_the_page_is_of_the_first_that_can_sort_heads(tmp_path: Path):
    folder = suite_run(tmp_path / "two", "class_probe", probe_at_chance(), per_layer={0: 4, 1: 4, 2: 4})
    with_joint_block(folder, "made_gates", gates_block(GATES))
    page = hc.report(folder)
    content = page.read_text(encoding="utf-8")
    assert page.name == "report.html"
    assert listed(content) == names_of(sorted_by(folder))
    assert "headcats report" in section(content, "run")
    assert "--method made_gates" in section(content, "run")


@pytest.mark.slow
def test_options_of_a_series_are_not_for_the_gates_of_a_revision_without_scored_tasks(tmp_path: Path):
    revisions = {"step1": results_of(STRONG, skipped=list(TASKS)), "step2": results_of(STRONG)}
    series = write_series(series_of(revisions), tmp_path / "series")
    with_joint_block(series / "step1", "made_gates", gates_block(np.random.default_rng(0).random((1, 2, 2, 6))))
    hc.report(series, metric="logit_diff", rule=hc.rules.fdr(alpha=0.01))
    content = (series / "step1" / "report.html").read_text(encoding="utf-8")
    assert listed(content) == {"Knowledge": names_of(sorted_by(series / "step1"))["Knowledge"]}
