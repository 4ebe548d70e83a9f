"""The authors' training loop, written anew: padded batches, accumulated gradients, torch's schedule and clipping."""

import pytest
import torch
from gate_toys import token_batch
from literal_gates import padded, padded_log_probs, rows_of, trained
from toy_cases import shared_toy

from headcats.models.adapter import adapt
from headcats.papers.head_gating.settings import GatingSettings
from headcats.papers.head_gating.stages import fit_gates, start
from headcats.papers.head_gating.texts import gate_texts

DATA = (token_batch(2, 7, targets=(2, 3, 6)), token_batch(2, 5, seed=1))
SETTINGS = GatingSettings(updates=4, max_norm=0.05, clamp=1.0)


def test_stages_are_those_of_the_loop() -> None:
    """In two halves, whose gradients are added up: 32 texts twice are one batch of 64."""
    raw, rows = shared_toy("llama").model, rows_of(*DATA)
    model = adapt(raw)
    texts = gate_texts(model, list(DATA), name="data")
    found = fit_gates(model, texts, texts, settings=SETTINGS, names=("data", "0"), seed=0)
    begin = start(torch.ones(2, 4, dtype=torch.bool), names=("data", "0"), seed=0)
    thetas: dict[str, torch.Tensor] = {}
    for stage in SETTINGS.stages:

        def losses(theta: torch.Tensor, push: float = stage.push) -> list[torch.Tensor]:
            halves = (padded(rows[:2]), padded(rows[2:]))
            return [
                (-padded_log_probs(raw, *half, theta.sigmoid()).mean() - push * theta.clamp(-1, 1).mean()) / 2
                for half in halves
            ]

        thetas[stage.name] = trained(
            losses, thetas.get("g0", begin), rates=stage.rates, updates=SETTINGS.updates, max_norm=SETTINGS.max_norm
        )
        assert (found.gates[stage.name] - thetas[stage.name].sigmoid()).abs().max() < 1e-6, stage.name
        assert (found.gates[stage.name] - found.gates["g0"]).abs().max() > 0.05 or stage.name == "g0"
    assert bool((begin.abs() > 1).any())  # where the clamp is flat
    gates = {"open": torch.ones(2, 4), "start": begin.sigmoid(), **{name: of.sigmoid() for name, of in thetas.items()}}
    with torch.no_grad():
        losses = {name: -float(padded_log_probs(raw, *padded(rows), of).mean()) for name, of in gates.items()}
    assert found.losses == pytest.approx(losses, abs=1e-6)


def test_the_schedule_is_torchs_up_to_its_last_step() -> None:
    """With `total_iters` one less than the updates, as here; the authors' code gives it all updates."""
    settings, parameter = GatingSettings(), torch.zeros(1, requires_grad=True)
    for total, last, tolerance in ((499, 0.01, 1e-9), (500, 0.1 + 499 / 500 * (0.01 - 0.1), 2e-4)):
        adam = torch.optim.Adam([parameter], lr=settings.first_rates[0])
        schedule = torch.optim.lr_scheduler.LinearLR(adam, start_factor=1.0, end_factor=0.1, total_iters=total)
        rates = []
        for _ in range(settings.updates):
            rates.append(schedule.get_last_lr()[0])
            adam.step()
            schedule.step()
        ours = [settings.rate(update, settings.first_rates) for update in range(settings.updates)]
        assert rates[-1] == pytest.approx(last, abs=1e-9)
        assert max(abs(one - other) for one, other in zip(rates, ours, strict=True)) < tolerance
