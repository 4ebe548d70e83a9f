"""A small version of the plan that is held against the run: memory within a fifth; time is for a quiet machine."""

import re
import sys

import planned
import pytest
import torch
from sweep_speed.shapes import SHAPES

from headcats.prompts.pair import PromptPair

pytestmark = pytest.mark.ci


def test_the_memory_that_validate_tells_is_what_a_run_takes(capsys):
    planned.main(["--shape", "tiny-gqa", "--tasks", "2", "--prompts", "16"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "planned.py", "Memory", "Time", "tensors", *(["process"] if sys.platform == "linux" else []), "time",
    ]  # fmt: skip
    share = re.search(r"([\d.]+) of what was planned", lines[3])
    assert 0.8 <= float(share[1]) <= 1.2


def test_the_words_of_the_lines_are_read():
    lines = [
        "Memory: about 1.2 GB beside 3 MB of weights, as a part of it took; sweeps at most 2.0 GB: 1 prompt",
        "Time: 5 min",
    ]
    assert planned.planned(lines) == (1.2e9, 300)


def test_the_model_gives_the_answers_of_its_tasks():
    shape = SHAPES["tiny-gqa"]
    model = planned.random_word_model(shape)
    pairs = planned.own_task(model, shape, 0, prompts=4).pairs(1000, seed=0)
    assert len(pairs) >= 4 + 100
    assert all(isinstance(pair, PromptPair) for pair in pairs)
    first = pairs[0]
    for text, answer in ((first.clean, first.answer), (first.corrupted, first.distractor)):
        ids = [0, *(int(word[1:]) for word in text.split())]
        assert len(ids) == shape.length
        assert model.tokenizer(text)["input_ids"] == ids[1:]
        assert 2 + int(model.logits(torch.tensor([ids]))[0, 2:].argmax()) == int(answer.strip()[1:])
