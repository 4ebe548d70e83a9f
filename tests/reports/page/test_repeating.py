"""What the page says about repeating things can be pasted."""

import html
import re
import shlex
import shutil
import warnings
from pathlib import Path

import pytest
from reports.page.test_report import described, written

import headcats as hc
from headcats.errors import HeadcatsWarning


def pasted(content: str) -> list[str]:
    """Commands and lines of Python on the page."""
    return [html.unescape(text) for text in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", content, re.DOTALL)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"method": "mean_ablation"}, marks=pytest.mark.ci),
        pytest.param(
            {
                "min_tasks": 1,
                "sign": "suppressing",
                "effect": "task_specific",
                "rule": hc.rules.fdr(alpha=0.2, min_effect=0.01),
            },
            marks=pytest.mark.ci,
        ),
    ],
    ids=lambda options: next(iter(options), "default"),
)
def test_the_lines_of_python_make_the_map_of_the_page(
    finished: Path, tmp_path: Path, options: dict, monkeypatch: pytest.MonkeyPatch
):
    content = written(finished, tmp_path / "one.html", **options)
    (lines,) = [text for text in pasted(content) if text.startswith("import headcats")]
    monkeypatch.chdir(finished.parent)  # where the folder lies is not on the page
    made: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        exec(lines, made)
    about = described(content)
    for category, letters in zip(about["categories"], about["verdicts"], strict=True):
        inside = made["overlap"]["member"].sel(category=category["name"]).transpose("layer", "head").values == 1
        assert [letter == about["in_letter"] for letter in letters] == inside.ravel().tolist()


@pytest.mark.parametrize(("inside", "shown"), [(True, "it's mine & co/results"), (False, "results")])
def test_a_page_does_not_show_where_its_folder_lies(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool, shown: str
):
    place = tmp_path / "it's mine & co" / "results"
    folder = Path(shutil.copytree(finished, place, ignore=shutil.ignore_patterns("evidence")))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path if inside else tmp_path / "elsewhere")
    content = written(folder)
    assert tmp_path.name not in content
    commands = [shlex.split(text) for text in pasted(content) if text.startswith("headcats ")]
    assert {command[2] for command in commands if command[1] == "report"} == {shown}


def test_commands_take_a_folder_of_any_name(finished: Path, tmp_path: Path):
    folder = Path(shutil.copytree(finished, tmp_path / "it's mine & co", ignore=shutil.ignore_patterns("evidence")))
    commands = [text for text in pasted(written(folder, min_tasks=1)) if text.startswith("headcats ")]
    assert {shlex.split(text)[1] for text in commands} == {"evidence", "compare", "views", "report"}
    for text in commands:
        command, *arguments = shlex.split(text)[1:]
        # Evidence is on scores, not on memberships.
        assert arguments == [folder.name, *(["--min-tasks", "1"] if command != "evidence" else [])]
