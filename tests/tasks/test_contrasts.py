"""Finished prompts from templates, and the contract of every bundled suite of them."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from tokenizer_zoo import ZOO

from headcats import registry
from headcats.prompts.encode import encode_pairs
from headcats.prompts.near_duplicates import near_duplicates
from headcats.prompts.pair import Span
from headcats.tasks.contrasts import contrast, distinct_prompts
from headcats.tasks.suites import suite

SUITES = ("induction", "ioi", "greater_than", "agreement")
TASKS = {task.name: task for name in SUITES for task in suite(name).tasks}
N_PROMPTS = 1024


@pytest.fixture(scope="session", params=ZOO)
def tokenizer(request):
    """Each of the zoo, trained once."""
    return ZOO[request.param]()


def test_clean_and_corrupted_differ_in_the_changed_fields():
    pair = contrast(
        "The {a} by {b}", {"a": "dogs", "b": "it"}, {"a": "dog"}, item="dog", answers=("are", "is"), of="number"
    )
    assert (pair.clean, pair.corrupted) == ("The dogs by it", "The dog by it")
    assert (pair.answer, pair.distractor, pair.distractor_task) == (" are", " is", "number")
    assert pair.roles == {"a": (Span(4, 8), Span(4, 7)), "b": (Span(12, 14), Span(11, 13))}


def test_cases_take_turns_until_nothing_is_new():
    draws = np.random.default_rng(0)

    def write(case):
        return contrast(
            "{case} {x}", {"case": case, "x": str(draws.integers(5))}, {"x": "9"}, item=case, answers=("a", "b"), of="x"
        )

    prompts = distinct_prompts(100, draws, cases=["u", "v"], write=write)
    assert {pair.clean for pair in prompts} == {f"{case} {x}" for case in "uv" for x in range(5)}
    assert {pair.item for pair in prompts[:2]} == {"u", "v"}


@pytest.mark.parametrize("name", TASKS)
class TestEveryTask:
    def test_has_as_many_different_prompts_as_asked_for(self, name: str) -> None:
        for n in (1, 64, N_PROMPTS):
            pairs = TASKS[name].pairs(n, seed=3)
            assert len({pair.clean for pair in pairs}) == len(pairs) == n
            assert pairs == TASKS[name].pairs(N_PROMPTS, seed=3)[:n]
        assert pairs != TASKS[name].pairs(N_PROMPTS, seed=4)

    def test_names_its_source_and_shows_an_example(self, name: str) -> None:
        task = TASKS[name]
        assert task.source
        assert task.suite in SUITES
        assert task.__doc__.count("`") >= 4

    def test_items_are_cases(self, name: str) -> None:
        pairs = TASKS[name].pairs(N_PROMPTS, seed=0)
        assert near_duplicates(pairs) == []
        first = [pair.item for pair in pairs[:64]]
        assert len(set(first)) >= 60
        assert max(Counter(pair.item for pair in pairs).values()) <= 12

    def test_roles_hold_all_that_differs(self, name: str) -> None:
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

    def test_is_written_by_every_tokenizer(self, name: str, tokenizer) -> None:
        report = encode_pairs(TASKS[name].pairs(100, seed=0), tokenizer)[1]
        assert (report.kept, report.dropped) == (100, {})


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_is_registered_with_its_tasks(name):
    assert name in registry.names("suite")
    assert len(suite(name).tasks) >= 3
    assert {task.suite for task in suite(name).tasks} == {name}
