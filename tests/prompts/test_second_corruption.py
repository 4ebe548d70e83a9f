"""The second corruption of a prompt pair: another wrong task before the same query, without a change to the pair."""

import hashlib
from collections import Counter

import pytest
from prompts.test_corruption import FEW_LABELS, OTHERS, OWN, build, parts

from headcats.errors import DataError
from headcats.prompts.pair import PromptPair, SecondCorruption, Span

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
    built = build(48)
    assert build(96)[:48] == built
    assert build(48, others=dict(reversed(OTHERS.items())), pairs=OWN[::-1]) == built
    others = {name: [(x, f"{y}-{name}") for x, y in OWN] for name in "abcd"}
    one, two = ([pair.second.distractor_task for pair in build(96, others=others, seed=seed)] for seed in (0, 1))
    assert one != two
    # What A shows does not tell what B shows: every other task comes beside each, about as often.
    counts = Counter(
        (pair.distractor_task, pair.second.distractor_task) for pair in build(960, others=others, n_demos=5)
    )
    assert set(counts) == {(a, b) for a in others for b in others if a != b}
    assert 50 < min(counts.values()) <= max(counts.values()) < 110  # 80 expected


def test_roles_name_the_same_pieces():
    for pair in build(6):
        second = parts(pair.second.text)[0]
        assert list(pair.second.roles) == list(pair.roles)
        for number, (given, output) in enumerate(second, start=1):
            assert pair.second.text[slice(*pair.second.roles[f"x{number}"])] == given
            assert pair.second.text[slice(*pair.second.roles[f"y{number}"])] == f" {output}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": ""}, "needs a text"),
        ({"distractor_task": ""}, "a distractor task"),
        ({"roles": {"x1": Span(2, 9)}}, r"'a c q': role 'x1' .*\(2, 9\) of a text of 5"),
    ],
)
def test_one_that_cannot_be_is_refused(changes, message):
    with pytest.raises(DataError, match=message):
        SecondCorruption(**({"text": "a c q", "distractor_task": "other"} | changes))


def test_finished_pairs_may_bring_their_own():
    pair = PromptPair("k", "q", "a b q", "a c q", " x", " y", second=SecondCorruption("a d q", "d"))
    assert pair.second.distractor_task == "d"
    assert PromptPair("k", "q", "a b q", "a c q", " x", " y").second is None
