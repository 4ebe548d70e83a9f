"""The command: every work runs, and its tables hold what was measured, whatever the number of processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import recovery
from recovery_parts import planted, session

pytestmark = pytest.mark.ci

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "recovery.py"
COMMON = ["--quick", "--seed", "5", "--repetitions"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, str, str]:
    """What a run with two processes leaves behind: all numbers, the page, and what it printed."""
    folder = tmp_path_factory.mktemp("recovery")
    page = folder / "page.md"
    page.write_text("# Title\n", encoding="utf-8")
    arguments = [*COMMON, "2", "--processes", "2", "--work", "null", "planted"]
    arguments += ["--json", str(folder / "all.json"), "--write", str(page)]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, check=False, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    content = json.loads((folder / "all.json").read_text(encoding="utf-8"))
    return content, page.read_text(encoding="utf-8"), done.stdout


def test_every_work_has_its_numbers_and_its_section(measured):
    content, page, printed = measured
    assert list(content) == ["null", "planted"]
    for work in content:
        assert page.count(f"<!-- begin recovery {work} -->") == page.count(f"<!-- end recovery {work} -->") == 1
        assert f"`python benchmarks/recovery.py --work {work} --seed 5 --repetitions 2 --quick`" in page
    assert page.startswith("# Title\n")
    assert len(content["null"]["rows"]) == 3 * 4
    assert len(content["planted"]["rows"]) == 2 * 3
    assert "| correlated within items | 2 | min_tasks=half |" in page
    assert "Planted effects of 0.1 of the gap, SD 0.15 per prompt" in printed


def test_numbers_do_not_depend_on_the_number_of_processes(measured, tmp_path):
    file = tmp_path / "one.json"
    session.run(recovery.options([*COMMON, "2", "--processes", "1", "--work", "planted", "--json", str(file)]))
    alone = json.loads(file.read_text(encoding="utf-8"))
    assert alone["planted"] == measured[0]["planted"]
    of_none = [row for row in alone["planted"]["rows"] if row["spread"] == "half" and row["min_tasks"] == "n"]
    assert [row["recall"] for row in of_none] == [None]  # nothing to find


def test_a_curve_shows_each_point_once_and_the_rules_are_all_there(capsys):
    session.run(recovery.options([*COMMON, "1", "--processes", "1", "--work", "prompts", "rules"]))
    printed = capsys.readouterr().out
    for rule in planted.RULES:
        assert f"\n{rule} " in printed
    for number in session.PROMPTS:
        assert f"\n{number} " in printed


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--work", "nul"], r"no work 'nul'; there are: claims, \w"),
        (["--write", "no/page.md"], "there is no file"),
        (["--json", "no/all.json"], "there is no folder"),
        (["--processes", "0"], "whole numbers from 1 on"),
        (["--repetitions", "0"], "whole numbers from 1 on"),
    ],
)
def test_a_mistake_is_said_before_anything_is_measured(arguments, text):
    with pytest.raises(SystemExit, match=text):
        session.run(recovery.options(arguments))
