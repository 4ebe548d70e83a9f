"""Sentences break at spaces; paths and commands do not break at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.cli.wrapping import height, shortened, wrapped

COMMAND = "`headcats evidence results/mini-icl --positions all`"
PATH = "my results/of today/overlap_map.html"


@pytest.mark.parametrize("width", [20, 60, 120])
def test_commands_and_paths_stay_in_one_piece(width):
    text = f"It was written to {PATH} and now comes {COMMAND}, which takes its time."
    lines = wrapped(text, width, whole=[PATH])
    assert sum(COMMAND in line for line in lines) == 1
    assert sum(PATH in line for line in lines) == 1
    assert " ".join(lines) == text
    assert all(len(line) <= width or line in (PATH, f"{COMMAND},") for line in lines)


@given(st.text("ab c", max_size=80), st.integers(1, 30))
def test_words_are_whole_and_in_order(text, width):
    lines = wrapped(text, width)
    assert " ".join(lines).split() == text.split()
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)


def test_a_line_keeps_its_indentation():
    assert wrapped("one\n  two three", 6) == ["one", "  two", "  three"]


def test_wide_letters_count_twice():
    assert wrapped("首都 首都", 8) == ["首都", "首都"]
    assert height("首都首都", 6) == 2


@pytest.mark.parametrize("width", [5, 24])
def test_a_long_name_keeps_both_ends(width):
    for name in ("a" * 100 + "z" * 100, "首" * 100, "ab" + "首" * 50 + "z"):
        short = shortened(name, width)
        assert height(short, width) == 1
        assert "…" in short
        assert (short[0], short[-1]) == (name[0], name[-1])
    assert shortened("short", width) == "short"
