import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from function_worlds import QUICK, features_of, texts_of

from headcats.base.errors import DataError
from headcats.models.head import Head
from headcats.papers.function_probe import seed as function_seed
from headcats.papers.function_probe.classifier import head_importance
from headcats.papers.function_probe.features import HeadFeatures
from headcats.papers.function_probe.importance import labelled
from headcats.papers.function_probe.seed import SeedResult, probe_seed
from headcats.papers.function_probe.splits import held_out_texts
from headcats.papers.function_probe.summary import (
    NOT_TESTED,
    SEPARATES_FUNCTIONS,
    SEPARATES_TASKS,
    accuracies,
    seed_agreement,
    sentences,
    verdict,
)
from headcats.statistics.accuracy import clustered_accuracy

FUNCTIONS = ("a", "b", "c", "d")
GRID = {"layer": [0, 1, 2], "head": [0, 1, 2, 3]}
PLANTED = {Head(0, 3): "a", Head(1, 1): "b", Head(2, 0): "c", Head(2, 2): "d"}


def carrying(**options: Any) -> HeadFeatures:
    """One head carries every function."""
    return features_of(texts_of(FUNCTIONS, **options), {Head(1, 1): dict.fromkeys(FUNCTIONS, 9.0)})


@pytest.fixture(scope="module")
def found() -> SeedResult:
    """The first seed of a probe of these features; never changed."""
    return probe_seed(carrying(), FUNCTIONS, settings=QUICK, seed=0, probe=0)


def test_a_head_that_alone_carries_a_function_ranks_first_for_it() -> None:
    features = features_of(texts_of(FUNCTIONS, n=60), {head: {name: 5.0} for head, name in PLANTED.items()})
    first = dict.fromkeys(FUNCTIONS, 0)
    for probe in range(1, 4):
        found = probe_seed(features, FUNCTIONS, settings=QUICK, seed=0, probe=probe)
        for head, name in PLANTED.items():
            best = features.heads[int(np.abs(found.importance[FUNCTIONS.index(name)]).argmax())]
            first[name] += best == head
    assert all(times >= 2 for times in first.values()), first


def test_the_probe_of_words_reads_words_and_is_compared_on_the_held_out_items() -> None:
    texts = texts_of(FUNCTIONS, tasks=1)
    features = features_of(texts, {head: {name: 5.0} for head, name in PLANTED.items()})
    silent = probe_seed(features, FUNCTIONS, settings=QUICK, seed=0, probe=0)
    assert silent.words.low < 0.25 < silent.words.high < silent.accuracy.low
    assert silent.words_p < 1e-3
    told = torch.tensor([FUNCTIONS.index(text.category) for text in texts])
    words = features.words + 6 * torch.nn.functional.one_hot(told, features.words.shape[1]).float()
    telling = probe_seed(replace(features, words=words), FUNCTIONS, settings=QUICK, seed=0, probe=0)
    assert telling.words.share > 0.9
    assert telling.words_p > 0.05
    np.testing.assert_array_equal(telling.importance, silent.importance)  # words change nothing of the heads
    constant = probe_seed(replace(features, words=torch.zeros_like(words)), FUNCTIONS, settings=QUICK, seed=0, probe=0)
    assert constant.words.share == pytest.approx(0.25, abs=0.05)  # a guess


def test_the_summary_says_whether_heads_say_more_than_words() -> None:
    features = features_of(texts_of(FUNCTIONS), {head: {name: 5.0} for head, name in PLANTED.items()})
    results = {probe: probe_seed(features, FUNCTIONS, settings=QUICK, seed=0, probe=probe) for probe in (1, 2)}
    block = labelled(features, FUNCTIONS, results, axes=GRID)
    assert block.word_accuracy.dims == block.word_p.dims == ("seed",)
    assert (block.word_low < block.word_accuracy).all()
    (line,) = [line for line in sentences(block) if "words alone" in line]
    assert "say more" in line
    worse = block.assign(word_accuracy=block.accuracy + 0.01)
    assert any("say less" in line for line in sentences(worse))
    for unclear in (block.assign(word_p=block.word_p + 0.06), block.assign(word_accuracy=block.accuracy)):
        assert any("is not shown" in line for line in sentences(unclear))


def test_too_few_items_are_called_that() -> None:
    """All right on four items is no more than guessing between two functions may give."""
    features = features_of(texts_of(("a", "b"), n=10), {Head(0, 3): {"a": 50.0}, Head(1, 1): {"b": 50.0}})
    with pytest.raises(DataError, match=r"1\.000 of.*4 query") as found:
        probe_seed(features, ("a", "b"), settings=QUICK, seed=0, probe=0)
    assert "above chance" not in str(found.value)


def test_tasks_that_differ_without_their_functions_are_told_from_functions() -> None:
    texts = texts_of(FUNCTIONS, n=60)
    tasks = sorted({text.task for text in texts})
    alone = features_of(texts, {Head(1, 1): dict.fromkeys(tasks, 12.0)}, by="task")
    shared = features_of(texts, {Head(1, 1): dict.fromkeys(FUNCTIONS, 12.0)})
    verdicts = []
    for features in (alone, shared):
        found = probe_seed(features, FUNCTIONS, settings=QUICK, seed=0, probe=0)
        assert found.accuracy.low > found.chance == pytest.approx(0.25)
        assert set(found.by_task) == {(task.split()[0], task) for task in tasks}
        block = labelled(features, FUNCTIONS, {0: found}, axes=GRID)
        verdicts.append(block.attrs["verdict"])
        assert any(block.attrs["verdict"] in line for line in sentences(block))
    assert verdicts == [SEPARATES_TASKS, SEPARATES_FUNCTIONS]


