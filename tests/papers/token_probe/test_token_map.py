"""The split by items, labels that say nothing, and activations at positions of texts of different length."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toy_cases import TOYS
from toys import tiny_model

from headcats.base.errors import ModelError, OptionError
from headcats.models.adapter import HookedModel
from headcats.papers.token_probe import token_map as passes
from headcats.papers.token_probe.probe import held_out
from headcats.papers.token_probe.settings import REPRESENTATIONS
from headcats.papers.token_probe.token_map import hook_name, representations, shuffled_labels, task_error_rates

WIDTHS = {("gpt2", "mlp_post"): 128, ("llama", "mlp_post"): 64, ("gpt2", "head_z"): 32, ("llama", "head_z"): 64}


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.sampled_from("abc")), min_size=1), st.integers(0, 5))
def test_no_item_is_on_both_sides(prompts: list[tuple[int, bool, str]], seed: int) -> None:
    items, wrong, tasks = [str(p[0]) for p in prompts], np.array([p[1] for p in prompts]), [p[2] for p in prompts]
    test = held_out(items, tasks, wrong, share=0.2, seed=seed)
    held = {item for item, one in zip(items, test, strict=True) if one}
    learned = {item for item, one in zip(items, test, strict=True) if not one}
    assert not held & learned
    assert abs(len(held) - 0.2 * len(set(items))) < 1


def test_both_sides_have_the_classes_and_tasks_of_the_whole() -> None:
    draws = np.random.default_rng(0)
    tasks = ["easy"] * 500 + ["hard"] * 500
    wrong = draws.random(1000) < np.repeat([0.1, 0.6], 500)
    items = [str(number) for number in range(1000)]
    test = held_out(items, tasks, wrong, share=0.2, seed=0)
    assert test.sum() == 200
    for task in ("easy", "hard"):
        of_task = np.array(tasks) == task
        assert abs((test & of_task).sum() - 100) <= 1
        assert abs(wrong[test & of_task].mean() - wrong[of_task].mean()) < 0.02
    assert (held_out(items, tasks, wrong, share=0.2, seed=1) != test).any()
    assert (held_out(items, tasks, wrong, share=0.2, seed=0) == test).all()


def test_shuffled_labels_keep_what_a_task_gives_away() -> None:
    draws = np.random.default_rng(0)
    tasks = ["easy"] * 300 + ["hard"] * 300
    wrong = draws.random(600) < np.repeat([0.1, 0.6], 300)
    test = np.arange(600) % 5 == 0
    mixed = shuffled_labels(wrong, tasks, test, seed=0)
    for task in ("easy", "hard"):
        for side in (test, ~test):
            part = side & (np.array(tasks) == task)
            assert mixed[part].sum() == wrong[part].sum()
    hard = np.array(tasks) == "hard"
    assert abs(np.corrcoef(mixed[hard], wrong[hard])[0, 1]) < 0.15
    assert (wrong == (np.random.default_rng(0).random(600) < np.repeat([0.1, 0.6], 300))).all()  # left as it was


def test_the_task_alone_scores_by_its_training_errors() -> None:
    wrong = np.array([True, False, True, True, False, True])
    rates = task_error_rates(wrong, list("aabbac"), np.array([False, False, False, True, True, True]))
    assert rates.tolist() == [0.5, 0.5, 1.0, 1.0, 0.5, 2 / 3]  # "c" was never trained: the share of all


def texts() -> tuple[list[list[int]], list[list[int]]]:
    draws = torch.Generator().manual_seed(0)
    made = [[0, *torch.randint(6, 60, (size,), generator=draws).tolist()] for size in (5, 8, 5, 3, 8)]
    return made, [[0, len(text) - 1, len(text) // 2] for text in made]


@pytest.mark.parametrize(("layout", "backend"), TOYS)
def test_they_are_what_one_hook_shows_of_one_text(layout: Any, backend: Any) -> None:
    model = HookedModel(tiny_model(layout, backend, n_layers=2).model)
    tokens, positions = texts()
    for representation, hook in REPRESENTATIONS.items():
        found = dict(representations(model, tokens, positions, representation=representation))
        assert list(found) == list(model.layers)
        for layer, values in found.items():
            assert values.shape == (5, 3, WIDTHS.get((layout, representation), 32))
            for text, places, value in zip(tokens, positions, values, strict=True):
                seen: list[torch.Tensor] = []
                keep = (f"blocks.{layer}.{hook}", lambda x, hook: seen.append(x.detach().clone()))  # noqa: B023
                model.model.run_with_hooks(torch.tensor([text]), fwd_hooks=[keep])
                assert np.abs(seen[0][0, places].flatten(1).numpy() - value).max() < 1e-4


def test_the_residual_stream_is_that_of_transformers() -> None:
    toy = tiny_model("llama", n_layers=3)
    tokens, positions = texts()
    found = dict(representations(HookedModel(toy.model), tokens, positions, representation="resid_post"))
    for place, text in enumerate(tokens):
        with torch.no_grad():
            states = toy.oracle.model(torch.tensor([text]), output_hidden_states=True).hidden_states
        # The last hidden state of transformers is behind the final norm.
        for layer in (0, 1):
            assert np.abs(states[layer + 1][0, positions[place]].numpy() - found[layer][place]).max() < 1e-4


def test_layers_are_read_in_several_passes_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    model = HookedModel(tiny_model("gpt2", n_layers=3).model)
    tokens, positions = texts()
    whole = dict(representations(model, tokens, positions, representation="mlp_out"))
    runs: list[int] = []
    run = model.run
    monkeypatch.setattr(model, "run", lambda ids, hooks: (runs.append(len(hooks)), run(ids, hooks=hooks))[1])
    monkeypatch.setattr(passes, "KEPT_BYTES", 2 * 5 * 3 * 32 * 4)
    shares: list[float] = []
    parts = dict(representations(model, tokens, positions, representation="mlp_out", advance=shares.append))
    assert runs == [3, 2, 2, 2, 1, 1, 1]  # one look at the width, then three lengths, twice
    assert all((parts[layer] == whole[layer]).all() for layer in whole)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_unknown_representations_and_broken_numbers_are_refused() -> None:
    toy = tiny_model("gpt2", n_layers=1)
    model = HookedModel(toy.model)
    with pytest.raises(OptionError, match="head_z; got 'mlp'"):
        hook_name(model, 0, "mlp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(REPRESENTATIONS, "mlp_post", "mlp.hook_nothing")
        with pytest.raises(OptionError, match="has mlp_out"):
            hook_name(model, 0, "mlp_post")
    with torch.no_grad():
        next(p for name, p in toy.model.named_parameters() if "wte" in name or "embed" in name)[7] = float("inf")
    with pytest.raises(ModelError, match="NaN"):
        dict(representations(model, [[0, 7]], [[1]], representation="resid_post"))
