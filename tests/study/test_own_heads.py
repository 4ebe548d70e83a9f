"""Heads that the user names: their joint effect against plain hooks, beside random sets, and the fewest that do it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from architectures import head_edits, hf_architecture, plain_logits, plain_z, tiny_bridge
from batches import numbers
from for_each import for_each
from toys import random_tokens

import headcats as hc
from headcats.base.errors import DataError, HeadcatsError, OptionError
from headcats.models.head import Head
from headcats.prompts.batch import PromptBatch
from headcats.study.own_heads import _random_sets

ARCHITECTURES = ["gpt2", "gemma2", "gpt_oss", "neox", "granite", "mixtral", "falcon", "llama", "bloom", "qwen3"]
HEADS = ["L0H1", "L1H3", "L2H0"]
SUITE = ["plural", "antonym", "past_tense"]


def solved_batch(name: str, *, n: int = 6) -> PromptBatch:
    """Random prompts whose answers are what the model says more of after the clean one than after the corrupted one."""
    twin, clean, corrupted = hf_architecture(name), random_tokens(n, 7, seed=1), random_tokens(n, 7, seed=2)
    more = (plain_logits(twin, clean) - plain_logits(twin, corrupted)).reshape(
        n, -1, *plain_logits(twin, clean).shape[2:]
    )
    more = more[:, -1] if more.ndim == 3 else more
    return PromptBatch.from_tokens(clean, corrupted, more.argmax(-1), more.argmin(-1))


@pytest.mark.both_versions
@pytest.mark.filterwarnings("ignore::headcats.base.errors.ModelWarning")  # a hooked path is as good here
@for_each("name", ARCHITECTURES)
@pytest.mark.parametrize("method", ["mean_ablation@last", "zero_ablation@all"])
def test_the_joint_effect_is_that_of_plain_hooks(name: str, method: str) -> None:
    batch, twin = solved_batch(name), hf_architecture(name)
    table = hc.ablate(tiny_bridge(name), batch, heads=HEADS, method=method, n_random=3)
    z = plain_z(twin, batch.clean)
    values = {layer: z[layer].mean(0, keepdim=True).expand_as(z[layer]) for layer in z}
    if method.startswith("zero"):
        values = {layer: torch.zeros_like(z[layer]) for layer in z}
    pairs = [tuple(Head.parse(head)) for head in HEADS]
    where = [-1] if method.endswith("last") else slice(None)
    edited, clean, corrupted = (
        numbers(logits, batch)[0]
        for logits in (
            plain_logits(twin, batch.clean, edits=head_edits(pairs, values, where)),
            plain_logits(twin, batch.clean),
            plain_logits(twin, batch.corrupted),
        )
    )
    assert abs(float(table.raw[0]) - (clean - edited).mean()) < 1e-5
    assert abs(float(table.effect[0]) - (clean - edited).mean() / (clean - corrupted).mean()) < 1e-5
    assert float(table.low[0]) < float(table.effect[0]) < float(table.high[0])
    drawn = table["heads"].values.tolist()
    assert len({"+".join(HEADS), *drawn}) == 4
    for names in drawn:
        assert [Head.parse(head).layer for head in names.split("+")] == [0, 1, 2]
    larger = (table.random[0] >= table.effect[0]).sum()
    assert float(table.p_value[0]) == pytest.approx(float(1 + larger) / 4)


@pytest.mark.parametrize(("layers", "k"), [(1, 1), (1, 2), (3, 1), (4, 2)])
def test_random_sets_are_as_seldom_special_as_their_p_value_says(layers: int, k: int) -> None:
    """Also where a layer has no more heads than random sets: then every other set is drawn once."""
    draws, model = np.random.default_rng(0), SimpleNamespace(n_heads=dict.fromkeys(range(6), 12))
    effects, p_values = draws.standard_t(2, size=(6, 12)), []
    for seed in range(400):
        chosen = [
            (int(layer), int(head)) for layer in draws.choice(6, layers, False) for head in draws.choice(12, k, False)
        ]
        own, *others = [
            sum(effects[each] for each in heads)
            for heads in [chosen, *_random_sets(model, [Head(*each) for each in chosen], n=20, seed=seed)]
        ]
        p_values.append((1 + sum(other >= own for other in others)) / (1 + len(others)))
    assert len(others) == (11 if layers * k == 1 else 20)
    assert [np.mean(np.array(p_values) <= level) <= level + 0.03 for level in (0.05, 0.1, 0.2)] == [True] * 3


def test_a_suite_takes_the_prompts_and_the_reference_of_a_run() -> None:
    options: dict[str, Any] = {"tasks": ["plural", "antonym"], "n_prompts": 8}
    table = hc.ablate("mini", SUITE, heads=["L3H1"], n_random=0, **options)
    scores = hc.score(hc.run("mini", suite=SUITE, methods=["mean_ablation"], **options)).effect.sel(layer=3, head=1)
    assert table["task"].values.tolist() == ["plural", "antonym"]
    assert np.abs(table.effect.values - scores.sel(task=table["task"].values).values).max() < 1e-5
    assert table.random.shape == (2, 0)
    assert table.p_value.isnull().all()


def test_a_task_that_the_model_cannot_do_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    options: dict[str, Any] = {"heads": ["L3H1"], "n_random": 0, "n_prompts": 16}
    tasks = ["plural", "list_max", "list_first", "list_last"]
    table = hc.ablate("mini", tasks, **options)
    assert table["task"].values.tolist() == tasks
    assert table.corruption.values.tolist() == ["shuffled_labels", *["other_task"] * 3]
    assert "plural" in caplog.text.partition("shuffled labels")[2]
    strict = hc.ablate("mini", tasks, min_accuracy=1.0, **options)
    assert strict["task"].values.tolist() == ["plural", "list_max"]
    assert strict.corruption.values.tolist() == ["shuffled_labels"] * 2  # what is left out corrupts no other
    assert "cannot do it" in caplog.text


def test_the_smallest_set_is_chosen_on_one_half_and_judged_on_the_other() -> None:
    options: dict[str, Any] = {"tasks": ["plural"], "n_prompts": 24, "method": "mean_ablation@last"}
    pool = [f"L{layer}H{head}" for layer in (1, 2, 4) for head in range(3)]
    smallest = hc.smallest_set("mini", SUITE, heads=pool, share=0.5, **options)
    assert set(smallest["head"].values) <= set(pool)
    assert smallest.attrs["size"] == int((smallest.share >= 0.5).values.argmax()) + 1
    assert smallest.attrs["heads"].split("+") == smallest["head"].values[: smallest.attrs["size"]].tolist()
    assert (smallest.low <= smallest.share).all()
    assert (smallest.share <= smallest.high).all()
    whole = hc.smallest_set("mini", SUITE, heads=smallest["head"].values.tolist(), share=1.0, **options)
    assert whole["head"].values[0] == smallest["head"].values[0]
    other = hc.smallest_set("mini", SUITE, heads=pool, share=0.5, seed=1, **options)
    assert not np.allclose(other.share[0], smallest.share[0])  # other halves


@for_each(
    "change,message",
    [
        ({"heads": []}, "at least one head"),
        ({"heads": "L0H1"}, "a list"),
        ({"heads": ["L0H1", "0.1"]}, "L0H1 is named twice"),
        ({"heads": ["L9H0"]}, "no head L9H0"),
        ({"method": "function_vector"}, "does not replace|Unknown"),
        ({"tasks": ["plural"]}, "tasks"),
        ({"n_random": -1}, "n_random"),
    ],
)
def test_wrong_heads_and_methods_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(HeadcatsError, match=message):
        hc.ablate(tiny_bridge("gpt2"), solved_batch("gpt2"), **{"heads": ["L0H1"], **change})


def test_what_cannot_be_measured_is_refused() -> None:
    batch = solved_batch("gpt2")
    swapped = PromptBatch.from_tokens(batch.corrupted, batch.clean, batch.answer, batch.distractor)
    with pytest.raises(DataError, match="no clear gap"):
        hc.ablate(tiny_bridge("gpt2"), swapped, heads=HEADS)
    with pytest.raises(DataError, match="two halves"):
        hc.smallest_set(tiny_bridge("gpt2"), solved_batch("gpt2", n=3))
    with pytest.raises(OptionError, match="share"):
        hc.smallest_set(tiny_bridge("gpt2"), batch, share=0)
    with pytest.raises(OptionError, match="reference"):
        hc.ablate("mini", SUITE, heads=HEADS, reference=batch)
    everything = [(layer, head) for layer in range(3) for head in range(4)]
    assert hc.ablate(tiny_bridge("gpt2"), batch, heads=everything, n_random=5).random.shape == (1, 0)