def test_texts_of_one_item_are_one_observation() -> None:
    texts = [replace(text, item=f"{text.category} {number // 4}") for number, text in enumerate(texts_of(FUNCTIONS))]
    features = features_of(texts, {Head(1, 1): dict.fromkeys(FUNCTIONS, 9.0)})
    found = probe_seed(features, FUNCTIONS, settings=replace(QUICK, left_out_seeds=0), seed=0, probe=0)
    assert found.accuracy.share > 0.9
    # 8 held-out items of 4 texts each: as 8 texts, if all are right.
    held_out = held_out_texts(features.texts, FUNCTIONS, folds=QUICK.folds, seed=0, probe=0)
    items = np.array([text.item for text in texts])[held_out]
    assert len(set(items)) == len(items) / 4
    assert found.accuracy.low <= clustered_accuracy(np.ones(len(items), dtype=bool), items).low + 1e-9


def test_only_the_first_seeds_are_tested_on_left_out_tasks() -> None:
    features = carrying()
    done: list[tuple[float, str]] = []
    first, second = (
        probe_seed(features, FUNCTIONS, settings=QUICK, seed=0, probe=probe, advance=lambda *step: done.append(step))
        for probe in (0, 1)
    )
    assert first.left_out.share > 0.9
    assert first.left_out_chance == pytest.approx(0.25)
    assert math.isnan(second.left_out.share)
    assert not second.by_task
    assert [what.partition(" tasks ")[2] for what in dict(map(reversed, done))] == ["", "1 of 2", "2 of 2"]
    assert [share for share, _ in done][-1] == 1.0
    assert all(0 < share <= 1 for share, _ in done)
    block = labelled(features, FUNCTIONS, {0: first, 1: second}, axes=GRID)
    assert verdict(block) == "separates functions"
    assert float(seed_agreement(block).mean()) > 0.3


def test_functions_of_one_task_each_are_not_tested_across_tasks() -> None:
    features = carrying(tasks=1)
    found = probe_seed(features, FUNCTIONS, settings=QUICK, seed=0, probe=0)
    block = labelled(features, FUNCTIONS, {0: found}, axes=GRID)
    assert block.attrs["verdict"] == NOT_TESTED
    (sentence,) = [line for line in sentences(block) if NOT_TESTED in line]
    assert sentence.endswith("(none).")
    twice = texts_of(FUNCTIONS[:1]) + texts_of(FUNCTIONS[1:], tasks=1)
    found = probe_seed(
        features := features_of(twice, {Head(1, 1): dict.fromkeys(FUNCTIONS, 9.0)}),
        FUNCTIONS,
        settings=QUICK,
        seed=0,
        probe=0,
    )
    block = labelled(features, FUNCTIONS, {0: found}, axes=GRID)
    assert [line.endswith("(a).") for line in sentences(block) if NOT_TESTED in line] == [True]


def test_chance_is_the_mean_of_the_probes_as_in_figures(found: SeedResult) -> None:
    features = carrying()
    other = replace(found, chance=0.35, left_out_chance=0.45)
    block = labelled(features, FUNCTIONS, {0: found, 1: other}, axes=GRID)
    first, left_out, *_ = sentences(block)
    assert "chance 0.300, mean" in first
    assert "chance 0.350, mean" in left_out
    assert "(chance 0.300)" in accuracies(block)[0]
    alone = labelled(features, FUNCTIONS, {0: found}, axes=GRID)
    assert sentences(alone)[0].endswith("chance 0.250).")


def test_a_seed_at_chance_decides_the_verdict_and_missing_heads_are_nan(found: SeedResult) -> None:
    features = carrying()
    poor = SeedResult(**{**vars(found), "chance": 1.0})
    block = labelled(features, FUNCTIONS, {0: found, 1: poor}, axes={"layer": [0, 1, 2], "head": [0, 1, 2, 3, 4]})
    assert block.attrs["verdict"] == "not above chance"
    assert verdict(block, n_seeds=2 * block.sizes["seed"]) == "too few seeds"
    assert block.importance.sel(head=4).isnull().all()
    assert block.importance.sel(head=range(4)).notnull().all()
    np.testing.assert_array_equal(
        block.importance.sel(seed=0, layer=1, head=2), found.importance[:, features.heads.index(Head(1, 2))]
    )


def test_importance_is_read_on_held_out_texts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    features = carrying()
    read: list[torch.Tensor] = []

    def reading(probe: Any, values: torch.Tensor, classes: torch.Tensor, *, n_classes: int) -> torch.Tensor:
        read.append(values)
        return head_importance(probe, values, classes, n_classes=n_classes)

    monkeypatch.setattr(function_seed, "head_importance", reading)
    probe_seed(features, FUNCTIONS, settings=QUICK, seed=0, probe=1)
    held_out = held_out_texts(features.texts, FUNCTIONS, folds=QUICK.folds, seed=0, probe=1)
    assert torch.equal(read[0], features.values[torch.from_numpy(held_out)])
