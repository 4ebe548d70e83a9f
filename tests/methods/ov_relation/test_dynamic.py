"""Dynamic scores equal a literal replica, with and without context."""

import json

import numpy as np
import pytest
import torch
import xarray as xr
from architectures import tiny_bridge
from literal_relations import is_top, plain_weights
from tokenizers.processors import TemplateProcessing
from toys import BACKENDS, tiny_model, word_tokenizer

import headcats as hc
from headcats.errors import DataError, ModelError, OptionError, UnknownNameError
from headcats.methods.ov_relation.dynamic import _pearson, dynamic_relation
from headcats.methods.ov_relation.settings import RelationSettings
from headcats.models.adapter import HookedModel

PAIRS = {
    "map": [(f"w{i}", f"w{(7 * i) % 53}") for i in range(1, 8)],
    "copying": [(f"w{i}", f"w{i}") for i in range(1, 6)],
}
SETTINGS = RelationSettings(k=9, copying_k=4, min_pairs=2, permutations=3)
TEMPLATES = ("w40, <X>, w41→", "<X>")


def adapted(layout="gpt2", backend="bridge"):
    toy = tiny_model(layout, backend)
    return HookedModel(toy.model, tokenizer=toy.tokenizer), toy


def static(model, pairs=PAIRS):
    return hc.methods.ov_relation(model, pairs, preset=SETTINGS)


def literal_z(model, tokens, source):
    """Per context, layer -> z at the last position; without context by editing the attention patterns themselves."""
    _, clean = model.capture(tokens)
    recorded = {}

    def only_the_source(pattern):
        pattern = pattern.clone()
        pattern[:, :, -1] = 0
        pattern[:, :, -1, source] = 1
        return pattern

    def record(layer):
        def edit(z):
            recorded[layer] = z[0, -1].clone()
            return clean[layer]  # what goes on is the clean z

        return edit

    hooks = {f"blocks.{layer}.attn.hook_pattern": only_the_source for layer in range(3)}
    hooks |= {f"blocks.{layer}.attn.hook_z": record(layer) for layer in range(3)}
    model.run(tokens, hooks=hooks)
    return {"with": {layer: z[0, -1] for layer, z in clean.items()}, "without": recorded}


def literal_scores(model, toy, ids_of):
    """Scores and suppressions in plain loops; `ids_of` writes a text as the tokens that the model reads."""
    weights = plain_weights(toy.oracle)
    hits = {name: np.zeros((2, len(TEMPLATES), len(PAIRS), 3, 4)) for name in ("score", "suppression")}

    def alone(word):
        return toy.tokenizer(word, add_special_tokens=False)["input_ids"][0]

    for t, template in enumerate(TEMPLATES):
        for r, (name, pairs) in enumerate(PAIRS.items()):
            for source, target in pairs:
                tokens = ids_of(template.replace("<X>", source))
                place = tokens.index(alone(source))
                for c, z in enumerate(literal_z(model, torch.tensor([tokens]), place).values()):
                    for layer in range(3):
                        for head in range(4):
                            values = (z[layer][head] @ weights.W_O[layer][head] @ weights.W_U).tolist()
                            k = 4 if name == "copying" else 9
                            hits["score"][c, t, r, layer, head] += is_top(values, alone(target), k)
                            turned = [-value for value in values]
                            hits["suppression"][c, t, r, layer, head] += is_top(turned, alone(target), k)
    n = np.array([len(pairs) for pairs in PAIRS.values()])[:, None, None]
    return {name: counts / n for name, counts in hits.items()}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", ["gpt2", "llama"])
def test_scores_are_those_of_the_literal_replica(layout, backend):
    model, toy = adapted(layout, backend)
    found = dynamic_relation(model, PAIRS, static(model), templates=TEMPLATES, bos="once")
    literal = literal_scores(model, toy, lambda text: [0, *toy.tokenizer(text, add_special_tokens=False)["input_ids"]])
    for name, shares in literal.items():
        np.testing.assert_array_equal(found[name].values, shares, err_msg=name)
        assert shares.max() > 0
    assert not np.array_equal(found.score.sel(context="with"), found.score.sel(context="without"))


def with_bos(tokenizer):
    """The tokenizer, putting BOS in front by itself, as Llama's does."""
    tokenizer._tokenizer.post_processor = TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    return tokenizer


@pytest.mark.parametrize("puts_bos", [False, True], ids=["as GPT-2", "as Llama"])
def test_tokens_are_the_tokenizers_own(puts_bos):
    """What `tokenizer(text)` gives, with BOS or without."""
    toy = tiny_model("llama")
    tokenizer = with_bos(word_tokenizer()) if puts_bos else word_tokenizer()
    model, scored = HookedModel(toy.model, tokenizer=tokenizer), static(adapted("llama")[0])
    assert tokenizer("w1")["input_ids"] == ([0, 7] if puts_bos else [7])
    found = dynamic_relation(model, PAIRS, scored, templates=TEMPLATES)
    literal = literal_scores(model, toy, lambda text: tokenizer(text)["input_ids"])
    for name, shares in literal.items():
        np.testing.assert_array_equal(found[name].values, shares, err_msg=name)
    once = dynamic_relation(model, PAIRS, scored, templates=TEMPLATES, bos="once")
    assert np.array_equal(once.score, found.score) == puts_bos
    assert [json.loads(table.attrs["provenance"])["bos"] for table in (found, once)] == ["own", "once"]
    with pytest.raises(UnknownNameError, match=r"'never'.*own"):
        dynamic_relation(model, PAIRS, scored, templates=TEMPLATES, bos="never")


