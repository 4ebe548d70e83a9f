"""Attention of the last token to roles, against the attentions of transformers on one text at a time."""

import json
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from batches import random_role_batch, role_batch
from scripted import EXACT, VOCABULARY, ScriptedModel, scripted, spaced_tokenizer
from toys import BACKENDS, LAYOUTS, hf_model, random_tokens, tiny_model

import headcats as hc
from headcats.errors import DataError, ModelError, OptionError, UnknownNameError
from headcats.figures import data
from headcats.methods.token_probe import role_attention as attention
from headcats.methods.token_probe.figure import layer_token
from headcats.methods.token_probe.role_attention import attention_by_role
from headcats.methods.token_probe.settings import PRESETS
from headcats.models import generation, patterns
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch

PAPER = PRESETS["orgad2025"]


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
def asked() -> tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset]:
    model, questions = scripted(12, share=(0.3, 0.7))
    return model, questions, attention_by_role(model, questions)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backend", BACKENDS)
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


@pytest.mark.parametrize("backend", BACKENDS)
def test_attention_of_answers_is_that_of_transformers_on_one_text_at_a_time(backend: Any) -> None:
    planned, questions = scripted(12, share=(0.3, 0.7))
    model = ScriptedModel(planned.script, backend=backend)
    found = attention_by_role(model, questions)
    expected = by_hand(planned)
    assert found.attention_by_head.dims == ("layer", "head", "role")
    assert found.attention.dims == ("layer", "role")
    assert tuple(found.role.values) == PAPER.roles
    assert np.abs(found.attention_by_head.values - expected).max() < 1e-5
    assert np.abs(found.attention.values - expected.mean(1)).max() < 1e-5
    assert len({len(text) for text in planned.wrong}) > 3  # of different length
    assert np.ptp(expected, axis=-1).min() > 0.01  # roles differ by more than the tolerance


def test_answers_that_are_left_out_are_counted(
    asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset],
) -> None:
    model, _, found = asked
    short = sum(shape.length - shape.q_len < 5 for _, shape in model.wrong.values())
    assert short > 0
    assert (int(found.n), int(found.n_left_out), int(found.n_cut)) == (24 - short, short, 0)
    assert f"{24 - short} kept; {short} answer" in found.left_out
    provenance = json.loads(found.provenance)
    assert (provenance["questions"], list(provenance["left_out"].values())) == (24, [short])
    assert provenance["settings"]["roles"] == list(PAPER.roles)
    assert (found.method, found.preset) == ("attention", "orgad2025")


def test_answers_ended_by_the_limit_are_counted(
    asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset],
) -> None:
    model, questions, _ = asked
    cut = attention_by_role(model, questions, preset=hc.methods.token_probe.TokenProbeSettings(max_new_tokens=7))
    shapes = [shape for _, shape in model.wrong.values() if shape.length - shape.q_len >= 7]
    # A last digit at the limit is the end of the answer: left out.
    assert int(cut.n_cut) == sum(shape.last - shape.q_len < 6 for shape in shapes) > 0
    assert cut.preset == "custom"


def test_roles_can_be_chosen(asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset]) -> None:
    model, questions, found = asked
    some = attention_by_role(model, questions, roles=["-1", "last_q"])
    assert some.role.values.tolist() == ["-1", "last_q"]
    xr.testing.assert_allclose(some.attention, found.attention.sel(role=["-1", "last_q"]))
    one = attention_by_role(model, questions, roles="exact_answer_last")
    xr.testing.assert_allclose(one.attention, found.attention.sel(role=["exact_answer_last"]))


def test_texts_go_through_the_model_a_few_at_a_time(
    asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, questions, found = asked
    monkeypatch.setattr(generation, "TOKENS_AT_ONCE", 40)
    xr.testing.assert_allclose(attention_by_role(model, questions), found, atol=1e-6)


def test_figures_and_files_take_it(
    asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset], tmp_path: Any
) -> None:
    found = asked[2]
    fig = layer_token(found, title="Attention", layout="paper")
    frame = data(fig)
    assert frame.variable.unique().tolist() == ["attention"]
    assert frame[frame.highlighted].role.unique().tolist() == list(PAPER.roles[3:7])
    assert np.abs(frame.value.to_numpy() - found.attention.values.ravel()).max() < 1e-6
    box = next(trace for trace in fig.data if trace.name == "exact answer")
    assert (min(box.x), max(box.x), min(box.y), max(box.y)) == (2.5, 6.5, -0.5, 1.5)
    found.to_netcdf(tmp_path / "attention.nc", engine="h5netcdf")
    xr.testing.assert_identical(xr.load_dataset(tmp_path / "attention.nc", engine="h5netcdf"), found)


def test_the_public_name_takes_a_question_alone(
    asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset],
) -> None:
    model, questions, _ = asked
    sentence = next(one for one in questions if len(one.answer.split()) > 6)
    xr.testing.assert_identical(
        hc.methods.token_probe.attention_by_role(model, sentence),
        hc.methods.token_probe.attention_by_role(model, [sentence]),
    )


@pytest.mark.parametrize(
    ("mixed", "came"),
    [((), "none of either"), ((0, 1), "PromptBatch and Question"), ((1, 0), "PromptBatch and Question")],
)
def test_prompts_and_questions_do_not_go_together(
    asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset], mixed: tuple[int, ...], came: str
) -> None:
    both: list[Any] = [random_role_batch(), asked[1][0]]
    with pytest.raises(DataError, match=f"got {came}"):
        attention_by_role(asked[0], [both[place] for place in mixed])


def test_unusable_questions_are_refused(
    asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset],
) -> None:
    model, _, _ = asked
    unknown = hc.methods.token_probe.Question("1 plus unheard →", "the sum is 8 5 now", EXACT)
    with pytest.raises(DataError, match="1 word unknown"):
        attention_by_role(model, [unknown])
    model, questions = scripted(3)
    silent = ScriptedModel({prompt: model.script[prompt][:1] for prompt in model.script})
    with pytest.raises(DataError, match="3 no exact answer"):
        attention_by_role(silent, questions)


def test_bad_options_are_refused(
    asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset],
) -> None:
    model, questions, _ = asked
    batch: PromptBatch = random_role_batch()
    with pytest.raises(DataError, match="at least one role"):
        attention_by_role(model, batch, roles=[])
    with pytest.raises(OptionError, match="each named once"):
        attention_by_role(model, questions, roles=[])
    with pytest.raises(UnknownNameError, match="'exact_answer_first'"):
        attention_by_role(model, questions, roles=["exact_answer_frist"])
    with pytest.raises(UnknownNameError, match="'orgad2025'"):
        attention_by_role(model, questions, preset="orgad2024")
    with pytest.raises(OptionError, match="preset is about"):
        attention_by_role(model, batch, preset=hc.methods.token_probe.TokenProbeSettings(min_exact_tokens=1))


def test_models_without_patterns_or_tokenizer_are_refused_before_they_answer(
    asked: tuple[ScriptedModel, list[hc.methods.token_probe.Question], xr.Dataset], monkeypatch: pytest.MonkeyPatch
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
