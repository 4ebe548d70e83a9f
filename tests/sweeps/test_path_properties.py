"""What no fast path may change: an identity patch is 0, and order, chunks and grouping of the work leave no trace."""

import random
from typing import Any

import numpy as np
import pytest
import torch
from architectures import N_HEADS, tiny_bridge
from batches import random_batch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from prefixes import prefixed_batch
from toys import tiny_model

from headcats.models.head import Head
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.joint import joint_sweep

METRICS = ("logit_diff", "log_prob")
LIMIT = 1e-5
TIGHT = [300_000, 500_000, "0.8 MB", "1GB"]
"""Limits of memory: from a few rows of one prompt at a time to all there are."""
N_LAYERS = 3
Shape = tuple[int, int, int, int]
"""Prompts, tokens, tokens shared by the two runs, seed."""

names = st.sampled_from(["gpt2", "llama", "neox", "gemma2", "gpt_oss", "falcon"])
positions = st.sampled_from(["last", "all", "t5"])
methods = st.sampled_from(["denoising_patch", "noising_patch", "zero_ablation"])
heads = st.builds(Head, st.integers(0, N_LAYERS - 1), st.integers(0, N_HEADS - 1))
head_sets = st.lists(st.lists(heads, min_size=1, max_size=4, unique=True), min_size=1, max_size=5, unique_by=frozenset)
# A fifth of what others take: an example runs several sweeps. It is small as it is; making it smaller takes minutes.
few = settings(max_examples=settings.default.max_examples // 5, phases=[Phase.explicit, Phase.generate])


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    n_pos = draw(st.integers(6, 12))
    return draw(st.integers(1, 4)), n_pos, draw(st.integers(0, n_pos - 1)), draw(st.integers(0, 10_000))


def made(shape: Shape) -> PromptBatch:
    """The batch, made in the test: the checks of shapes draw random numbers, which a strategy must not do."""
    n_prompts, n_pos, n_shared, seed = shape
    return prefixed_batch(n_prompts, n_pos, n_shared, seed=seed)


def apart(one: Any, other: Any) -> float:
    """The largest difference of the patched values; infinite where one of them is NaN and the other is not."""
    difference = np.abs(one.patched.values - other.patched.values)
    return float(np.nan_to_num(difference, nan=np.inf).max())


def fast(ds: Any) -> bool:
    return ds.attrs["path"] in ("last_position", "suffix")


@few
@given(name=names, shape=shapes(), positions=positions, base=st.sampled_from(["clean", "corrupted"]))
def test_a_patch_with_the_heads_own_output_changes_nothing(name: str, shape: Shape, positions: str, base: Any) -> None:
    batch = made(shape)
    identity = Intervention("identity", base, lambda sources: getattr(sources, base))
    ds = sweep(tiny_bridge(name), batch, identity, metrics=METRICS, positions=positions)
    assert fast(ds)
    assert np.abs(ds.patched - ds[base]).max() <= LIMIT


@pytest.mark.parametrize("positions", ["last", "all"])
def test_an_identity_patch_on_a_model_never_seen_before_is_no_failed_check(positions: str) -> None:
    """Where nothing changes the check of a path has nothing to compare; that is no reason to warn."""
    identity = Intervention("identity", "corrupted", lambda sources: sources.corrupted)
    model, batch = tiny_model("llama").model, prefixed_batch()
    ds = sweep(model, batch, identity, positions=positions)
    assert np.abs(ds.patched - ds.corrupted).max() <= LIMIT
    assert fast(sweep(model, batch, "denoising_patch", positions=positions))


@few
@given(
    name=names,
    shape=shapes(),
    positions=positions,
    method=methods,
    order=st.randoms(use_true_random=False),
    limit=st.sampled_from(TIGHT),
)
def test_other_prompts_their_order_and_the_memory_leave_no_trace(
    name: str, shape: Shape, positions: str, method: str, order: random.Random, limit: Any
) -> None:
    batch = made(shape)
    model, turned = tiny_bridge(name), order.sample(range(len(batch)), len(batch))
    options: dict[str, Any] = {"metrics": METRICS, "positions": positions}
    straight = sweep(model, batch, method, **options)
    assert fast(straight)
    assert apart(straight.isel(prompt=turned), sweep(model, batch.select(turned), method, **options)) <= LIMIT
    assert apart(straight.isel(prompt=[0]), sweep(model, batch.select([0]), method, **options)) <= LIMIT
    cut = sweep(model, batch, method, memory=limit, **options)
    assert fast(cut)
    assert apart(straight, cut) <= LIMIT


@few
@given(
    name=names,
    shape=shapes(),
    positions=positions,
    method=methods,
    sets=head_sets,
    order=st.randoms(use_true_random=False),
    limit=st.sampled_from(TIGHT),
)
def test_the_order_of_sets_and_of_heads_in_them_and_the_memory_leave_no_trace(
    name: str, shape: Shape, positions: str, method: str, sets: list[list[Head]], order: random.Random, limit: Any
) -> None:
    batch, model = made(shape), tiny_bridge(name)
    options: dict[str, Any] = {"metrics": METRICS, "positions": positions}
    straight = joint_sweep(model, batch, method, sets, **options)
    assert fast(straight)
    turned = order.sample(range(len(sets)), len(sets))
    shuffled = [order.sample(sets[place], len(sets[place])) for place in turned]
    assert apart(straight.isel(set=turned), joint_sweep(model, batch, method, shuffled, **options)) <= LIMIT
    assert apart(straight, joint_sweep(model, batch, method, sets, memory=limit, **options)) <= LIMIT
    assert apart(straight, joint_sweep(model, batch, method, sets, path="hooked", **options)) <= LIMIT


@pytest.mark.parametrize("positions", ["last", "all"])
def test_all_heads_at_once_make_the_other_run(positions: str) -> None:
    """Where the last token is the same in both runs, heads are all that tells them apart at the last position."""
    drawn = random_batch(3, 9)
    corrupted = torch.cat([drawn.corrupted[:, :-1], drawn.clean[:, -1:]], 1)
    batch = PromptBatch.from_tokens(drawn.clean, corrupted, drawn.answer, drawn.distractor)
    everything = [[Head(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]]
    ds = joint_sweep(tiny_bridge("llama"), batch, "denoising_patch", everything, metrics=METRICS, positions=positions)
    assert fast(ds)
    assert np.abs(ds.clean - ds.corrupted).max() > 1e-2
    assert np.abs(ds.patched.isel(set=0) - ds.clean).max() <= LIMIT
