"""How findings are told in a terminal and in a pipe, and how a command ends."""

import io
import logging
import signal
import sys

import pytest
from rich.console import Console

from headcats import cli
from headcats.cli import console
from headcats.results.finding import line, note, paragraph, table


def test_headers_are_no_markup_and_wide_letters_count(monkeypatch, capsys):
    monkeypatch.setattr(console, "out", Console(width=40))
    console.tell([table("text.untitled", ["x[b]", "y[/i]"], [["首都", "one\ntwo"]])])
    text = capsys.readouterr().out
    assert all(word in text for word in ("x[b]", "y[/i]", "首都", "one", "two"))


def test_findings_are_told_as_they_are(capsys):
    """Nothing of them is markup or an emoji; what begins something new has a blank line before it."""
    lines = [line("text.plain", text=text) for text in ("[bold]a[/] :smile:", "b")]
    more = [paragraph("text.plain", text="c `d`"), note("text.plain", text="[e]")]
    console.tell([*lines, *more, table("text.plain", ["h"], [["i"]], text="f [g]")])
    printed = capsys.readouterr()
    assert printed.out.startswith("[bold]a[/] :smile:\nb\n\nc `d`\n\nf [g]\nh\n")
    assert printed.err == "Note: [e]\n"


@pytest.mark.parametrize("inherited", [signal.SIG_IGN, None])
def test_a_request_to_end_that_is_not_ours_to_answer_is_left_alone(monkeypatch, inherited):
    """Ignored by whoever started the process, or answered by a handler that Python cannot put back."""
    monkeypatch.setattr(console.signal, "getsignal", lambda number: inherited)
    monkeypatch.setattr(console.signal, "signal", lambda *given: pytest.fail(f"set {given}"))
    with console.ending_on_request():
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
