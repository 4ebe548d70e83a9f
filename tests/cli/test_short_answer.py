"""Every command ends in fifteen lines, in which no word is broken; the rest is among the details."""

import re
from pathlib import Path

import numpy as np
import pytest
from cli.test_compare import write
from counting import SUITE
from covering import pairwise, some
from rich.console import Console
from simulated import block
from typer.testing import CliRunner

from headcats import cli
from headcats.cli import console
from headcats.cli.console import tell
from headcats.cli.short_answer import MOST_LINES, put_short
from headcats.reports.text.short import Short
from headcats.results.finding import line, table
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, ModelRecord, PlanRecord, TaskRecord

pytestmark = pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
WIDTHS = (80, 100, 120)
PATCH, ABLATION = "denoising_patch@last", "mean_ablation@all"


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


def run_of(path, categories, methods=(PATCH,), *, n=24, found=True, heads=1):
    """Results of two tasks per category; the k-th category has `heads` of the k-th layer."""
    shape, rng = (max(len(categories), 2), 8), np.random.default_rng(0)
    folder, tasks = ResultsFolder(path), {f"t{i}": name for i, name in enumerate([*categories, *categories])}
    for task, category in tasks.items():
        for method in methods:
            differences = 0.05 * rng.standard_normal((n, *shape))
            if found:
                differences[:, categories.index(category), :heads] += 0.5
            folder.write_block(task, method, block(differences, items=np.arange(n)))
    folder.write_manifest(
        Manifest(
            plan=PlanRecord(metrics=("logit_diff",), corruption="other_task", seed=0, n_prompts=n, suite="icl"),
            model=ModelRecord("planted", weights_hash="w"),
            categories=tuple(CategoryRecord(name, f"#{10 + i:02x}80ff") for i, name in enumerate(categories)),
            tasks={task: TaskRecord(category) for task, category in tasks.items()},
            methods=tuple(methods),
        )
    )
    return path


RUNS = {
    "one method": {"categories": ["Knowledge", "Linguistic"]},
    "two methods": {"categories": ["Knowledge", "Linguistic"], "methods": (PATCH, ABLATION)},
    "no members": {"categories": ["Knowledge", "Linguistic"], "found": False},
    "one category": {"categories": ["Knowledge"]},
    "30 categories": {"categories": [f"Category {i}" for i in range(30)], "methods": (PATCH, ABLATION)},
    "long names": {"categories": ["a" * 200, "b" * 199 + "c", "words of many letters " * 9 + "x"]},
    "many heads": {"categories": ["Knowledge", "Linguistic"], "methods": (PATCH, ABLATION), "heads": 8},
    "few prompts": {"categories": ["Knowledge", "Linguistic"], "n": 3},
}


def words_of(text):
    return set(re.sub(r"[┃│━╇!]", " ", text).split())


@pytest.fixture
def answered(monkeypatch):
    """Function: arguments of a command -> its short answer with what closes it, and with `--details` its findings."""

    def command(*arguments):
        shorts, findings = [], []
        monkeypatch.setattr("headcats.cli.answer.put_short", lambda *given: shorts.append(given))
        monkeypatch.setattr("headcats.cli.answer.tell", findings.extend)
        done = CliRunner().invoke(cli.app, list(map(str, arguments)))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return (shorts[0] if shorts else None), findings

    return command


def at(monkeypatch, capsys, width, put, *given):
    monkeypatch.setattr(console, "out", Console(width=width, highlight=False, emoji=False))
    capsys.readouterr()
    put(*given)
    return capsys.readouterr().out


def broken_words(text, full):
    """Words that stand in no wider answer, without those that are shortened, and numbers, which count what is cut."""
    words = words_of(text) - words_of(full) - COUNTING
    return {word for word in words if "…" not in word and not re.search(r"\d", word)}


COUNTING = words_of("1 more category: categories: see the details. more warnings warning and 2 more Without room here:")


@pytest.mark.parametrize(
    ("command", "name"),
    some(
        [
            ("map", "long names"),
            ("compare", "long names"),
            *(("map", name) for name in RUNS if name != "long names"),
            ("compare", "two methods"),
            ("compare", "no members"),
        ],
        2,
    ),
)
def test_fifteen_lines_and_whole_words(monkeypatch, capsys, answered, name, command):
    run_of("r", **RUNS[name])
    (short, closing), _ = answered(command, "r")
    full = at(monkeypatch, capsys, 5000, put_short, short, closing)
    for width in WIDTHS:
        text = at(monkeypatch, capsys, width, put_short, short, closing)
        lines = text.rstrip("\n").split("\n")
        assert len(lines) <= MOST_LINES, text
        assert all(len(line) <= width or line.startswith("`hc.run(model") for line in lines), text
        assert "--details" in text
        assert not broken_words(text, full), text


