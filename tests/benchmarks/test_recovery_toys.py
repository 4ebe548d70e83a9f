"""The toys of the recovery benchmark: what is planted is exactly there, and the whole tool is run on it."""

import numpy as np
import pytest
import torch
import xarray as xr
from recovery_parts.toy_heads import true_effect
from recovery_parts.toy_model import PART, constant_outputs, noise_tables
from recovery_parts.toy_pairs import PAIRS, pair_of
from recovery_parts.toy_recovery import Toy
from recovery_parts.toy_tasks import TASKS, n_items

import headcats as hc
from headcats.models.adapter import adapt

pytestmark = pytest.mark.slow

EFFECT = 0.2
BASES = {"denoising_patch": "corrupted", "noising_patch": "clean"}


def effects(ds: xr.Dataset) -> xr.DataArray:
    """(prompt, layer, head) or (prompt, set); the gap is 1."""
    difference = ds.patched - ds.corrupted if ds.attrs["base"] == "corrupted" else ds.clean - ds.patched
    return difference.isel(metric=0).astype("float64")


@pytest.fixture(scope="module")
def quiet() -> Toy:
    return Toy.make(effect=EFFECT, noise=0.0, prompts=6, seed=3)


@pytest.fixture(scope="module")
def swept(quiet: Toy) -> dict[str, dict[str, xr.Dataset]]:
    return {method: quiet.sweeps(method) for method in BASES}


# ---------------------------------------------------------------------------------------------------- without noise
@pytest.mark.parametrize("method", BASES)
def test_every_head_has_the_effect_it_was_given(quiet, swept, method):
    truth = true_effect(quiet.jobs, base=BASES[method])
    for task, ds in swept[method].items():
        assert abs(effects(ds) - truth.sel(task=task).values).max() <= 1e-5, task
        assert abs(ds.clean - ds.corrupted - 1).max() <= 1e-5
        assert ds.attrs["path"] == "last_position"
        assert ds.attrs["self_check"].startswith("passed")


@pytest.mark.parametrize("positions", ["all", "slot_knowledge_0"])
def test_heads_work_at_the_last_token_only(quiet, positions):
    found = effects(
        hc.sweep(quiet.model, quiet.batch("knowledge_0"), "denoising_patch", positions=positions, path="hooked")
    )
    truth = true_effect(quiet.jobs, base="corrupted").sel(task="knowledge_0").values
    assert abs(found - (truth if positions == "all" else 0)).max() <= 1e-5


def test_truth_is_gated_by_category(quiet):
    truth = true_effect(quiet.jobs, base="corrupted")
    for head, job in quiet.jobs.items():
        here = truth.sel(layer=head.layer, head=head.head) if "layer" in truth.coords else truth[:, *head]
        served = {task for task, value in zip(TASKS, here.values, strict=True) if value}
        if job.kind in ("helping", "suppressing"):
            assert served == {task for task, category in TASKS.items() if category in job.categories}
            assert set(here.values) == {0.0, EFFECT if job.kind == "helping" else -EFFECT}
        elif job.kind == "one task":
            assert len(served) == 1
    shared = [job for job in quiet.jobs.values() if job.kind == "helping" and len(job.categories) > 1]
    assert sorted(len(job.categories) for job in shared) == [2, 2, 2, 3]


def test_one_method_sees_an_or_pair_and_the_other_an_and_pair(quiet, swept):
    alone: dict[tuple[str, str], list[float]] = {}
    together: dict[tuple[str, str], float] = {}
    for method in BASES:
        for kind in PAIRS:
            heads = pair_of(quiet.jobs, kind)
            task = quiet.jobs[heads[0]].tasks[0]
            found = effects(swept[method][task]).mean("prompt")
            alone[method, kind] = [float(found[head.layer, head.head]) for head in heads]
            joint = hc.evidence.joint_sweep(quiet.model, quiet.batch(task), method, [heads])
            together[method, kind] = float(effects(joint).mean())
    unseen = {("denoising_patch", "and"), ("noising_patch", "or")}
    for case, found_alone in alone.items():
        assert found_alone == pytest.approx([0, 0] if case in unseen else [EFFECT, EFFECT], abs=1e-5), case
        assert together[case] == pytest.approx(2 * EFFECT if case[1] == "helping" else EFFECT, abs=1e-5), case


def test_a_mean_takes_the_whole_effect_away(quiet):
    # Up to what the mean over all tasks still says of each answer: a task fills its slot in one prompt of 16, and some
    # answers stand there more often than others.
    task = "translation_1"
    ds = hc.sweep(quiet.model, quiet.batch(task), "mean_ablation", positions="last", reference=quiet.reference)
    truth = true_effect(quiet.jobs, base="clean").sel(task=task)
    assert abs(effects(ds) - truth.values).max() <= 0.05 * EFFECT


def test_every_head_says_something(quiet):
    # Or "exactly 0" would mean nothing.
    model, batch = adapt(quiet.model), quiet.batch("linguistic_2")
    clean, corrupted = model.capture(batch.clean)[1], model.capture(batch.corrupted)[1]
    for head, job in quiet.jobs.items():
        written = [z[head.layer][:, -1, head.head] @ model.W_O(head.layer)[head.head] for z in (clean, corrupted)]
        assert min(float(w[:, PART["answer"]].norm(dim=-1).min()) for w in written) > 0.1, head
        if job.kind == "none":
            assert (written[0] - written[1]).norm(dim=-1).min() > 0.1, head


# ------------------------------------------------------------------------------------------------------------ noise
def test_noise_has_the_given_size_and_half_of_it_is_the_items():
    toy = Toy.make(effect=EFFECT, noise=0.15, prompts=90, seed=0)
    truth = true_effect(toy.jobs, base="corrupted")
    tasks = ("algorithmic_0", "knowledge_2", "linguistic_1", "translation_3")
    squares, products = [], []
    for task in tasks:
        batch = toy.batch(task)
        ds = hc.sweep(toy.model, batch, "denoising_patch")
        assert abs(ds.clean - ds.corrupted - 1).max() <= 1e-5
        noise = (effects(ds) - truth.sel(task=task).values).values.reshape(len(batch), -1)
        squares.append((noise**2).mean())
        # Items come in turn: the next prompt of an item is as many prompts later as there are items.
        products.append((noise[: -n_items(task)] * noise[n_items(task) :]).mean())
        assert batch.items[0] == batch.items[n_items(task)]
    assert np.sqrt(np.mean(squares)) == pytest.approx(0.15, rel=0.05)
    assert np.mean(products) / np.mean(squares) == pytest.approx(0.5, abs=0.1)


def test_noise_is_0_on_average_and_over_all_heads():
    tables = noise_tables(seed=1)
    assert tables.mean(2).abs().max() <= 1e-6
    assert tables.sum((0, 1)).abs().max() <= 1e-4
    assert constant_outputs(seed=1).sum((0, 1)).abs().max() <= 1e-4
    two, answers = tables[..., :16, :] + tables[..., 16:, :], (slice(None, 8), slice(8, None))
    assert (two[..., answers[0]] - two[..., answers[1]]).std() == pytest.approx(1, rel=0.05)
    assert not torch.equal(tables, noise_tables(seed=2))
