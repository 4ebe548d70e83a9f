"""Prompts in the terminal: every token is told from the next, in any width, and nothing of them is obeyed."""

import itertools

import pytest
from covering import each_value
from rich.cells import cell_len
from rich.console import Console

from headcats.cli import console
from headcats.cli.token_lines import MOST_LINES, token_lines
from headcats.results.finding import Prompts

NAMES = len("  corrupted ")
CLEAN = ("<s>", "France", " →", " Paris", "\n", "Italy", " →")
CORRUPTED = ("<s>", "France", " →", " French", "\n", "Italy", " →")


def prompts(clean=CLEAN, corrupted=CORRUPTED, answer=(" Rome",), distractor=(" Ital", "ian")):
    shown = {"clean": (tuple(clean), tuple(answer)), "corrupted": (tuple(corrupted), tuple(distractor))}
    return Prompts("text.untitled", prompts=shown)


def blocks(finding, width=80):
    """Name -> its lines, without the column of names."""
    lines = token_lines(finding, width=width).plain.split("\n")
    second = next(place for place, text in enumerate(lines) if text.startswith("  corrupted "))
    assert lines[0].startswith("  clean ")
    return {"clean": [text[NAMES:] for text in lines[:second]], "corrupted": [text[NAMES:] for text in lines[second:]]}


def test_separators_say_where_tokens_end():
    assert blocks(prompts()) == {
        "clean": ["<s>│France│ →│ Paris│↵│Italy│ →⇒ Rome"],
        "corrupted": ["<s>│France│ →│ French│↵│Italy│ →⇒ Ital│ian"],
    }


def test_colours_say_the_same():
    text = token_lines(prompts(), width=80)
    styles = [(text.plain[span.start : span.end], str(span.style)) for span in text.spans]
    clean = styles[: styles.index(("  corrupted ", "bold"))]
    tokens = [
        ("".join(char for char, _ in run), style)
        for style, run in itertools.groupby(clean, key=lambda of_char: of_char[1])
        if "cyan" in style or "yellow" in style
    ]
    assert [token for token, _ in tokens] == ["<s>", "France", " →", " Paris", "↵", "Italy", " →", " Rome"]
    assert [style.split()[0] for _, style in tokens] == ["cyan", "yellow"] * 4
    assert [token for token, style in tokens if "reverse" in style] == [" →"], "the last of the prompt"


@pytest.mark.parametrize(("width", "n_demos"), each_value([30, 40, 41, 60, 80, 140], [1, 5, 60, 2000]))
def test_the_end_is_shown_and_the_rest_is_counted(width, n_demos):
    demo = (" 首都", " →", " Paris", "\n")
    finding = prompts(["<s>", *demo * n_demos, "Italy", " →"], ["<s>", *demo * n_demos, "Italy", " →"])
    found = blocks(finding, width)
    hidden = set()
    for name, end in {"clean": "│Italy│ →⇒ Rome", "corrupted": "│Italy│ →⇒ Ital│ian"}.items():
        text = "".join(found[name])
        assert len(found[name]) <= MOST_LINES
        assert max(map(cell_len, found[name])) <= max(width - NAMES, 12)
        assert text.endswith(end)
        n_hidden = int(text[1:].split()[0]) if text.startswith("(") else 0
        # Without a hidden one, none stands before the first.
        assert text.removesuffix(end).count("│") == 4 * n_demos + 1 - n_hidden - (n_hidden == 0)
        hidden.add(n_hidden)
        # A separator stays with its token, and no token that fits a line is cut.
        assert {line[0] for line in found[name][1:]} <= set("│⇒") or width < 40
    assert len(hidden) == 1, "as many of each"


def test_a_token_longer_than_a_line_is_cut_not_lost():
    found = blocks(prompts(["x" * 100, "y"]), 40)
    assert "".join(found["clean"]).replace("│", "") == "(1 token before) y⇒ Rome"
    answer = "z" * 100
    assert "".join(blocks(prompts(answer=[answer]), 40)["clean"]).endswith(f"⇒{answer}")


def test_parts_of_a_character_and_combining_marks():
    found = blocks(prompts(["東", "", "", "e", "\u0301"]))
    assert found["clean"] == ["東│⋯│⋯│e│◌\u0301⇒ Rome"]


HOSTILE = ("[bold]", "[/]", "\x1b[2J", "\x9b31m", "\r", "\b\b", "\x07", ":smile:", "\u202e", "\n\n", "[link=x]")


@pytest.mark.parametrize(("width", "colour"), [(40, None), (200, "truecolor")])
def test_nothing_is_obeyed(monkeypatch, capsys, width, colour):
    printed = Console(width=width, color_system=colour, force_terminal=colour is not None, emoji=False, highlight=False)
    monkeypatch.setattr(console, "out", printed)
    console.tell([prompts(HOSTILE, HOSTILE, answer=HOSTILE)])
    out = capsys.readouterr().out
    if colour is None:
        assert all(char.isprintable() or char == "\n" for char in out)
        assert len(out.rstrip().splitlines()) == sum(
            map(len, blocks(prompts(HOSTILE, HOSTILE, HOSTILE), width).values())
        )
    assert "\x1b[2J" not in out
    assert not {"\x9b", "\r", "\b", "\x07", "\u202e"} & set(out)


def test_they_stand_under_their_title(monkeypatch, capsys):
    monkeypatch.setattr(console, "out", Console(width=60))
    fields = {"task": "t", "category": "[red]c", "source": "word pairs (\x1b[2J → y)"}
    console.tell([Prompts("validation.first_prompt", fields, prompts=prompts().prompts)])
    first, title, *lines = capsys.readouterr().out.splitlines()
    assert (first, title) == ("", r"t ([red]c): word pairs (\x1b[2J → y)")
    assert lines[0].startswith("  clean     <s>│France")
