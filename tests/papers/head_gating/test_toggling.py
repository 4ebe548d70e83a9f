"""Toggle curves against runs with heads zeroed by hand."""

import numpy as np
import pytest
import torch
import xarray as xr
from gate_toys import token_batch
from toy_cases import shared_toy

from headcats.base.errors import DataError
from headcats.models.adapter import adapt
from headcats.models.hooks import hook_z
from headcats.papers.head_gating.toggling import toggle_curves

DATA = [token_batch(3, 7, targets=(2, 6)), token_batch(2, 5, seed=1)]


def made_up(*, n_layers: int = 2, seeds: int = 2) -> xr.Dataset:
    draws = np.random.default_rng(0)
    grids = {name: draws.random((1, seeds, n_layers, 4), dtype=np.float32) for name in ("g_plus", "g_minus")}
    grids |= {
        "facilitation": grids["g_minus"],
        "interference": 1 - grids["g_plus"],
        "irrelevance": grids["g_plus"] * (1 - grids["g_minus"]),
    }
    dims = ("dataset", "seed", "layer", "head")
    axes = {"dataset": ["data"], "seed": range(seeds), "layer": range(n_layers), "head": range(4)}
    return xr.Dataset({name: (dims, grid) for name, grid in grids.items()}, coords=axes)


def test_curves_equal_runs_with_heads_zeroed_by_hand() -> None:
    raw, gates = shared_toy("llama").model, made_up(seeds=1)
    model = adapt(raw)
    gates["facilitation"][0, 0, 0, 0] = gates["facilitation"][0, 0, 1, 3]  # a tie: the earlier head goes first
    found = toggle_curves(raw, DATA, gates)
    assert found.log_prob.dims == ("seed", "score", "heads_off")
    assert found.log_prob.shape == (1, 3, 9)
    one = gates.isel(dataset=0, seed=0)
    for score in ("facilitation", "irrelevance", "interference"):
        order = sorted((-float(one[score][layer, head]), layer, head) for layer in range(2) for head in range(4))
        scales = torch.tensor(one.g_plus.values)
        for step in range(9):
            if step:
                _, layer, head = order[step - 1]
                scales[layer, head] = 0
                assert int(found.layer_off.sel(seed=0, score=score)[step]) == layer
                assert int(found.head_off.sel(seed=0, score=score)[step]) == head
            if step not in (0, 4):
                continue
            hooks = {hook_z(row): lambda z, scale=scales[row]: z * scale[:, None] for row in range(2)}
            of_texts = []
            for batch in DATA:
                for tokens, targets in zip(batch.tokens, batch.targets, strict=True):
                    places = targets.nonzero().flatten().tolist()
                    each = [
                        model.run(tokens[None, :place], hooks=hooks).log_softmax(-1)[0, tokens[place]]
                        for place in places
                    ]
                    of_texts.append(float(sum(each)) / len(each))
            assert float(found.log_prob.sel(seed=0, score=score)[step]) == pytest.approx(np.mean(of_texts), abs=1e-5)
    assert bool((found.layer_off[:, :, 0] == -1).all())


def test_the_change_is_that_of_heads_with_a_high_score() -> None:
    gates = made_up()
    found = toggle_curves(shared_toy().model, DATA[1:], gates, threshold=0.7)
    for seed in range(2):
        for score in found.score.values:
            n = int((gates[score].sel(seed=seed) >= 0.7).sum())
            curve = found.log_prob.sel(seed=seed, score=score)
            assert int(found.n_high.sel(seed=seed, score=score)) == n
            assert float(found.change.sel(seed=seed, score=score)) == float(curve[n] - curve[0])


def test_seeds_without_gates_and_heads_that_are_missing() -> None:
    model, gates = shared_toy(n_layers=1).model, made_up(n_layers=1)
    for name in gates.data_vars:
        gates[name][0, 0] = np.nan
    found = toggle_curves(model, DATA, gates.isel(dataset=0))
    assert bool(found.log_prob[0].isnull().all() & found.change[0].isnull().all())
    assert bool(found.log_prob[1].notnull().all())
    alone = toggle_curves(model, DATA, gates.isel(dataset=0, seed=1))
    assert np.array_equal(alone.log_prob[0], found.log_prob[1])


def test_other_gates_are_refused() -> None:
    model, gates = shared_toy().model, made_up()
    two = xr.concat([gates, gates.assign_coords(dataset=["other"])], dim="dataset")
    for wrong, message in [
        (two, "one of data, other"),
        (made_up(n_layers=3), "other layers"),
        (gates.drop_vars("irrelevance"), "'irrelevance' is missing"),
    ]:
        with pytest.raises(DataError, match=message):
            toggle_curves(model, DATA, wrong)
