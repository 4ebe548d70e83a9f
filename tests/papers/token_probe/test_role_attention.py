"""Attention of the last token to roles, against the attentions of transformers on one text at a time."""

import json
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from batches import random_role_batch, role_batch
from counting import SUITE
from scripted import VOCABULARY, ScriptedModel, scripted, spaced_tokenizer
from toy_cases import TOYS
from toys import hf_model, random_tokens, tiny_model

import headcats as hc
from headcats.base.errors import DataError, ModelError, OptionError
from headcats.models import patterns
from headcats.models.adapter import HookedModel
from headcats.papers.token_probe import role_attention as attention
from headcats.papers.token_probe.role_attention import attention_by_role
from headcats.papers.token_probe.settings import PRESETS
from headcats.prompts.batch import PromptBatch

PAPER = PRESETS["orgad2025"]
Asked = tuple[ScriptedModel, list[hc.papers.token_probe.Question], xr.Dataset]


def by_hand(model: ScriptedModel) -> np.ndarray:
    """`(layer, head, role)`: every scripted answer of five tokens or more alone through transformers."""
    oracle = hf_model("llama", n_layers=2, d_vocab=len(VOCABULARY))
    found = []
    for text, (_, shape) in model.wrong.items():
        if shape.length - shape.q_len < 5:
            continue
        inside = [shape.first - 1, shape.first, shape.last, shape.last + 1]
        places = [shape.q_len - 1, shape.q_len, shape.q_len + 1, *inside, *range(-8, 0)]
        with torch.no_grad():
            patterns = oracle(torch.tensor([text]), output_attentions=True).attentions
        found.append([pattern[0, :, -1, places].double().numpy() for pattern in patterns])
    return np.mean(found, axis=0)


@pytest.fixture(scope="module")
def asked() -> Asked:
    model, questions = scripted(12, share=(0.3, 0.7))
    return model, questions, attention_by_role(model, questions)


@pytest.mark.parametrize(("layout", "backend"), TOYS)
def test_attention_of_prompts_is_that_of_transformers(layout: Any, backend: Any) -> None:
    toy = tiny_model(layout, backend, n_layers=2)
    labels = ("bos", "x1[0/2]", "x1[1/2]", "y1", "x_query", "last")
    batch = role_batch(random_tokens(12, 6).tolist(), [labels] * 12)
    found = attention_by_role(toy.model, batch)
    with torch.no_grad():
        patterns = toy.oracle(batch.clean, output_attentions=True).attentions
    for layer, pattern in enumerate(patterns):
        row = pattern[:, :, -1].mean(0)  # head, pos
        expected = torch.stack([row[:, 0], row[:, 1] + row[:, 2], row[:, 3], row[:, 4], row[:, 5]], -1)
        assert np.abs(found.attention_by_head.sel(layer=layer).values - expected.numpy()).max() < 1e-5
        assert np.abs(found.attention.sel(layer=layer).values - expected.mean(0).numpy()).max() < 1e-5
    assert abs(found.attention.sum("role") - 1).max() < 1e-6
    assert set(found.data_vars) == {"attention", "attention_by_head", "n"}
    assert found.left_out == ""


def test_attention_of_answers_is_that_of_transformers_on_one_text_at_a_time(asked: Asked) -> None:
    planned, _, found = asked
    expected = by_hand(planned)
    assert found.attention_by_head.dims == ("layer", "head", "role")
    assert found.attention.dims == ("layer", "role")
    assert tuple(found.role.values) == PAPER.roles
    assert np.abs(found.attention_by_head.values - expected).max() < 1e-5
    assert np.abs(found.attention.values - expected.mean(1)).max() < 1e-5
    assert len({len(text) for text in planned.wrong}) > 3  # of different length
    assert np.ptp(expected, axis=-1).min() > 0.01  # roles differ by more than the tolerance


def test_answers_that_are_left_out_are_counted(asked: Asked) -> None:
    model, _, found = asked
    short = sum(shape.length - shape.q_len < 5 for _, shape in model.wrong.values())
    assert short > 0
    assert (int(found.n), int(found.n_left_out), int(found.n_cut)) == (24 - short, short, 0)
    assert f"{24 - short} kept; {short} answer" in found.left_out
    provenance = json.loads(found.provenance)
    assert (provenance["questions"], list(provenance["left_out"].values())) == (24, [short])
    assert provenance["settings"]["roles"] == list(PAPER.roles)
    assert (found.method, found.preset) == ("attention", "orgad2025")


def test_roles_can_be_chosen(asked: Asked) -> None:
    model, questions, found = asked
    some = attention_by_role(model, questions, roles=["-1", "last_q"])
    assert some.role.values.tolist() == ["-1", "last_q"]
    xr.testing.assert_allclose(some.attention, found.attention.sel(role=["-1", "last_q"]))
    one = attention_by_role(model, questions, roles="exact_answer_last")
    xr.testing.assert_allclose(one.attention, found.attention.sel(role=["exact_answer_last"]))


def test_prompts_and_questions_do_not_go_together(asked: Asked) -> None:
    batch, question = random_role_batch(), asked[1][0]
    for mixed, came in (([], "none"), ([batch, question], "PromptBatch and"), ([question, batch], "PromptBatch and")):
        with pytest.raises(DataError, match=f"got {came}"):
            attention_by_role(asked[0], mixed)
    whole = next(one for one in asked[1] if len(one.answer.split()) > 6)
    xr.testing.assert_identical(attention_by_role(asked[0], whole), attention_by_role(asked[0], [whole]))


def test_bad_options_are_refused(asked: Asked) -> None:
    model, questions, _ = asked
    batch: PromptBatch = random_role_batch()
    with pytest.raises(DataError, match="one role"):
        attention_by_role(model, batch, roles=[])
    with pytest.raises(OptionError, match="named once"):
        attention_by_role(model, questions, roles=[])
    with pytest.raises(OptionError, match="preset is about"):
        attention_by_role(model, batch, preset=hc.papers.token_probe.TokenProbeSettings(min_exact_tokens=1))


def test_models_without_patterns_or_tokenizer_are_refused_before_they_answer(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, questions, _ = asked
    bare = HookedModel(model.model, tokenizer=spaced_tokenizer())
    bare.tokenizer = None
    with pytest.raises(ModelError, match="has no tokenizer"):
        attention_by_role(bare, questions)
    monkeypatch.setattr(patterns, "hook_pattern", lambda layer: f"blocks.{layer}.attn.hook_nothing")
    monkeypatch.setattr(attention, "answer_questions", lambda *given, **options: pytest.fail("answered"))
    with pytest.raises(ModelError, match="hook_nothing"):
        attention_by_role(model, questions)


def test_prompts_of_a_task_have_roles(counting_model):
    batch, *_ = hc.task_prompts(counting_model, "always_a", suite=SUITE, n_prompts=8, n_demos=2)
    assert {"y1", "x_query"} <= set(attention_by_role(counting_model, batch)["role"].values.tolist())
    assert hc.papers.token_probe.patching_by_role(counting_model, batch, roles=["y1", "x_query"]).sizes["role"] == 2
