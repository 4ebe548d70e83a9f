"""The page of a joint method: of a run of nothing else, or where it is named."""

import html
import json
import re
import shlex
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from figures.examples import EXAMPLES
from reports.page.saved_runs import (
    gated_run,
    gates_block,
    run_without_heads,
    scored_run,
    suite_run,
    with_joint_block,
)
from reports.page.test_repeating import pasted
from reports.page.test_report import plain, section, sentence, written
from typer.testing import CliRunner

import headcats as hc
from headcats import cli
from headcats.errors import OptionError, StatisticsWarning

GATES = np.random.default_rng(0).random((2, 2, 3, 4))


@pytest.fixture
def gates(tmp_path: Path) -> Path:
    return gated_run(tmp_path / "gates", GATES)


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Tasks that were scored one by one, and gates over all."""
    folder = scored_run(tmp_path / "both", per_layer={0: 4, 1: 4, 2: 4})
    return with_joint_block(folder, "head_gating", gates_block(GATES))


def members(folder: Path, **options: Any) -> xr.Dataset:
    return hc.categories.block_members(hc.suite_blocks(hc.load(folder))["head_gating"], **options)


def named(found: xr.Dataset, *, sign: int = 1) -> Mapping[str, set[str]]:
    """Category -> names of its heads."""
    inside = (found["member"] == 1) if sign == 1 else (found["suppressing"] == 1)
    return {
        category: {f"L{layer}H{head}" for layer, head in np.argwhere(inside.sel(category=category).values)}
        for category in found["category"].values.tolist()
    }


def listed(content: str) -> dict[str, set[str]]:
    """Category -> heads of the first table of the page; where suppressing ones are asked for, those."""
    table = re.findall(r"<tr>(.*?)</tr>", content.partition('<section id="heads"')[2].partition("</table>")[0], re.S)
    cells = [[plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)] for row in table]
    place = next(place for place, cell in enumerate(cells[0]) if cell.startswith("in ("))
    return {row[0]: set(re.findall(r"L\d+H\d+", row[place])) for row in cells[1:]}


def test_gates_alone_are_the_answer_of_their_page(gates: Path):
    content = written(gates)
    expected = named(members(gates))
    assert listed(content) == expected
    assert any(expected.values())
    answer = section(content, "answer")
    assert sentence("answer.no_map") not in answer
    assert set(re.findall(r"L\d+H\d+", answer)) <= set().union(*expected.values())
    assert 'id="figure-overlap_map_selected"' in content
    assert "overlap_map_0" not in content  # once


@pytest.mark.parametrize(
    ("options", "suffix"),
    [
        ({"rule": hc.rules.top_fraction(p=0.25)}, "-head_gating-top_fraction-p=0.25"),
        ({"rule": hc.rules.threshold(value=0.2)}, "-head_gating-threshold-value=0.2"),
        ({"method": "head_gating"}, ""),
    ],
    ids=["fraction", "threshold", "named"],
)
def test_a_rule_changes_heads_file_and_lines(
    gates: Path, options: dict[str, Any], suffix: str, monkeypatch: pytest.MonkeyPatch
):
    page = hc.report(gates, **options)
    assert page.name == f"report{suffix}.html"
    content = page.read_text(encoding="utf-8")
    expected = members(gates, rule=options.get("rule"))
    assert listed(content) == named(expected)
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
    assert page.name == "report-head_gating-suppressing.html"
    content = page.read_text(encoding="utf-8")
    monkeypatch.chdir(gates.parent)
    scope = of_lines(content)
    assert scope["overlap"].attrs["sign"] == "suppressing"
    suppressing = set().union(*named(scope["members"], sign=-1).values())
    assert suppressing
    assert set(re.findall(r"L\d+H\d+", section(content, "answer"))) <= suppressing


def test_its_commands_draw_what_it_shows(gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    content = written(gates, rule=hc.rules.threshold(value=0.2))
    monkeypatch.chdir(gates.parent)
    commands = [shlex.split(html.unescape(text)) for text in pasted(content) if text.startswith("headcats ")]
    asked = [command for command in commands if "--rule" in command]
    assert {command[1] for command in asked} == {"report", "figure", "views"}
    for command in asked:
        assert command[command.index("--rule") + 1] == "threshold:value=0.2"
        if command[1] == "figure":
            done = CliRunner().invoke(cli.app, [*command[1:-1], str(tmp_path / command[-1])])
            assert done.exit_code == 0, done.output


def test_where_tasks_were_scored_it_is_the_page_of_the_method_that_is_named(both: Path):
    usual, content = written(both), written(both, method="head_gating")
    assert sorted(path.name for path in both.glob("*.html")) == ["report-head_gating.html", "report.html"]
    assert listed(content) == named(members(both))
    assert 'id="figure-hero_0"' in usual
    assert 'id="figure-hero_0"' not in content
    assert "4 of 4 tasks scored" in plain(content)
    assert "headcats report both --method head_gating" in section(content, "run")
    assert "block_members" not in section(usual, "run")


@pytest.mark.parametrize(
    ("folder", "options", "said"),
    [
        ("both", {"method": "head_gating", "metric": "prob"}, "does not read --metric"),
        ("both", {"method": "head_gating", "rule": hc.rules.fdr(alpha=0.2)}, "more than one number"),
        ("both", {"method": "token_probe"}, "sorts no heads"),
        ("both", {"method": "ov_relation"}, "hold no ov_relation"),
        ("gates", {"method": "mean_ablation"}, "hold none, only head_gating"),
        ("gates", {"effect": "task_specific"}, "does not read --effect"),
        ("gates", {"min_tasks": 7}, "min_tasks"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_options_that_change_nothing_are_refused_before_a_page_is_written(
    folder: str, options: dict[str, Any], said: str, request: pytest.FixtureRequest
):
    place = request.getfixturevalue(folder)
    with pytest.raises(OptionError, match=said):
        hc.report(place, **options)
    assert list(place.glob("*.html")) == []


def test_options_of_a_run_that_sorts_no_heads_are_refused(tmp_path: Path):
    folder = run_without_heads(tmp_path / "made up")
    with pytest.raises(OptionError, match="made_up"):
        hc.report(folder, rule=hc.rules.threshold(value=0.2))
    assert sentence("answer.no_map") in section(written(folder), "answer")


def test_a_probe_at_chance_has_a_page_that_says_so_and_no_map(tmp_path: Path):
    probe = EXAMPLES["importance_grid"](3, 4).assign_attrs(
        verdict="not above chance",
        method="function_probe",
        label="function_probe",
        model="made-up",
        summary=json.dumps(["Right no more often than chance."]),
    )
    folder = suite_run(tmp_path / "probe", "function_probe", probe, per_layer={0: 4, 1: 4, 2: 4})
    content = written(folder)
    assert sentence("answer.no_map") in section(content, "answer")
    assert "above chance" in section(content, "methods")
    with pytest.raises(hc.errors.DataError, match="above chance"):
        hc.report(folder, rule=hc.rules.threshold(value=0.2))
