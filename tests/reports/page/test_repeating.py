"""What the page says about repeating things can be pasted."""

import shlex
import shutil
import warnings
from pathlib import Path

import pytest
from reports.page.read_pages import codes, described, parts_of, pasted, section, sentence, written

import headcats as hc
from headcats.base.errors import HeadcatsWarning
from headcats.reports.page.parts import Code


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
    parts = parts_of(folder, "answer caution evidence robustness tasks run methods", min_tasks=1)
    assert tmp_path.name not in str(parts)
    shown = [part.text for part in parts if isinstance(part, Code)]
    commands = [shlex.split(text) for text in shown if text.startswith("headcats ")]
    assert {command for _, command, *_ in commands} == {"evidence", "report"}
    for _, command, *arguments in commands:
        # Evidence is on scores, not on memberships.
        assert arguments == [folder.name, *(["--min-tasks", "1"] if command != "evidence" else [])]
    # Within the folder where one is, its path from there.
    monkeypatch.chdir(tmp_path)
    (command,) = codes(folder, "evidence")
    assert shlex.split(command)[2] == f"{folder.name}/{folder.name}"