def pearson(xs, ys):
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    product = x_squares = y_squares = 0.0
    for x, y in zip(xs, ys, strict=True):
        product += (x - mean_x) * (y - mean_y)
        x_squares += (x - mean_x) ** 2
        y_squares += (y - mean_y) ** 2
    return product / (x_squares * y_squares) ** 0.5


def test_pooled_r():
    """The paper's correlation: static scores once per template, beside the dynamic scores of all templates."""
    model, _ = adapted("llama")
    scored = static(model)
    found = dynamic_relation(model, PAIRS, scored, templates=TEMPLATES)
    for name, prefix in (("score", ""), ("suppression", "suppression_")):
        for context in ("with", "without"):
            for task in PAIRS:
                static_scores, dynamic_scores = [], []
                for template in TEMPLATES:
                    for layer in range(3):
                        for head in range(4):
                            place = {"task": task, "layer": layer, "head": head}
                            static_scores.append(float(scored[name].sel(place)))
                            dynamic_scores.append(
                                float(found[name].sel(place | {"context": context, "template": template}))
                            )
                r = float(found[f"{prefix}pooled_r"].sel(context=context, task=task))
                assert r == pytest.approx(pearson(static_scores, dynamic_scores), abs=1e-6)
        np.testing.assert_array_equal(found[f"{prefix}static"], scored[name])
    assert not np.allclose(found.pooled_r, found.mean_r)


def test_categories_stay_with_their_relations():
    model, _ = adapted()
    kinds = {"map": "Knowledge", "copying": "Algorithmic"}
    scored = hc.methods.ov_relation(model, PAIRS, preset=SETTINGS, categories=kinds)
    found = dynamic_relation(model, PAIRS, scored, templates=["<X>"])
    assert dict(zip(found.task.values.tolist(), found.category.values.tolist(), strict=True)) == kinds
    assert found.attrs["categories"] == scored.attrs["categories"]


def test_correlations_are_over_heads():
    model, _ = adapted("llama")
    scored = static(model)
    found = dynamic_relation(model, PAIRS, scored, templates=TEMPLATES)
    for name, static_name in (("score", "r"), ("suppression", "suppression_r")):
        for context in ("with", "without"):
            for task in PAIRS:
                expected = np.corrcoef(
                    scored[name].sel(task=task).values.ravel(),
                    found[name].sel(context=context, task=task, template=TEMPLATES[0]).values.ravel(),
                )[0, 1]
                r = float(found[static_name].sel(context=context, task=task, template=TEMPLATES[0]))
                assert r == pytest.approx(expected, nan_ok=True)
    mean = found.score.mean("template").sel(context="with", task="map").values.ravel()
    expected = np.corrcoef(scored.score.sel(task="map").values.ravel(), mean)[0, 1]
    assert float(found.mean_r.sel(context="with", task="map")) == pytest.approx(expected)


def test_pearson_leaves_out_heads_that_are_not_there_and_constants():
    static_scores = np.array([[1.0, 2.0, np.nan, 4.0], [3.0, 3.0, np.nan, 3.0]])
    dynamic = np.array([[2.0, 4.0, np.nan, 8.0], [1.0, 2.0, np.nan, 3.0]])
    r = _pearson(dynamic, static_scores)
    assert r[0] == pytest.approx(1.0)
    assert np.isnan(r[1])


def test_pairs_that_a_template_cannot_hold_are_counted():
    model, _ = adapted()
    pairs = {"map": PAIRS["map"]}
    # Without the comma, "w9 w1" is one unknown word to this tokenizer.
    found = dynamic_relation(model, pairs, static(model, pairs), templates=["<X>, w9"])
    assert found.n.values.tolist() == [[7]]
    with pytest.raises(DataError, match="pass templates"):
        dynamic_relation(model, pairs, static(model, pairs), templates=["w9 <X>"])


def test_the_papers_templates_are_the_default():
    model, _ = adapted()
    with pytest.raises(DataError, match=r"'No <X> .* tokenizer"):
        dynamic_relation(model, PAIRS, static(model))


@pytest.mark.parametrize("templates", [["no place"], ["<X>, <X>"], ["(<X>"], [], "<X>", ["<X>", "<X>"]], ids=str)
def test_texts_that_are_no_templates(templates):
    model, _ = adapted()
    with pytest.raises(OptionError):
        dynamic_relation(model, PAIRS, static(model), templates=templates)


def test_relations_of_other_pairs_or_models_are_refused():
    model, toy = adapted()
    scored = static(model)
    with pytest.raises(DataError, match="'copying' was scored"):
        dynamic_relation(model, {"map": PAIRS["map"]}, scored, templates=TEMPLATES)
    with pytest.raises(DataError, match=r"'map' .* 7 pairs .* 6"):
        dynamic_relation(model, PAIRS | {"map": PAIRS["map"][1:]}, scored, templates=TEMPLATES)
    with pytest.raises(DataError, match="other layers or heads"):
        dynamic_relation(model, PAIRS, scored.isel(layer=[0, 1]), templates=TEMPLATES)
    with pytest.raises(DataError, match="ov_relation returns"):
        dynamic_relation(model, PAIRS, xr.Dataset(), templates=TEMPLATES)
    nameless = HookedModel(toy.model)
    nameless.tokenizer = None
    with pytest.raises(ModelError, match="no tokenizer"):
        dynamic_relation(nameless, PAIRS, scored, templates=TEMPLATES)


@pytest.mark.parametrize("name", ["gpt_oss", "qwen3_next"])
def test_heads_that_do_more_than_attend_have_no_run_without_context(name):
    model = HookedModel(tiny_bridge(name), tokenizer=word_tokenizer())
    scored = static(model)
    with pytest.raises(ModelError, match="gates or sinks"):
        dynamic_relation(model, PAIRS, scored, templates=["<X>, w1"])