@pytest.mark.parametrize(
    ("command", "name"), some([("map", "long names"), ("map", "two methods"), ("compare", "two methods")], 1)
)
def test_details_break_no_word_either(monkeypatch, capsys, answered, name, command):
    run_of("r", **RUNS[name])
    _, findings = answered(command, "r", "--details")
    full = at(monkeypatch, capsys, 5000, tell, findings)
    for width in WIDTHS:
        text = at(monkeypatch, capsys, width, tell, findings)
        assert {word.rstrip(".,:") for word in broken_words(text, full)} <= {
            word.rstrip(".,:") for word in words_of(full) | {"row", "every"}
        }
        assert max(len(line) for line in text.split("\n") if "│" in line or "┃" in line) <= width


def test_the_answer_says_what_the_other_methods_say(printed):
    folder = run_of("r", ["Knowledge", "Linguistic"], (PATCH, ABLATION))
    rng = np.random.default_rng(1)
    for task in ("t0", "t1", "t2", "t3"):
        differences = 0.05 * rng.standard_normal((24, 2, 8))
        differences[:, 0, 0] += 0.5  # L0H0 on every task
        ResultsFolder(folder).write_block(task, ABLATION, block(differences, items=np.arange(24)))
    text = printed(100, "map", "r")
    rows = {row.split("│")[0].strip(): [cell.strip() for cell in row.split("│")[1:]] for row in text.split("\n")
            if "│" in row}  # fmt: skip
    assert rows == {"Knowledge": ["L0H0", "L0H0"], "Linguistic": ["L1H0", "none"]}
    details = printed(100, "map", "r", "--details")
    for warning in re.findall(r"^! (.+)$", text, flags=re.MULTILINE):
        assert f"- {warning}" in details
    assert "smallest reachable p" in details
    assert "smallest reachable p" not in text
    assert re.search("Of 2 .* mean ablation .* 1, and adds 1", " ".join(text.split()))
    assert "`headcats evidence r`" in text


def test_too_few_prompts_are_said_with_a_number_that_is_enough(printed):
    run_of("r", ["Knowledge", "Linguistic"], n=3)
    text = " ".join(printed(100, "map", "r").split())
    n = int(re.search(r"too few prompts, try `--n-prompts (\d+)`", text)[1])
    assert text.partition("Next:")[2].startswith(" `hc.run(model")  # no command names this model
    assert "reaches q" not in text
    run_of("enough", ["Knowledge", "Linguistic"], n=n)
    assert "oo few prompts" not in printed(100, "map", "enough")


def test_comparisons_say_what_agrees_and_what_moves(printed):
    write_to = {PATCH: (0, 0), "noising_patch@last": (0, 0), ABLATION: (1, 2)}
    write(Path("r"), write_to)
    text = " ".join(printed(100, "compare", "r", "--halves", 2).split())
    assert re.match("No head .* all 3 protocols.*: method, positions", text)
    assert "Jaccard 1.00 to 1.00" in text
    write(Path("b"), {PATCH: (0, 0)}, seed=1)
    write(Path("a"), {PATCH: (0, 0)})
    both = " ".join(printed(100, "compare", "a", "b").split())
    assert re.match("Under all 2 .*: Algorithmic L0H0; Knowledge L0H0.", both)
    assert re.search("! .* differ in plan seed", both)
    write(Path("c"), {PATCH: (0, 0)}, weights="other")
    models = printed(100, "compare", "a", "c")
    assert len(models.rstrip().split("\n")) <= MOST_LINES
    assert "1 (12%), depth 0.00" in models


@pytest.mark.parametrize(
    ("width", "sizes"), pairwise(WIDTHS, [(1, 0, 0), (1, 4, 3), (4, 30, 3), (9, 4, 12), (9, 30, 12)])
)
def test_whatever_there_is_to_say_fits(monkeypatch, capsys, width, sizes):
    n_sentences, n_rows, n_warnings = sizes
    monkeypatch.setattr(console, "out", Console(width=width, highlight=False, emoji=False))
    sentence = line("text.plain", text="A sentence of so many words that it fills more than half of a terminal line.")
    rows = [[f"category {i}", f"L{i}H0 L{i}H1"] for i in range(n_rows)]
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


@pytest.mark.slow
@pytest.mark.parametrize("width", some(WIDTHS, 1))
def test_a_run_and_its_test_end_in_as_many_lines(printed, counting_model_folder, monkeypatch, width):
    """From the line of the verdict on: before it, a command tells what it does."""
    monkeypatch.setattr("headcats.reports.page.writing.report", lambda folder: folder / "report.html")
    options = ["--model", counting_model_folder, "--n-prompts", 24]
    done = printed(width, "run", *options, "--suite", SUITE, "--n-demos", 2, "--no-views", "--out", "r")
    assert_short(done, width)
    tested = printed(width, "evidence", "r", "--model", counting_model_folder, "--n-prompts", 4, "--relabellings", 19)
    assert_short(tested, width)
    assert "On new prompts" in " ".join(tested.split())


def assert_short(text: str, width: int) -> None:
    lines = text.rstrip("\n").split("\n")
    (start,) = [
        place for place, each in enumerate(lines) if re.match(r"(L\d+H\d|No head|On new prompts|For one)", each)
    ][:1]
    answer = lines[start:]
    assert 5 < len(answer) <= MOST_LINES
    assert "Next: `headcats" in " ".join(text.split())
    assert max(map(len, answer)) <= width
