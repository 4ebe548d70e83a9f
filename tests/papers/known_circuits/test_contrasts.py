"""Finished prompts from templates, and the contract of every bundled suite of them."""

import functools
from collections import Counter
from itertools import pairwise

import numpy as np
from for_each import for_each

from headcats.papers.known_circuits.contrasts import contrast, distinct_prompts
from headcats.prompts.pair import PromptPair, Span, near_duplicates
from headcats.tasks.suites import suite

SUITES = ("induction", "ioi", "greater_than", "agreement")
TASKS = {task.name: task for name in SUITES for task in suite(name).tasks}
N_PROMPTS = 1024


@functools.cache
def of_task(name: str) -> list[PromptPair]:
    return TASKS[name].pairs(N_PROMPTS, seed=3)


def test_clean_and_corrupted_differ_in_the_changed_fields():
    pair = contrast(
        "{a} by {b}", {"a": "dogs", "b": "it"}, {"a": "dog"}, item="dog", answers=("are", "is"), of="number"
    )
    assert (pair.clean, pair.corrupted) == ("dogs by it", "dog by it")
    assert (pair.answer, pair.distractor, pair.distractor_task) == (" are", " is", "number")
    assert pair.roles == {"a": (Span(0, 4), Span(0, 3)), "b": (Span(8, 10), Span(7, 9))}


def test_cases_take_turns_until_nothing_is_new():
    draws = np.random.default_rng(0)

    def write(case):
        return contrast(
            "{case} {x}", {"case": case, "x": str(draws.integers(5))}, {"x": "9"}, item=case, answers=("a", "b"), of="x"
        )

    prompts = distinct_prompts(100, draws, cases=["u", "v"], write=write)
    assert {pair.clean for pair in prompts} == {f"{case} {x}" for case in "uv" for x in range(5)}
    assert {pair.item for pair in prompts[:2]} == {"u", "v"}


@for_each("name", TASKS)
def test_has_as_many_different_prompts_as_asked_for(name: str) -> None:
    pairs = of_task(name)
    assert len({pair.clean for pair in pairs}) == len(pairs) == N_PROMPTS
    for n in (1, 64):
        assert TASKS[name].pairs(n, seed=3) == pairs[:n] != TASKS[name].pairs(n, seed=4)


@for_each("name", TASKS)
def test_items_are_cases(name: str) -> None:
    pairs = of_task(name)
    assert near_duplicates(pairs) == []
    first = [pair.item for pair in pairs[:64]]
    assert len(set(first)) >= 60
    assert max(Counter(pair.item for pair in pairs).values()) <= 12


@for_each("name", TASKS)
def test_roles_hold_all_that_differs(name: str) -> None:
    for pair in TASKS[name].pairs(200, seed=1):
        assert pair.answer.strip() != pair.distractor.strip()
        rests = []
        for side, text in enumerate((pair.clean, pair.corrupted)):
            spans = [spans[side] for spans in pair.roles.values()]
            assert spans == sorted(spans)
            kept = [text[stop:start] for (_, stop), (start, _) in pairwise(spans)]
            rests.append([text[: spans[0].start], *kept, text[spans[-1].stop :]])
        assert rests[0] == rests[1]
        assert pair.clean != pair.corrupted
