"""The suite `ioi`: two names, one of them twice; the corruption repeats the other one."""

import re

from for_each import for_each

from headcats.papers.known_circuits.ioi import NAMES
from headcats.tasks.suites import suite

TASKS = {task.name: task for task in suite("ioi").tasks}


def names_of(text):
    return [word for word in re.findall(r"\w+", text) if word in NAMES]


@for_each("name", TASKS)
def test_the_third_name_decides(name):
    for pair in TASKS[name].pairs(200, seed=0):
        clean, corrupted = names_of(pair.clean), names_of(pair.corrupted)
        assert clean[:2] == corrupted[:2]
        assert {clean[2], corrupted[2]} == set(clean[:2])
        assert pair.distractor == f" {clean[2]}"  # repeated in the clean prompt
        assert pair.answer == f" {corrupted[2]}"
        assert set(pair.item.split(" and ")) == set(clean)
        roles = {role: pair.clean[slice(*span)] for role, (span, _) in pair.roles.items()}
        assert (roles["io"], roles["s1"], roles["s2"]) == (corrupted[2], clean[2], clean[2])
        assert pair.clean.endswith(roles["end"])
        assert (clean[0] == clean[2]) == name.endswith("baba")


def test_either_name_is_the_answer_in_turn():
    pairs = TASKS["ioi_give_abba"].pairs(500, seed=0)
    first = sum(pair.answer == f" {pair.item.split(' and ')[0]}" for pair in pairs)
    assert 200 < first < 300
    assert len(set(NAMES)) == len(NAMES) == 36
