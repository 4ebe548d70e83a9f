"""A table fits by leaving out what says least; no word of it is broken."""

import itertools

import pytest
from rich.cells import cell_len

from headcats.cli.table_layout import BETWEEN, fitted

WIDE = [
    ["task", "next_letter", "country_capital"],
    ["category", "Algorithmic", "Knowledge"],
    ["suppressing", "none", "none"],
    ["why", "no clear gap between prompts", "accuracy 0.10"],
    ["gap", "20.95", "19.19"],
]


def widths(layout):
    return [sum(width for _, width in block) + BETWEEN * (len(block) - 1) for block in layout.blocks]


def shown(layout):
    return [[column for column, _ in block] for block in layout.blocks]


def test_what_fits_is_whole():
    layout = fitted(WIDE, room=200)
    assert shown(layout) == [[0, 1, 2, 3, 4]]
    assert (layout.left_out, layout.constant) == ([], [])
    assert [width for _, width in layout.blocks[0]] == [15, 11, 11, 28, 5]


def test_columns_go_by_priority():
    """First what is the same in every row, then what is optional, in its order; the first column stays."""
    assert fitted(WIDE, room=80, optional=[4, 1]).constant == [2]
    assert fitted(WIDE, room=80, optional=[4, 1]).left_out == []
    assert fitted(WIDE, room=46, optional=[4, 1]).left_out == [4]
    assert fitted(WIDE, room=32, optional=[4, 1]).left_out == [4, 1]
    assert shown(fitted(WIDE, room=32, optional=[4, 1])) == [[0, 3]]


def test_what_may_not_go_is_continued_below():
    layout = fitted(WIDE, room=32)
    assert shown(layout) == [[0, 1], [0, 3], [0, 4]]
    assert layout.left_out == []


def test_one_row_has_no_constant_columns():
    assert fitted([column[:2] for column in WIDE], room=60).constant == []


@pytest.mark.parametrize(("room", "cells"), [(80, "folded"), (100, "whole"), (120, "folded")])
def test_every_word_has_room(room, cells):
    long = ["category", "x" * 200, "y" * 199]
    for columns in ([long, *WIDE], [*WIDE, long], [long, long, long], [long], [WIDE[0]] * 30):
        layout = fitted(columns, room=room, cells=cells)
        assert max(widths(layout)) <= room
        for column, width in itertools.chain(*layout.blocks):
            words = [word for text in layout.texts[column] for word in text.split()]
            assert max(map(cell_len, words)) <= width
        assert {column for block in layout.blocks for column, _ in block} | {*layout.constant} == set(
            range(len(columns))
        )


def test_whole_cells_are_not_folded():
    layout = fitted(WIDE, room=60, optional=[1, 4], cells="whole")
    assert dict(layout.blocks[0])[3] == len(WIDE[3][1])
