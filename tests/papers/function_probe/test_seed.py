"""One probe: its training and importance by hand, planted heads, and what it knows of words and tasks."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from function_worlds import QUICK, features_of, texts_of
from torch import nn

from headcats.base.errors import DataError
from headcats.models.head import Head
from headcats.papers.accuracy import clustered_accuracy
from headcats.papers.function_probe import seed as function_seed
from headcats.papers.function_probe.features import HeadFeatures
from headcats.papers.function_probe.fit import labelled
from headcats.papers.function_probe.seed import (
    FunctionClassifier,
    SeedResult,
    fit_classifier,
    head_importance,
    probe_seed,
)
from headcats.papers.function_probe.splits import held_out_texts
from headcats.papers.function_probe.summary import (
    NOT_TESTED,
    SEPARATES_FUNCTIONS,
    SEPARATES_TASKS,
    seed_agreement,
    sentences,
    verdict,
)

FUNCTIONS = ("a", "b", "c", "d")
GRID = {"layer": [0, 1, 2], "head": [0, 1, 2, 3]}
PLANTED = {Head(0, 3): "a", Head(1, 1): "b", Head(2, 0): "c", Head(2, 2): "d"}
THREE = ("a", "b", "c")


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


@pytest.fixture(scope="module")
def world() -> tuple[torch.Tensor, torch.Tensor]:
    texts = texts_of(THREE)
    features = features_of(texts, {Head(1, 2): dict.fromkeys(THREE, 4.0)})
    return features.values, torch.tensor([THREE.index(text.category) for text in texts])


@pytest.fixture(scope="module")
def fitted(world: tuple[torch.Tensor, torch.Tensor]) -> FunctionClassifier:
    return fit_classifier(*world, n_classes=3, settings=QUICK, seed=1)


def test_importance_is_gradient_times_activation_head_by_head_and_text_by_text(
    world: tuple[torch.Tensor, torch.Tensor], fitted: FunctionClassifier
) -> None:
    features, classes = (part[::3] for part in world)
    draws = torch.Generator().manual_seed(0)
    random = tuple(torch.randn(one.shape, generator=draws) / one.shape[-1] ** 0.5 for one in fitted.parameters)
    fitted = FunctionClassifier(fitted.mean, fitted.scale, random)
    weight, bias, hidden_weight, hidden_bias, out_weight, out_bias = fitted.parameters
    literal: dict[tuple[int, int], list[float]] = {}
    for item, c in zip(features, classes.tolist(), strict=True):
        us = [
            (weight @ ((item[head] - fitted.mean[head]) * fitted.scale[head]) + bias).detach().requires_grad_()
            for head in range(len(item))
        ]
        hidden = torch.clamp(hidden_weight @ torch.cat(us) + hidden_bias, min=0)
        logit = out_weight[c] @ hidden + out_bias[c]
        logit.backward()
        for head, u in enumerate(us):
            assert u.grad is not None
            literal.setdefault((c, head), []).append(float(sum(u.grad * u.detach()) / len(u)))
    found = head_importance(fitted, features, classes, n_classes=3)
    for (c, head), values in literal.items():
        assert found[c, head] == pytest.approx(sum(values) / len(values), rel=1e-4, abs=1e-6)
    assert (found < 0).any()  # signed


def test_a_class_without_texts_has_no_importance(
    world: tuple[torch.Tensor, torch.Tensor], fitted: FunctionClassifier
) -> None:
    features, classes = world
    found = head_importance(fitted, features[classes < 2], classes[classes < 2], n_classes=3)
    assert found[2].isnan().all()
    assert not found[:2].isnan().any()


def test_training_is_adamw_on_shuffled_batches_with_dropout_after_the_relu(
    world: tuple[torch.Tensor, torch.Tensor],
) -> None:
    features, classes = world
    settings = replace(QUICK, epochs=2, learning_rate=1e-2)
    found = fit_classifier(features, classes, n_classes=3, settings=settings, seed=5)
    draws = torch.Generator().manual_seed(5)
    projection, hidden, output = nn.Linear(12, 16), nn.Linear(12 * 16, 32), nn.Linear(32, 3)
    modules = nn.ModuleList([projection, hidden, output])
    with torch.no_grad():
        for layer in (projection, hidden, output):
            for parameter in (layer.weight, layer.bias):
                drawn = torch.rand(parameter.shape, generator=draws)
                parameter.copy_((2 * drawn - 1) / math.sqrt(layer.in_features))
    standard = (features - features.mean(0)) / features.std(0, correction=0)
    optimizer = torch.optim.AdamW(modules.parameters(), lr=1e-2)
    for _ in range(2):
        order = torch.randperm(len(classes), generator=draws)
        for start in range(0, len(order), 32):
            rows = order[start : start + 32]
            kept = (torch.rand(len(rows), 32, generator=draws) >= 0.3) / 0.7
            logits = output(torch.relu(hidden(projection(standard[rows]).reshape(len(rows), -1))) * kept)
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, classes[rows]).backward()
            optimizer.step()
    for ours, theirs in zip(found.parameters, modules.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-3, atol=1e-4)


def test_features_are_standardised_and_those_that_do_not_vary_count_for_nothing() -> None:
    features = torch.randn(40, 2, 3) * torch.tensor([1.0, 100.0, 0.0]) + 7
    features[:, :, 2] += 1e-5 * torch.randn(40, 2)
    classes = (features[:, 0, 0] > 7).long()
    probe = fit_classifier(features, classes, n_classes=2, settings=QUICK, seed=0)
    standard = (features - probe.mean) * probe.scale
    torch.testing.assert_close(standard.std(0, correction=0)[:, :2], torch.ones(2, 2))
    assert (standard[:, :, 2] == 0).all()


def test_a_probe_that_does_not_learn_is_refused(world: tuple[torch.Tensor, torch.Tensor]) -> None:
    features, classes = world
    with pytest.raises(DataError, match=r"1 epochs .* 1\.099.*rate than 50"):
        fit_classifier(features, classes, n_classes=3, settings=replace(QUICK, epochs=1, learning_rate=50.0), seed=0)
    with pytest.raises(DataError, match=r"16-bit.*rate than 0\.003"):
        fit_classifier(features * torch.nan, classes, n_classes=3, settings=replace(QUICK, epochs=1), seed=0)
