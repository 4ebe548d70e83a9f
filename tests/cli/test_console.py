"""How findings are told in a terminal and in a pipe, and how a command ends."""

import io
import logging
import signal
import sys

import pytest
from covering import each_value
from rich.cells import cell_len
from rich.console import Console

from headcats import cli
from headcats.cli import commands, console
from headcats.results.finding import Prompts, line, note, paragraph, table


@pytest.fixture
def told(monkeypatch, capsys):
    """Function: findings and the width of a terminal -> its lines."""

    def tell(*findings, width=80):
        monkeypatch.setattr(console, "out", Console(width=width, highlight=False, emoji=False))
        console.tell(findings)
        return capsys.readouterr().out.splitlines()

    return tell


def test_findings_are_told_as_they_are(capsys):
    """Nothing of them is markup or an emoji; what begins something new has a blank line before it."""
    lines = [line("text.plain", text=text) for text in ("[bold]a[/] :smile:", "b")]
    more = [paragraph("text.plain", text="c `d`"), note("text.plain", text="[e]")]
    console.tell([*lines, *more, table("text.plain", ["h"], [["i"]], text="f [g]")])
    printed = capsys.readouterr()
    assert printed.out.startswith("[bold]a[/] :smile:\nb\n\nc `d`\n\nf [g]\nh\n")
    assert printed.err == "Note: [e]\n"


# ------------------------------------------------------------------------------------------------- lines and tables
@pytest.mark.parametrize("width", [20, 60, 120])
def test_commands_and_paths_stay_in_one_piece(width):
    command, path = "`headcats evidence results/mini-icl --positions all`", "my results/of today/overlap_map.html"
    text = f"It was written to {path} and now comes {command}, which takes its time."
    lines = console.wrapped(text, width, whole=[path])
    assert " ".join(lines) == text
    assert all(sum(piece in line for line in lines) == 1 for piece in (command, path))
    assert all(len(line) <= width or line in (path, f"{command},") for line in lines)


WIDE = table(
    "text.untitled",
    ["task[b]", "category", "suppressing", "why[/i]", "gap"],
    [
        ["next_letter", "首都", "none", "no clear gap between prompts", "20.95"],
        ["country_capital", "Knowledge", "none", "one\ntwo", "-19.19"],
    ],
    numeric=["gap"],
)


@pytest.mark.parametrize("width", [20, 60, 200])
def test_a_table_fits(told, width):
    lines = told(WIDE, width=width)
    assert max(map(cell_len, lines)) <= width
    if width == 200:
        of_table = {word for text in (*WIDE.columns, *sum(WIDE.rows, ())) for word in text.replace("\n", "↵").split()}
        assert of_table <= set(" ".join(lines).split())


def test_a_word_that_no_line_has_room_for_is_folded(told):
    names = ["x" * 200, "y" * 199]
    lines = told(table("text.untitled", ["a", "b"], [names]), width=80)
    assert max(map(len, lines)) <= 80
    assert "".join(lines).count("x") == 200


# ----------------------------------------------------------------------------------------------------------- prompts
CLEAN = ("<s>", "France", " →", " Paris", "\n", "東", "", "e", "\u0301", " →")
CORRUPTED = (*CLEAN[:3], " French", *CLEAN[4:])


def prompts(clean=CLEAN, corrupted=CORRUPTED, answer=(" Rome",), distractor=(" Ital", "ian")):
    return Prompts("text.untitled", prompts={"clean": (clean, answer), "corrupted": (corrupted, distractor)})


def test_separators_say_where_tokens_end(told):
    assert [line.rstrip() for line in told(prompts())] == [
        "  clean     <s>│France│ →│ Paris│↵│東│⋯│e│◌\u0301│ →⇒ Rome",
        "  corrupted <s>│France│ →│ French│↵│東│⋯│e│◌\u0301│ →⇒ Ital│ian",
    ]


@pytest.mark.parametrize(("width", "n_demos"), each_value([40, 60, 140], [1, 5, 60, 2000]))
def test_the_end_of_a_prompt_is_shown_and_the_rest_is_counted(told, width, n_demos):
    tokens = ("<s>", *(" 首都", " →", " Paris", "\n") * n_demos, "Italy", " →")
    lines = told(prompts(tokens, tokens), width=width)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= 2 * (console.PROMPT_LINES + 1)
    start = next(place for place, line in enumerate(lines) if line.startswith("  corrupted"))
    for part, end in ((lines[:start], "⇒Rome"), (lines[start:], "⇒Ital│ian")):
        text = "".join("".join(line[12:] for line in part).split())
        assert text.endswith(f"│Italy│→{end}")
        hidden = int(text[1:].partition("token")[0]) if text.startswith("(") else 0
        assert text.removesuffix(end).count("│") == len(tokens) - hidden - (hidden == 0)


HOSTILE = ("[bold]", "[/]", "\x1b[2J", "\x9b31m", "\r", "\b\b", "\x07", ":smile:", "\u202e", "\n\n", "[link=x]")


def test_nothing_of_a_prompt_is_obeyed(told):
    fields = {"task": "t", "category": "[red]c", "source": "word pairs (\x1b[2J → y)"}
    made = prompts(HOSTILE, HOSTILE, answer=HOSTILE).prompts
    first, title, *lines = told(Prompts("validation.first_prompt", fields, prompts=made), width=200)
    assert (first, title) == ("", r"t ([red]c): word pairs (\x1b[2J → y)")
    assert all(char.isprintable() for line in lines for char in line)
    assert lines[0].startswith(r"  clean     [bold]│[/]│\x1b[2J│")


# ----------------------------------------------------------------------------------------------------------- endings
@pytest.mark.parametrize("inherited", [signal.SIG_IGN, None])
def test_a_request_to_end_that_is_not_ours_to_answer_is_left_alone(monkeypatch, inherited):
    """Ignored by whoever started the process, or answered by a handler that Python cannot put back."""
    monkeypatch.setattr(commands.signal, "getsignal", lambda number: inherited)
    monkeypatch.setattr(commands.signal, "signal", lambda *given: pytest.fail(f"set {given}"))
    with commands.ending_on_request():
        pass


def test_a_pipe_that_is_not_utf_8_gets_escapes(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    monkeypatch.setattr(cli, "app", lambda **options: console.tell(["a → b"]))
    cli.main()
    sys.stdout.flush()
    assert written.getvalue() == b"a \\u2192 b\n"


def test_a_program_that_calls_the_command_gets_its_logging_back(monkeypatch, capfd):
    logger = logging.getLogger("headcats")
    before = list(logger.handlers), logger.level
    monkeypatch.setattr(cli, "app", lambda **options: logger.info("told"))
    cli.main()
    assert capfd.readouterr().err == "told\n"
    assert (logger.handlers, logger.level) == before


def test_every_command_can_be_stopped(monkeypatch, capfd):
    """Also those that take no time now."""
    import typer.testing

    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("headcats.cli.list.names", stopped)
    done = typer.testing.CliRunner().invoke(cli.app, ["list", "rules"])
    assert done.exit_code == 130
    assert "Stopped" in done.output
