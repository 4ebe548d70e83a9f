import math
from dataclasses import replace

import pytest
import torch
from function_worlds import QUICK, features_of, texts_of
from torch import nn

from headcats.base.errors import DataError
from headcats.models.head import Head
from headcats.papers.function_probe.classifier import FunctionClassifier, fit_classifier, head_importance

FUNCTIONS = ("a", "b", "c")


@pytest.fixture(scope="module")
def world() -> tuple[torch.Tensor, torch.Tensor]:
    texts = texts_of(FUNCTIONS)
    features = features_of(texts, {Head(1, 2): dict.fromkeys(FUNCTIONS, 4.0)})
    return features.values, torch.tensor([FUNCTIONS.index(text.category) for text in texts])


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


def test_one_seed_one_probe(world: tuple[torch.Tensor, torch.Tensor], fitted: FunctionClassifier) -> None:
    torch.rand(3)  # the global generator plays no part
    again = fit_classifier(*world, n_classes=3, settings=QUICK, seed=1)
    other = fit_classifier(*world, n_classes=3, settings=QUICK, seed=2)
    assert all(torch.equal(one, two) for one, two in zip(fitted.parameters, again.parameters, strict=True))
    assert not torch.equal(fitted.parameters[0], other.parameters[0])


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
