"""Answers of a command, as text or as one JSON value."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from cli.test_compare import write
from covering import pairwise
from rich.console import Console
from simulated import block
from typer.testing import CliRunner

from headcats import cli
from headcats.cli import console
from headcats.cli.answer import MOST_LINES, Answer, plain, put, put_short
from headcats.results.finding import Short, line, note, paragraph, table
from headcats.results.folder import ResultsFolder

PLAIN = [
    (None, None),
    (True, True),
    (np.True_, True),
    (3, 3),
    (np.int64(3), 3),
    (0.5, 0.5),
    (np.float32(0.5), 0.5),
    (float("nan"), None),
    (np.float64("inf"), None),
    (np.str_("a"), "a"),
    (Path("a/b"), str(Path("a/b"))),
    (pd.NA, None),
    ((1, [2.0, {"x": np.nan}]), [1, [2.0, {"x": None}]]),
    ({1: "a"}, {"1": "a"}),
    (np.array([[1.0, np.nan]]), [[1.0, None]]),
    (pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["x", "y"]}),
     [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]),
]  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
WIDTHS = (80, 100, 120)
PATCH, ABLATION = "denoising_patch@last", "mean_ablation@all"


def test_numbers_stay_numbers_and_missing_ones_are_null():
    for value, expected in PLAIN:
        found = plain(value)
        assert found == expected
        assert type(found) is type(expected)


def test_a_dataset_can_be_read_again():
    data = xr.Dataset({"a": ("x", [1.0, np.nan])}, coords={"x": ["p", "q"]}, attrs={"n": np.int64(2)})
    again = xr.Dataset.from_dict(json.loads(json.dumps(plain(data), allow_nan=False)))
    xr.testing.assert_equal(again.astype({"a": float}), data)


def test_what_json_cannot_hold_is_refused():
    with pytest.raises(TypeError, match="got a function"):
        plain(lambda: None)


def test_any_terminal_can_show_it(capsys):
    put({"a": "é → b"})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == {"a": "é → b"}


def test_an_answer_is_told_or_put_together(capsys):
    findings = [
        line("text.plain", text="one"),
        note("text.plain", text="careful"),
        table("text.plain", ["a"], [["1"]], text="t"),
        paragraph("text.plain", text="two"),
    ]
    for as_json in (False, True):
        answer = Answer(as_json)
        answer.numbers = {"n": np.float64(1.5)}
        answer.say(findings)
        answer.wrote("map", Path("m.html"), "Map: m.html")
        answer.end()
        printed = capsys.readouterr()
        assert printed.err == "Note: careful\n"
        if as_json:
            assert json.loads(printed.out) == {"n": 1.5, "sentences": ["one", "two"], "files": {"map": "m.html"}}
        else:
            assert printed.out.split() == ["one", "t", "a", "━", "1", "two", "Map:", "m.html"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def printed(monkeypatch):
    """Function: width and arguments -> what a command prints on stdout of a terminal of that width."""

    def command(width, *arguments):
        monkeypatch.setattr(console, "out", Console(width=width, highlight=False, emoji=False))
        done = CliRunner().invoke(cli.app, list(map(str, arguments)))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return command


def test_the_answer_says_what_the_other_methods_say(printed):
    folder = ResultsFolder(write(Path("r"), {PATCH: (0, 0), ABLATION: (0, 0)}))
    for task in ("t2", "t3"):
        differences = 0.05 * np.random.default_rng(1).standard_normal((24, 2, 4))
        differences[:, 1, 0] += 0.5
        folder.write_block(task, PATCH, block(differences, items=np.arange(24)))
    text = printed(100, "map", "r")
    rows = {row.split("│")[0].strip(): [cell.strip() for cell in row.split("│")[1:]] for row in text.split("\n")
            if "│" in row}  # fmt: skip
    assert rows == {"Algorithmic": ["L0H0", "L0H0"], "Knowledge": ["L1H0", "none"]}
    details = printed(100, "map", "r", "--details")
    for warning in re.findall(r"^! (.+)$", text, flags=re.MULTILINE):
        assert f"- {warning}" in details
    assert "Heads in exactly so many categories" in details
    assert "Heads in exactly so many categories" not in text
    assert re.search("Of 2 .* mean ablation .* 1, and adds 1", " ".join(text.split()))
    assert "`headcats evidence r`" in text


def test_too_few_prompts_are_said_with_a_number_that_is_enough(printed):
    write(Path("r"), {PATCH: (0, 0)}, items=3, n_prompts=3)
    text = " ".join(printed(100, "map", "r").split())
    n = int(re.search(r"too few prompts, try `--n-prompts (\d+)`", text)[1])
    assert "reaches q" not in text
    write(Path("enough"), {PATCH: (0, 0)}, items=n, n_prompts=n)
    assert "oo few prompts" not in printed(100, "map", "enough")


def test_comparisons_say_what_agrees(printed):
    write_to = {PATCH: (0, 0), "noising_patch@last": (0, 0), ABLATION: (1, 2)}
    write(Path("r"), write_to)
    text = " ".join(printed(100, "compare", "r").split())
    assert text.startswith("No head is in a category under all 3 protocols.")
    write(Path("b"), {PATCH: (0, 0)}, seed=1)
    write(Path("a"), {PATCH: (0, 0)})
    both = " ".join(printed(100, "compare", "a", "b").split())
    assert re.match("Under all 2 .*: Algorithmic L0H0; Knowledge L0H0.", both)
    assert re.search("! .* differ in plan seed", both)


@pytest.mark.parametrize(
    ("width", "sizes"), pairwise(WIDTHS, [(1, 0, 0), (1, 4, 3), (4, 30, 3), (9, 4, 12), (9, 30, 12)])
)
def test_whatever_there_is_to_say_fits(monkeypatch, capsys, width, sizes):
    n_sentences, n_rows, n_warnings = sizes
    monkeypatch.setattr(console, "out", Console(width=width, highlight=False, emoji=False))
    sentence = line("text.plain", text="A sentence of so many words that it fills more than half of a terminal line.")
    names = ["words of many letters " * 9, "a" * 200, *(f"category {i}" for i in range(2, n_rows))]
    rows = [[name, f"L{i}H0 L{i}H1"] for i, name in enumerate(names[:n_rows])]
    short = Short(
        (sentence,) * n_sentences,
        (lambda most: table("text.untitled", ["category", "heads"], rows)) if rows else None,
        (sentence,),
        (sentence,) * n_warnings,
        "headcats map r",
    )
    put_short(short, ["Map: some where/map.html"])
    text = capsys.readouterr().out
    assert text.count("\n") <= MOST_LINES
    assert max(map(len, text.splitlines())) <= width
    assert text.count("! A sentence") <= 3
    shown = text.count("! A sentence")
    if n_warnings > shown:
        assert f"{n_warnings - shown} more warning" in " ".join(text.split())
    listed = text.count(" │ L")
    if n_rows > listed:
        assert f"{n_rows - listed} more categor" in text


def test_categories_have_their_colours_in_terminals_only(monkeypatch, capsys):
    colours = {"Knowledge": "#ff7f0e"}
    listed = table("text.untitled", ["category", "heads"], [["Knowledge", "L0H0"]])
    short = Short((line("text.plain", text="Knowledge L0H0."),), lambda most: listed, (), (), "x", colours)

    def escapes(**settings):
        monkeypatch.setattr(console, "out", Console(width=80, highlight=False, emoji=False, **settings))
        put_short(short, [])
        return capsys.readouterr().out.count("38;2;255;127;14")

    assert escapes(force_terminal=True, color_system="truecolor") == 1
    assert escapes(force_terminal=True, color_system="truecolor", no_color=True) == 0
    assert escapes() == 0
