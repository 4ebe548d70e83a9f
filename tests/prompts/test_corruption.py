"""The two corruptions: what stays, what changes, and how evenly prompts are spread."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headcats.base.errors import DataError, UnknownNameError
from headcats.prompts.corruption import build_pairs, derange, distractor_tasks
from headcats.prompts.pair import SecondCorruption, Span
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
    # An input that both tasks answer alike is left out.
    different = {f"w{i}": f"x{i}" for i in range(1, 5)}
    half = [("w0", "own-w0"), *different.items()]
    assert distractor_tasks(dict(OWN), {"half": half}, n_demos=1) == {"half": different}
    assert distractor_tasks(dict(OWN), {"half": half[:4]}, n_demos=1) == {}
    # Without demonstrations no prompt shows a task.
    assert distractor_tasks(dict(OWN), OTHERS, n_demos=0) == {}


def test_queries_repeat_as_late_as_they_can_within_a_distractor_task():
    built = build(120)
    for name in ("red", "blue", "green"):
        queries = [pair.item for pair in built if pair.distractor_task == name]
        shared = {x for x, _ in OTHERS[name]} & set(WORDS)
        for start in range(0, len(queries) - len(shared) + 1, len(shared)):
            assert len(set(queries[start : start + len(shared)])) == len(shared)
        counts = Counter(queries)
        assert max(counts.values()) - min(counts.get(word, 0) for word in shared) <= 1


def test_the_first_prompts_do_not_depend_on_how_many_are_asked_for():
    assert build(48)[:12] == build(12)


def test_order_of_tasks_and_words_and_tasks_that_share_nothing_do_not_matter():
    turned = {name: list(reversed(OTHERS[name])) for name in reversed(OTHERS)}
    assert build(pairs=list(reversed(OWN)), others=turned | {"far": [("p", "q")]}) == build()


def test_everything_else_changes_the_prompts():
    for change in ({"seed": 1}, {"task": "yours"}, {"n_demos": 2}, {"template": QUESTION}):
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


@pytest.mark.parametrize(
    ("pairs", "n_demos"), [(OWN, 5), (FEW_LABELS, 2), (FEW_LABELS, 5)], ids=["many", "two of two", "two of five"]
)
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
@example(["a"] * 10 + ["b"] * 10, 0)  # one permutation in 184,756 moves every label
def test_a_shuffle_moves_as_many_labels_as_can_be_moved(labels, seed):
    moved = derange(labels, np.random.default_rng(seed))
    assert Counter(moved) == Counter(labels)
    fixed_points = sum(a == b for a, b in zip(moved, labels, strict=True))
    assert fixed_points == max(0, 2 * max(Counter(labels).values()) - len(labels))


def test_shuffled_queries_are_spread_evenly():
    built = build(60, others={}, corruption="shuffled_labels")  # which need no other task
    counts = Counter(pair.item for pair in built)
    assert max(counts.values()) - min(counts.get(word, 0) for word in WORDS) <= 1


def test_what_cannot_be_shuffled_is_refused_by_name():
    for pairs, n_demos in ((OWN, 1), (OWN[:5], 5), ([(word, "A") for word in WORDS], 5)):
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
        if pair.second is not None:
            assert list(pair.second.roles) == list(pair.roles)
            for number, (word, output) in enumerate(parts(pair.second.text)[0], start=1):
                assert pair.second.text[slice(*pair.second.roles[f"x{number}"])] == word
                assert pair.second.text[slice(*pair.second.roles[f"y{number}"])] == f" {output}"


# Hashes of the pairs that this project built before there was a second corruption.
FROZEN = {"other_task": "6cce9e61cc22fb07", "shuffled_labels": "c752280c12892f7a"}


def fields(pair):
    roles = tuple((role, *map(tuple, spans)) for role, spans in pair.roles.items())
    return (
        pair.key, pair.item, pair.clean, pair.corrupted, pair.answer, pair.distractor, pair.distractor_task, roles
    )  # fmt: skip


def labels(text):
    return [y for _, y in parts(text)[0]]


@pytest.mark.parametrize("corruption", FROZEN)
def test_the_pairs_are_those_there_were_without_it(corruption):
    text = repr([fields(pair) for pair in build(48, corruption=corruption)])
    assert hashlib.blake2b(text.encode(), digest_size=8).hexdigest() == FROZEN[corruption]


def test_it_shows_another_distractor_task_on_the_same_inputs():
    for pair in build(96):
        (clean, query), (second, second_query) = parts(pair.clean), parts(pair.second.text)
        assert second_query == query
        assert [x for x, _ in second] == [x for x, _ in clean]
        third_task = pair.second.distractor_task
        assert third_task.removeprefix("labels of ") in {"red", "blue", "green", "few"} - {pair.distractor_task}
        rows = zip(labels(pair.clean), labels(pair.corrupted), labels(pair.second.text), strict=True)
        if not third_task.startswith("labels of "):
            assert all(len(set(row)) == 3 for row in rows)
            assert labels(pair.second.text) == [dict(OTHERS[third_task])[x] for x, _ in clean]


def test_every_task_that_fits_is_taken_and_others_never():
    counts = Counter(pair.second.distractor_task for pair in build(96) if pair.distractor_task == "blue")
    # red answers all words, green those from w8 on, so not always all the demonstrated ones.
    assert counts["red"] > counts["green"] > 0
    assert set(counts) == {"red", "green"}
    alike = OTHERS | {"red2": [(x, y if i % 2 else "other") for i, (x, y) in enumerate(OTHERS["red"])]}
    for pair in build(96, others=alike):
        if {pair.distractor_task, pair.second.distractor_task} == {"red", "red2"}:
            assert not {x for x, _ in parts(pair.clean)[0]} & {f"w{i}" for i in range(1, 24, 2)}


def test_without_another_task_it_shows_words_of_a_task_on_other_inputs():
    far = [(f"far{i}", f"far-y{i}") for i in range(9)]
    others = {"red": OTHERS["red"], "far": far, "mine_too": [("a", "own-w1"), *far], "red_too": [("b", "red-w2"), *far]}
    for pair in build(40, others=others):
        # Never words of a task that gives an output of this task or of the first corruption.
        assert pair.second.distractor_task == "labels of far"
        words = labels(pair.second.text)
        assert set(words) <= {y for _, y in far}
        assert len(set(words)) == len(words)
        assert [x for x, _ in parts(pair.second.text)[0]] == [x for x, _ in parts(pair.clean)[0]]
    assert len({tuple(labels(pair.second.text)) for pair in build(40, others=others)}) > 20


@pytest.mark.parametrize("pairs", [OWN, FEW_LABELS], ids=["many", "two"])
def test_shuffled_labels_are_shuffled_in_yet_another_way(pairs):
    for pair in build(40, pairs=pairs, n_demos=6, corruption="shuffled_labels"):
        if pair.second is None:
            assert pairs is FEW_LABELS  # three of each: there is one way to exchange them all
            assert Counter(labels(pair.clean)) == {"A": 3, "B": 3}
            continue
        assert pair.second.distractor_task == "shuffled_labels"
        assert sorted(labels(pair.second.text)) == sorted(labels(pair.clean))
        assert len({tuple(labels(text)) for text in (pair.clean, pair.corrupted, pair.second.text)}) == 3


def test_where_none_can_be_made_there_is_none():
    # The task's own outputs in another order would carry the task along: no control.
    assert all(pair.second is None for pair in build(8, others={"red": OTHERS["red"]}))
    few = {"red": OTHERS["red"], "few": [("a", "x"), ("b", "y")]}
    assert all(pair.second is None for pair in build(8, others=few))
    assert all(pair.second is None for pair in build(8, n_demos=2, corruption="shuffled_labels"))


def test_it_has_a_stream_of_its_own_and_depends_on_the_seed():
    others = {name: [(x, f"{y}-{name}") for x, y in OWN] for name in "abcd"}
    one, two = ([pair.second.distractor_task for pair in build(24, others=others, seed=seed)] for seed in (0, 1))
    assert one != two
    # What A shows does not tell what B shows: every other task comes beside each, about as often.
    counts = Counter(
        (pair.distractor_task, pair.second.distractor_task) for pair in build(480, others=others, n_demos=5)
    )
    assert set(counts) == {(a, b) for a in others for b in others if a != b}
    assert 20 < min(counts.values()) <= max(counts.values()) < 60  # 40 expected


def test_one_that_cannot_be_is_refused():
    for changes, message in (
        ({"text": ""}, "needs a text"),
        ({"distractor_task": ""}, "a distractor task"),
        ({"roles": {"x1": Span(2, 9)}}, r"'a c q': role 'x1' .*\(2, 9\) .* 5"),
    ):
        with pytest.raises(DataError, match=message):
            SecondCorruption(**({"text": "a c q", "distractor_task": "other"} | changes))
