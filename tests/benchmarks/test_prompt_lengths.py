"""The benchmark of prompt lengths compares the same number of prompts."""

import prompt_lengths
import pytest
from sweep_speed.shapes import SHAPES

pytestmark = pytest.mark.ci


def test_there_are_as_many_prompts_of_every_length():
    for lengths in (1, 4, 8):
        work = prompt_lengths.batches(SHAPES["tiny"], prompts=8, lengths=lengths)
        assert [len(batch) for batch in work] == [8 // lengths] * lengths
        assert len({batch.length for batch in work}) == lengths
        assert abs(sum(batch.length for batch in work) / lengths - SHAPES["tiny"].length) <= 0.5


def test_a_row_for_each_number_of_lengths(capsys):
    prompt_lengths.main(["--shape", "tiny", "--prompts", "4", "--repeat", "1", "--threads", "1"])
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[:2] for row in rows] == [["1", "lengths:"], ["4", "lengths:"]]
