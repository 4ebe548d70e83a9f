"""Functions as metrics: by themselves, beside others, and what is no metric."""

import functools
from typing import Any

import numpy as np
import pytest
import torch
from architectures import tiny_bridge
from batches import random_batch
from counting import SUITE
from toys import Toy

import headcats as hc
from headcats.base import registry
from headcats.base.errors import OptionError
from headcats.metrics import Targets
from headcats.metrics.definition import check_metrics, registered_name
from headcats.sweeps.batch_sweep import sweep


def answer_logit(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
    return logits.gather(1, targets.answer[:, None])[:, 0]


class TestAFunction:
    @pytest.mark.parametrize(("path", "positions"), [("auto", "last"), ("auto", "all"), ("hooked", "last")])
    def test_is_a_metric_under_its_own_name(self, toy: Toy, path: str, positions: str) -> None:
        options: dict[str, Any] = {"path": path, "positions": positions}
        ds = sweep(toy.model, random_batch(), "denoising_patch", metrics=[answer_logit, "log_prob"], **options)
        assert ds.metric.values.tolist() == ["answer_logit", "log_prob"]
        with torch.no_grad():
            logits = toy.oracle(random_batch().corrupted).logits[:, -1]
        expected = logits.gather(1, random_batch().answer[:, None])[:, 0].numpy()
        np.testing.assert_allclose(ds.corrupted.sel(metric="answer_logit"), expected, atol=1e-4)
        named = sweep(toy.model, random_batch(), "denoising_patch", metrics=["log_prob"], **options)
        assert float(abs(ds.patched.sel(metric="log_prob") - named.patched[0]).max()) < 1e-6
        assert "answer_logit" not in registry.names("metric")

    @pytest.mark.parametrize("positions", ["last", "all"])
    def test_a_decorated_one_keeps_what_it_declares(self, toy: Toy, positions: str) -> None:
        seen: list[int] = []

        @hc.metrics.metric(reads="pair")
        def lost(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
            seen.append(logits.shape[1])
            rows = torch.arange(len(logits))
            after, before = (
                side[rows, targets.answer] - side[rows, targets.distractor] for side in (logits, targets.clean_logits)
            )
            return after - before

        ds = sweep(toy.model, random_batch(), "denoising_patch", metrics=[lost, "logit_diff"], positions=positions)
        assert 2 in seen
        assert float(abs(ds.patched[0] - (ds.patched[1] - ds.clean[1])).max()) < 2e-5

    def test_of_gradients_and_of_sets_of_heads(self, toy: Toy) -> None:
        estimate = hc.methods.attribution_patch(toy.model, random_batch(), metrics=[answer_logit])
        exact = sweep(toy.model, random_batch(), "denoising_patch", metrics=[answer_logit])
        assert estimate.metric.values.tolist() == ["answer_logit"]
        np.testing.assert_allclose(estimate.corrupted, exact.corrupted, atol=1e-4)
        pair = hc.evidence.joint_sweep(toy.model, random_batch(), "noising_patch", [["L0H0"]], metrics=[answer_logit])
        assert pair.metric.values.tolist() == ["answer_logit"]


def test_whole_numbers_and_truth_values_are_numbers() -> None:
    def prefers_answer(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
        return answer_logit(logits, targets) > 0

    ds = sweep(tiny_bridge("gpt2"), random_batch(), "denoising_patch", metrics=[prefers_answer])
    assert ds.patched.dtype == np.float32
    assert set(np.unique(ds.patched)) <= {0.0, 1.0}


def of_logits_alone(logits: torch.Tensor) -> torch.Tensor:
    return logits[:, -1, 0]


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([lambda logits, targets: logits[:, 0]], "a function with a name"),
        ([functools.partial(answer_logit)], "a function with a name"),
        ([7], "a function with a name"),
        ([of_logits_alone], r"of_logits_alone takes \(logits"),
        (answer_logit, "must be a list"),
        ("logit_diff", "must be a list"),
        ([], "must be a list"),
    ],
    ids=["lambda", "partial", "number", "of TransformerLens", "no list", "a name", "empty"],
)
def test_what_is_no_metric(metrics: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_metrics(metrics)


def test_two_functions_of_one_name_are_refused() -> None:
    def log_prob(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
        return logits[:, 0]

    with pytest.raises(OptionError, match=r"Two .* 'log_prob'"):
        check_metrics(["log_prob", log_prob])
    with pytest.raises(OptionError, match="'log_prob' of its own"):
        registered_name(log_prob)


def test_a_study_registers_them(counting_model: Any) -> None:
    options: dict[str, Any] = {"suite": SUITE, "tasks": ["always_a"], "n_prompts": 4, "methods": ["denoising_patch"]}
    results = hc.run(counting_model, metrics=["logit_diff", answer_logit], **options)
    assert results["always_a/denoising_patch@last"].metric.values.tolist() == ["logit_diff", "answer_logit"]
    assert "answer_logit" in registry.names("metric")
