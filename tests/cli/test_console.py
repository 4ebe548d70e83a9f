"""Tables in narrow terminals fold between words."""

import pytest
from rich.console import Console

from headcats.cli import console

COLUMNS = ["category", "helping (largest first)", "undecided"]
ROWS = [["Algorithmic", "L4H1 L2H3 L2H1", "0"], ["Translation", "L1H4 L1H6 L1H7 L3H5", "12"]]


def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int) -> str:
    monkeypatch.setattr(console, "out", Console(width=width))
    console.out.print(console.table("", COLUMNS, ROWS, numeric=frozenset({"undecided"})))
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [200, 50, 43, 38, 36, 34])
def test_no_word_is_split_and_none_is_lost(monkeypatch, capsys, width):
    text = shown(monkeypatch, capsys, width)
    assert max(map(len, text.splitlines())) <= width
    words = {word for texts in (COLUMNS, *ROWS) for cell in texts for word in cell.split()}
    assert words <= set(text.replace("┃", " ").replace("│", " ").split())


def test_where_words_do_not_fit_letters_are_kept(monkeypatch, capsys):
    text = shown(monkeypatch, capsys, 30)
    assert max(map(len, text.splitlines())) <= 30
    for cell in ("L4H1", "L3H5", "12"):
        assert cell in text


def test_headers_are_no_markup_and_wide_letters_count(monkeypatch, capsys):
    monkeypatch.setattr(console, "out", Console(width=40))
    console.out.print(console.table("", ["x[b]", "y[/i]"], [["首都", "one\ntwo"]]))
    text = capsys.readouterr().out
    assert all(word in text for word in ("x[b]", "y[/i]", "首都", "one", "two"))


def test_a_table_without_rows_has_its_columns(monkeypatch, capsys):
    monkeypatch.setattr(console, "out", Console(width=40))
    console.out.print(console.table("", COLUMNS, []))
    assert "category" in capsys.readouterr().out


@pytest.mark.parametrize(("n", "text"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks")])
def test_one_is_no_plural(n, text):
    assert console.counted(n, "task") == text
    assert console.counted(n, "category", "categories") == f"{n} categor{'y' if n == 1 else 'ies'}"
