"""Contrastive gates: the loss of the formula, and planted heads of two kinds of text."""

import json
import math

import numpy as np
import pytest
import torch
from gate_toys import answered_slots, token_batch
from literal_gates import adam, log_prob
from planted import planted_model
from toys import Toy, tiny_model

import headcats as hc
from headcats.errors import DataError
from headcats.methods.head_gating.contrast import contrastive_gates
from headcats.methods.head_gating.settings import GatingSettings
from headcats.methods.head_gating.stages import start
from headcats.methods.head_gating.texts import gate_texts
from headcats.models.adapter import adapt
from headcats.prompts.answered import AnsweredBatch
from headcats.statistics.random_streams import stream

SETTINGS = GatingSettings(updates=3, max_norm=0.05, clamp=1.0, held_out=0.01)
RETAIN, FORGET = (token_batch(3, 7, targets=(2, 6)), token_batch(2, 5)), (token_batch(4, 6, seed=3),)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What random weights say of texts that were not fitted does not get better."""
    monkeypatch.setattr("headcats.methods.head_gating.contrast.check_better", lambda *numbers, **names: None)


@pytest.mark.ci
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("floor", [-5.0, 0.0, 5.0])
def test_updates_follow_the_formula(toy: Toy, floor: float) -> None:
    settings = GatingSettings(updates=3, max_norm=0.05, clamp=1.0, held_out=0.01, forget_floor=floor)
    found = contrastive_gates(toy.model, list(RETAIN), list(FORGET), preset=settings, n_seeds=2, seed=7)
    rows = {}
    for kind, data in (("retain", RETAIN), ("forget", FORGET)):
        draws = stream(7, "contrastive_gates", kind, "held out")
        rows[kind] = gate_texts(adapt(toy.model), list(data), name=kind).split(0.01, draws)
    begin = start(torch.ones(2, 4, dtype=torch.bool), names=("contrast", "1"), seed=7).detach()
    sides = []

    def loss(theta: torch.Tensor) -> torch.Tensor:
        kept, lost = (log_prob(toy.model, rows[kind][0].rows, theta.sigmoid()) for kind in ("retain", "forget"))
        sides.append(bool(lost - kept > floor))
        return -kept + (lost - kept.detach()).clamp(min=floor) - 0.1 * theta.clamp(-1.0, 1.0).mean()

    theta, norms = adam(loss, begin, rates=[0.1, 0.055, 0.01], max_norm=0.05)
    assert max(norms) > 0.05
    assert sides == {-5.0: [True] * 3, 0.0: sides, 5.0: [False] * 3}[floor]
    assert np.abs(found.gate.sel(seed=1).values - theta.sigmoid().numpy()).max() < 1e-5
    for kind in ("retain", "forget"):
        expected = [
            float(log_prob(toy.model, rows[kind][1].rows, gates).detach())
            for gates in (torch.ones(2, 4), begin.sigmoid(), theta.sigmoid())
        ]
        assert found[kind].sel(seed=1).values.tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.usefixtures("unchecked")
def test_one_seed_equals_itself_among_others_and_the_result_is_labelled() -> None:
    model = tiny_model("gpt2", n_layers=2).model
    some, one = (contrastive_gates(model, list(RETAIN), list(FORGET), preset=SETTINGS, n_seeds=n) for n in (2, 1))
    assert some.gate.dims == ("seed", "layer", "head")
    assert some.retain.dims == some.forget.dims == ("seed", "when")
    assert some.when.values.tolist() == ["open", "start", "fitted"]
    assert some.sel(seed=[0]).equals(one)
    assert "updates=3" in json.loads(some.attrs["provenance"])["settings"]


def test_the_head_of_what_is_forgotten_is_shut() -> None:
    """One head brings the answer from slot 1, one from slot 2; who keeps the one kind of text needs the first alone."""
    model = planted_model({(0, 1): 1, (1, 2): 2})
    first = answered_slots(32)
    swapped = first.tokens[:, [0, 2, 1, 3, 4]]
    second = AnsweredBatch(swapped, first.targets, first.texts)
    settings = GatingSettings(updates=30, batch=16, first_rates=(0.5, 0.1))
    found = contrastive_gates(model, [first], [second], preset=settings, n_seeds=1)
    gates = found.gate.sel(seed=0)
    assert float(gates.sel(layer=0, head=1)) > 0.5
    assert float(gates.sel(layer=1, head=2)) < 0.2
    assert float(found.retain.sel(seed=0, when="fitted")) > float(found.retain.sel(seed=0, when="open"))
    assert float(found.forget.sel(seed=0, when="fitted")) < float(found.forget.sel(seed=0, when="open")) - 1


@pytest.mark.parametrize("floor", [-5.0, 0.0])
def test_a_fit_that_is_not_better_than_its_start_is_refused(floor: float) -> None:
    model, first = planted_model({(0, 1): 1, (1, 2): 2}), answered_slots(32)
    second = AnsweredBatch(first.tokens[:, [0, 2, 1, 3, 4]], first.targets, first.texts)
    still = GatingSettings(updates=1, first_rates=(1e-9, 1e-9), forget_floor=floor)
    with pytest.raises(DataError, match=r"seed 0, .* after contrast"):
        contrastive_gates(model, [first], [second], preset=still, n_seeds=1)


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model("gpt2", n_layers=2).model
    with pytest.raises(DataError, match="'forget' must be"):
        contrastive_gates(model, list(RETAIN), [])
    with pytest.raises(DataError, match="two items"):
        contrastive_gates(model, [token_batch(1)], list(FORGET))
    monkeypatch.setattr(
        "headcats.methods.head_gating.contrast.log_prob_gradient", lambda *a, **o: (math.nan, torch.zeros(2, 4))
    )
    with pytest.raises(DataError, match=r"seed 0, .* update 1 .* nan"):
        contrastive_gates(model, list(RETAIN), list(FORGET), preset=SETTINGS, n_seeds=2)


def test_it_is_public() -> None:
    assert getattr(hc, "contrastive_gates", contrastive_gates) is contrastive_gates
