"""An even choice of prompts among candidates, some of which cannot be encoded."""

from collections import Counter

import pytest
import torch

from headcats.prompts.batch import PromptBatch
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import PromptPair
from headcats.study.preparation import choose_even


def pair(number, shown):
    return PromptPair(f"k{number}", f"i{number}", f"c{number}", "x", " a", " b", distractor_task=shown)


def encode(pairs):
    """Drops every pair whose number ends in 7."""
    report, kept = DropReport(), []
    for one in pairs:
        if one.key.endswith("7"):
            report.drop("seven", one.key)
        else:
            kept.append(one)
    report.kept = len(kept)
    if not kept:
        return [], report
    ones = torch.ones(len(kept), 2, dtype=torch.long)
    words = ([one.key for one in kept], [one.item for one in kept], [one.distractor_task for one in kept])
    return [PromptBatch(ones, ones, ones[:, 0], 2 * ones[:, 0], *map(tuple, words))], report


def chosen(pairs, n, strata):
    batches, report = choose_even(iter(pairs), n=n, strata=strata, encode=encode)
    return [key for batch in batches for key in batch.keys], report


def test_each_stratum_gives_in_turn():
    pairs = [pair(number, "abbb"[number % 4]) for number in range(1000)]
    keys, report = chosen(pairs, 10, "ab")
    by_key = {one.key: one.distractor_task for one in pairs}
    assert Counter(by_key[key] for key in keys) == {"a": 5, "b": 5}
    assert keys[:4] == ["k0", "k1", "k4", "k2"]
    assert report.kept == 10
    assert report.dropped["seven"] >= 2
    assert report.examples == {"seven": "k7"}


def test_no_more_is_looked_through_than_needed():
    looked = []

    def pairs():
        for number in range(10_000):
            looked.append(number)
            yield pair(number, "ab"[number % 2])

    keys, _ = chosen(pairs(), 10, "ab")
    assert len(keys) == 10
    assert len(looked) <= 30


def test_a_stratum_without_candidates_leaves_its_share_to_the_others():
    keys, report = chosen([pair(number, "a") for number in range(40)], 9, "ab")
    assert len(keys) == report.kept == 9


@pytest.mark.parametrize("strata", ["", "a"])
def test_candidates_of_no_known_stratum_count_too(strata):
    keys, _ = chosen([pair(number, "xy"[number % 2]) for number in range(6)], 4, strata)
    assert len(keys) == 4


def test_what_there_is_where_there_is_too_little():
    assert chosen([], 4, "ab") == ([], DropReport())
    assert chosen([pair(1, "a"), pair(2, "a")], 0, "a") == ([], DropReport())
    keys, report = chosen([pair(1, "a"), pair(7, "a"), pair(17, "b")], 4, "ab")
    assert keys == ["k1"]
    assert report == DropReport(1, {"seven": 2}, {"seven": "k7"})
