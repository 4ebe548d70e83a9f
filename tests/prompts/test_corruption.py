"""The two corruptions: what stays, what changes, and how evenly prompts are spread."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.errors import DataError, UnknownNameError
from headcats.prompts.corruption import build_pairs, distractor_tasks
from headcats.prompts.second_corruption import derange
from headcats.prompts.template import ARROW, QUESTION

WORDS = [f"w{i}" for i in range(24)]
OWN = [(word, f"own-{word}") for word in WORDS]
OTHERS = {
    "red": [(word, f"red-{word}") for word in WORDS],
    "blue": [(word, f"blue-{word}") for word in WORDS[:14]] + [("elsewhere", "x")],
    "green": [(word, f"green-{word}") for word in WORDS[8:]],
    "few": [(word, f"few-{word}") for word in WORDS[:7]],
    "same": OWN,
}


def build(n=48, *, task="mine", pairs=OWN, others=OTHERS, seed=0, template=ARROW, n_demos=3, corruption="other_task"):
    return build_pairs(task, pairs, others, n=n, seed=seed, template=template, n_demos=n_demos, corruption=corruption)


def parts(text):
    """Demonstrations and query of a prompt in the arrow template."""
    *lines, query = text.split("\n")
    return [tuple(line.split(" → ")) for line in lines], query.removesuffix(" →")


# ------------------------------------------------------------------------------------------------- other_task
def test_other_task_keeps_inputs_and_shows_the_other_answers():
    for pair in build():
        (clean, query), (corrupted, corrupted_query) = parts(pair.clean), parts(pair.corrupted)
        other = dict(OTHERS[pair.distractor_task])
        assert [x for x, _ in clean] == [x for x, _ in corrupted]
        assert query == corrupted_query == pair.item
        assert query not in [x for x, _ in clean]
        assert len({x for x, _ in clean}) == 3
        assert all(y == dict(OWN)[x] for x, y in clean)
        assert all(y == other[x] for x, y in corrupted)
        assert all(a != b for (_, a), (_, b) in zip(clean, corrupted, strict=True))
        assert pair.answer == f" own-{query}"
        assert pair.distractor == f" {other[query]}"


def test_only_tasks_with_enough_shared_inputs_and_other_answers_are_shown():
    assert list(distractor_tasks(dict(OWN), OTHERS, n_demos=3)) == ["blue", "green", "red"]
    assert list(distractor_tasks(dict(OWN), OTHERS, n_demos=6)) == ["blue", "green", "red"]
    assert list(distractor_tasks(dict(OWN), OTHERS, n_demos=7)) == ["green", "red"]
    assert distractor_tasks(dict(OWN), {"half": [("w0", "own-w0"), ("w1", "x")]}, n_demos=0) == {}
    # An input that both tasks answer alike is left out.
    half = {"half": [("w0", "own-w0"), ("w1", "x"), ("w2", "y")]}
    assert distractor_tasks(dict(OWN), half, n_demos=0) == {"half": {"w1": "x", "w2": "y"}}


@pytest.mark.parametrize("n", [3, 30, 48])
def test_every_run_of_prompts_holds_each_distractor_task_once(n):
    names = [pair.distractor_task for pair in build(n)]
    assert all(set(names[start : start + 3]) == {"red", "blue", "green"} for start in range(0, n, 3))


def test_queries_repeat_as_late_as_they_can_within_a_distractor_task():
    built = build(120)
    for name in ("red", "blue", "green"):
        queries = [pair.item for pair in built if pair.distractor_task == name]
        shared = {x for x, _ in OTHERS[name]} & set(WORDS)
        for start in range(0, len(queries) - len(shared) + 1, len(shared)):
            assert len(set(queries[start : start + len(shared)])) == len(shared)
        counts = Counter(queries)
        assert max(counts.values()) - min(counts.get(word, 0) for word in shared) <= 1


def test_prompts_are_different_and_have_unique_keys():
    built = build(100)
    assert len({pair.clean for pair in built}) == len({pair.key for pair in built}) == 100
    assert built[7].key == "mine/7"


def test_the_first_prompts_do_not_depend_on_how_many_are_asked_for():
    assert build(48)[:12] == build(12)


def test_order_of_tasks_and_words_does_not_matter():
    turned = {name: list(reversed(OTHERS[name])) for name in reversed(OTHERS)}
    assert build(pairs=list(reversed(OWN)), others=turned) == build()


def test_tasks_that_share_nothing_change_nothing():
    assert build(others=OTHERS | {"far": [("p", "q")]}) == build()


@pytest.mark.parametrize("change", [{"seed": 1}, {"task": "yours"}, {"n_demos": 2}, {"template": QUESTION}])
def test_everything_else_changes_the_prompts(change):
    assert [pair.clean for pair in build(**change)] != [pair.clean for pair in build()]


def test_too_few_shared_inputs_names_the_task_and_the_number():
    with pytest.raises(DataError, match=r"'mine' .* 8 .*'shuffled_labels'"):
        build(others={"few": OTHERS["few"]})
    with pytest.raises(DataError, match=r"'mine' .* fewer than 8"):
        build(others={})


def test_too_few_different_prompts_is_an_error_and_not_a_hang():
    pairs = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]
    with pytest.raises(DataError, match=r"'mine' gives only 12 .*; 13"):
        build(13, pairs=pairs, others={"o": [(x, y + "0") for x, y in pairs]}, n_demos=1)


# --------------------------------------------------------------------------------------------- shuffled_labels
FEW_LABELS = [(word, "AB"[i % 2]) for i, word in enumerate(WORDS)]


@pytest.mark.parametrize("pairs", [OWN, FEW_LABELS], ids=["many", "two"])
@pytest.mark.parametrize("n_demos", [2, 5, 8])
def test_shuffled_labels_are_a_permutation_that_moves_all_it_can(pairs, n_demos):
    for pair in build(40, pairs=pairs, n_demos=n_demos, corruption="shuffled_labels"):
        (clean, query), (corrupted, corrupted_query) = parts(pair.clean), parts(pair.corrupted)
        assert query == corrupted_query == pair.item
        assert [x for x, _ in clean] == [x for x, _ in corrupted]
        labels, shuffled = ([y for _, y in demonstrations] for demonstrations in (clean, corrupted))
        assert labels == [dict(pairs)[x] for x, _ in clean]
        assert sorted(labels) == sorted(shuffled)
        # As few fixed points as the most frequent label allows.
        fixed_points = sum(a == b for a, b in zip(labels, shuffled, strict=True))
        assert fixed_points == max(0, 2 * max(Counter(labels).values()) - n_demos)
        assert pair.answer == f" {dict(pairs)[query]}"
        assert pair.distractor.removeprefix(" ") in labels
        assert pair.distractor != pair.answer
        assert pair.distractor_task == "shuffled_labels"


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=12), st.integers(0, 9))
def test_a_shuffle_moves_as_many_labels_as_can_be_moved(labels, seed):
    moved = derange(labels, np.random.default_rng(seed))
    assert Counter(moved) == Counter(labels)
    fixed_points = sum(a == b for a, b in zip(moved, labels, strict=True))
    assert fixed_points == max(0, 2 * max(Counter(labels).values()) - len(labels))


def test_shuffles_that_chance_hardly_finds_are_found():
    """Ten of each: one permutation in 184,756 moves every label."""
    labels = ["a"] * 10 + ["b"] * 10
    assert derange(labels, np.random.default_rng(0)) == ["b"] * 10 + ["a"] * 10


def test_shuffled_queries_are_spread_evenly():
    counts = Counter(pair.item for pair in build(60, corruption="shuffled_labels"))
    assert max(counts.values()) - min(counts.get(word, 0) for word in WORDS) <= 1


def test_shuffled_labels_need_no_other_task():
    assert build(others={}, corruption="shuffled_labels") == build(corruption="shuffled_labels")


@pytest.mark.parametrize(
    ("pairs", "n_demos"), [(OWN, 1), (OWN[:5], 5), ([(word, "A") for word in WORDS], 5)], ids=["one", "few", "constant"]
)
def test_what_cannot_be_shuffled_is_refused_by_name(pairs, n_demos):
    with pytest.raises(DataError, match=f"'mine' has {len(pairs)} pairs"):
        build(pairs=pairs, n_demos=n_demos, corruption="shuffled_labels")


def test_an_unknown_corruption_lists_near_matches():
    with pytest.raises(UnknownNameError, match="mean 'other_task'"):
        build(corruption="other_tasks")


@pytest.mark.parametrize("corruption", ["other_task", "shuffled_labels"])
def test_roles_name_the_same_pieces_in_both_prompts(corruption):
    for pair in build(6, corruption=corruption):
        clean, query = parts(pair.clean)
        corrupted, _ = parts(pair.corrupted)
        for number, (shown, replaced) in enumerate(zip(clean, corrupted, strict=True), start=1):
            spans = pair.roles[f"y{number}"]
            assert pair.clean[slice(*spans[0])] == f" {shown[1]}"
            assert pair.corrupted[slice(*spans[1])] == f" {replaced[1]}"
        assert pair.clean[slice(*pair.roles["x_query"][0])] == query
