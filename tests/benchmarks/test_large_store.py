"""A small version of the large store: what it prints is measured, and scoring an opened folder reads what it scores."""

import large_store
import pytest

from headcats.results.compact import COMPACT, WHOLE
from headcats.results.loading import load, open_results
from headcats.results.place import find_place
from headcats.scores.scoring import score

pytestmark = pytest.mark.ci


def test_every_number_is_measured(capsys):
    numbers = large_store.main(["--layers", "8", "--heads", "8", "--tasks", "4", "--methods", "2", "--prompts", "128"])
    assert numbers[COMPACT]["size"] < numbers[WHOLE]["size"]
    assert len(numbers[COMPACT]["losses"]) == 8
    assert all(0 < loss.mean < loss.largest < 0.01 for loss in numbers[COMPACT]["losses"])
    for store in (WHOLE, COMPACT):
        assert numbers[store]["read"]["peak"] > 0
    printed = capsys.readouterr().out
    assert "ten small files" in printed
    assert "8 of 8 blocks" in printed


def test_scores_of_an_opened_folder_are_those_of_its_tree_and_hardly_others_are_read(tmp_path, monkeypatch):
    large_store.write(tmp_path / "r", (4, 4), tasks=3, methods=3, prompts=32, store=COMPACT)
    run, read = open_results(find_place(tmp_path / "r")), []
    block = type(run).block
    monkeypatch.setattr(type(run), "block", lambda run, *key: read.append(key) or block(run, *key))
    scores = score(run, method="noising_patch")
    others = [label for _, label in read if label != "noising_patch@last"]
    assert len(others) == len(set(others))  # one of each other method, for what it declares
    assert {task for task, label in read if label == "noising_patch@last"} == {"task0", "task1", "task2"}
    assert scores.identical(score(load(tmp_path / "r"), method="noising_patch"))
