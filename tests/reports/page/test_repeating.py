"""What the page says about repeating things can be pasted."""

import html
import re
import shlex
import shutil
import warnings
from pathlib import Path

import pytest
from reports.page.read_pages import codes, described, parts_of, pasted, section, sentence, written
from typer.testing import CliRunner

import headcats as hc
from headcats import cli
from headcats.base.errors import HeadcatsWarning
from headcats.reports.page.parts import Code, Drawn


def test_the_lines_of_python_make_the_map_of_the_page(
    counting_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    options = {"min_tasks": 1, "sign": "suppressing", "effect": "task_specific"}
    options["rule"] = hc.rules.fdr(alpha=0.2, min_effect=0.01)
    content = written(counting_run, tmp_path / "one.html", **options)
    (lines,) = [text for text in pasted(content) if text.startswith("import headcats") and "figures" not in text]
    monkeypatch.chdir(counting_run.parent)  # where the folder lies is not on the page
    made: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        exec(lines, made)
    assert sentence("evidence.helping_only") in section(content, "evidence")
    about = described(content)
    for category, letters in zip(about["categories"], about["maps"][0]["verdicts"], strict=True):
        inside = made["overlap"]["member"].sel(category=category["name"]).transpose("layer", "head").values == 1
        assert [letter == about["in_letter"] for letter in letters] == inside.ravel().tolist()


def test_commands_take_a_folder_of_any_name_and_do_not_show_where_it_lies(
    counting_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "it's mine & co" / "it's mine & co"
    folder = Path(shutil.copytree(counting_run, place, ignore=shutil.ignore_patterns("evidence")))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    parts = parts_of(folder, "answer caution evidence robustness explorer tasks run methods", min_tasks=1)
    assert tmp_path.name not in str(parts)
    drawn = [part for part in parts if isinstance(part, Drawn)]
    shown = [part.text for part in parts if isinstance(part, Code)] + [part.code for part in drawn]
    commands = [shlex.split(text) for text in shown if text.startswith("headcats ")]
    drawing = [command for command in commands if command[1] == "figure"]
    assert [command[2:4] for command in drawing] == [["method_agreement", folder.name]]
    others = [command[1:] for command in commands if command[1] != "figure"]
    assert {command for command, *_ in others} == {"evidence", "compare", "report"}
    for command, *arguments in others:
        # Evidence is on scores, not on memberships.
        assert arguments == [folder.name, *(["--min-tasks", "1"] if command != "evidence" else [])]
    # Within the folder where one is, its path from there.
    monkeypatch.chdir(tmp_path)
    (command,) = codes(folder, "evidence")
    assert shlex.split(command)[2] == f"{folder.name}/{folder.name}"


@pytest.mark.slow
def test_the_code_of_every_figure_draws_it(counting_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    content = written(counting_run, tmp_path / "one.html")
    monkeypatch.chdir(counting_run.parent)
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


def test_the_explorers_lines_draw_the_chosen_row(counting_run: Path, page: Path, monkeypatch: pytest.MonkeyPatch):
    blocks = described(page.read_text(encoding="utf-8"))["blocks"]
    monkeypatch.chdir(counting_run.parent)
    drawn = [block for block in blocks if block["code"]]
    assert [block["what"] for block in drawn].count("category") == 3
    assert [block["what"] for block in drawn].count("task") == 2
    for block in {block["what"]: block for block in drawn}.values():
        before, _, call = block["code"].replace("{row}", repr(block["names"][0])).rpartition("\n")
        scope: dict = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadcatsWarning)
            exec(f"{before}\nfigure = {call}", scope)
        assert scope["figure"].data
