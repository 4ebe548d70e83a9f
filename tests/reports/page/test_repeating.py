"""What the page says about repeating things can be pasted."""

import html
import re
import shlex
import shutil
import warnings
from pathlib import Path

import pytest
from reports.page.test_report import described, written
from typer.testing import CliRunner

import headcats as hc
from headcats import cli
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
    (lines,) = [text for text in pasted(content) if text.startswith("import headcats") and "figures" not in text]
    monkeypatch.chdir(finished.parent)  # where the folder lies is not on the page
    made: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        exec(lines, made)
    about = described(content)
    for category, letters in zip(about["categories"], about["maps"][0]["verdicts"], strict=True):
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
    drawing = [text for text in commands if shlex.split(text)[1] == "figure"]
    assert [shlex.split(text)[2:4] for text in drawing] == [["method_agreement", folder.name]]
    commands = [text for text in commands if text not in drawing]
    assert {shlex.split(text)[1] for text in commands} == {"evidence", "compare", "views", "report"}
    for text in commands:
        command, *arguments = shlex.split(text)[1:]
        # Evidence is on scores, not on memberships.
        assert arguments == [folder.name, *(["--min-tasks", "1"] if command != "evidence" else [])]


@pytest.mark.ci
def test_the_code_of_every_figure_draws_it(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    content = written(finished, tmp_path / "one.html")
    monkeypatch.chdir(finished.parent)
    drawn = re.findall(
        r'<figure class="drawn" id="figure-(\w+)".*?<code>(.*?)</code></pre></figure>', content, re.DOTALL
    )
    assert len(drawn) == content.count('<figure class="drawn" id=') > 8
    for name, code in ((name, html.unescape(code)) for name, code in drawn):
        if code.startswith("import headcats"):
            before, _, call = code.rpartition("\n")
            scope: dict = {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HeadcatsWarning)
                exec(f"{before}\nfigure = {call}", scope)
            assert scope["figure"].data, name
        else:
            command = shlex.split(code)
            assert command[:2] == ["headcats", "figure"]
            done = CliRunner().invoke(cli.app, [*command[1:-1], str(tmp_path / command[-1])])
            assert done.exit_code == 0, done.output
            assert (tmp_path / command[-1]).stat().st_size


def test_the_explorers_lines_draw_the_chosen_row(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    blocks = described(written(finished, tmp_path / "one.html"))["blocks"]
    monkeypatch.chdir(finished.parent)
    drawn = [block for block in blocks if block["code"]]
    assert [block["what"] for block in drawn].count("category") == 3
    assert [block["what"] for block in drawn].count("task") == 2
    for block in drawn:
        before, _, call = block["code"].replace("{row}", repr(block["names"][0])).rpartition("\n")
        scope: dict = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadcatsWarning)
            exec(f"{before}\nfigure = {call}", scope)
        assert scope["figure"].data
