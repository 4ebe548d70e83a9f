"""The suite `induction`: repeated lists, which the bundled model "mini-cognitive" goes on with."""

from for_each import for_each

import headcats as hc
from headcats.study.validation import validate

TASKS = {task.name: task for task in hc.suite("induction").tasks}


def followed(text):
    """What followed the last word where it stood before; the other words of a list are all different."""
    *before, last = text.split()
    assert before.count(last) == 1
    return before[before.index(last) + 1]


@for_each("name", TASKS)
def test_both_prompts_are_repeated_lists_of_the_same_words(name):
    sizes = set()
    for pair in TASKS[name].pairs(200, seed=2):
        assert pair.answer == f" {followed(pair.clean)}"
        assert pair.distractor == f" {followed(pair.corrupted)}"
        clean, corrupted = pair.clean.split(), pair.corrupted.split()
        assert len(clean) == len(corrupted) == 12
        assert sorted(clean) == sorted(corrupted)
        assert sum(a != b for a, b in zip(clean, corrupted, strict=True)) == 2
        size = len(set(clean))
        sizes.add(size)
        assert clean[size:] == clean[: 12 - size] == corrupted[size:]
        roles = {role: pair.clean[slice(*span)] for role, (span, _) in pair.roles.items()}
        assert f" {roles['followed']}" == pair.answer
        assert roles["query"] == roles["first_query"] == clean[-1]
    assert sizes == {7, 8, 9}


def test_the_bundled_model_solves_it():
    entries = validate("mini-cognitive", suite="induction", n_prompts=12, methods=["denoising_patch"])
    assert [entry["refusal"] for entry in entries.values()] == ["", "", ""]
    for entry in entries.values():
        assert entry["prompts"]["kept"] == 12
        assert entry["accuracy"] >= 0.9
        assert entry["corrupted_accuracy"] <= 0.1
        assert entry["low"] > 20  # nats
