"""Dynamic scores equal a literal replica, with and without context."""

import itertools
import json

import numpy as np
import pytest
import torch
import xarray as xr
from architectures import tiny_bridge
from covering import some
from literal_relations import is_top, plain_weights
from tokenizers.processors import TemplateProcessing
from toy_cases import TOYS, shared_toy
from toys import tiny_model, word_tokenizer

import headcats as hc
from headcats.base.errors import DataError, ModelError, OptionError, UnknownNameError
from headcats.models.adapter import HookedModel
from headcats.papers.ov_relation.dynamic import _pearson, dynamic_relation
from headcats.papers.ov_relation.settings import RelationSettings

PAIRS = {
    "map": [(f"w{i}", f"w{(7 * i) % 53}") for i in range(1, 5)],
    "copying": [(f"w{i}", f"w{i}") for i in range(1, 4)],
}
SETTINGS = RelationSettings(k=9, copying_k=4, min_pairs=2, permutations=3)
TEMPLATES = ("w40, <X>, w41→", "<X>")


def adapted(layout="gpt2", backend="bridge"):
    toy = tiny_model(layout, backend)
    return HookedModel(toy.model, tokenizer=toy.tokenizer), toy


@pytest.fixture(scope="module")
def model():
    return adapted("llama")[0]


@pytest.fixture(scope="module")
def scored(model):
    return static(model)


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


@pytest.mark.parametrize(("layout", "backend"), TOYS)
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
def test_tokens_are_the_tokenizers_own(scored, puts_bos):
    """What `tokenizer(text)` gives, with BOS or without."""
    toy = shared_toy("llama", n_layers=3)
    tokenizer = with_bos(word_tokenizer()) if puts_bos else word_tokenizer()
    model = HookedModel(toy.model, tokenizer=tokenizer)
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


def test_pooled_r(model, scored):
    """The paper's correlation: static scores once per template, beside the dynamic scores of all templates."""
    scored = scored.assign_coords(category=("task", ["Knowledge", "Algorithmic"])).assign_attrs(categories="[]")
    found = dynamic_relation(model, PAIRS, scored, templates=TEMPLATES)
    assert (found.category.values.tolist(), found.attrs["categories"]) == (["Knowledge", "Algorithmic"], "[]")
    for name, prefix in (("score", ""), ("suppression", "suppression_")):
        np.testing.assert_array_equal(found[f"{prefix}static"], scored[name])
        for context, task in itertools.product(("with", "without"), PAIRS):
            here = found.sel(context=context, task=task)
            by_head = scored[name].sel(task=task).values.ravel()
            of_templates = [here[name].sel(template=template).values.ravel() for template in TEMPLATES]
            dynamic = np.concatenate(of_templates)
            with np.errstate(invalid="ignore"):  # of a constant there is none
                expected = np.corrcoef(np.tile(by_head, len(TEMPLATES)), dynamic)[0, 1]
            assert float(here[f"{prefix}pooled_r"]) == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert found.pooled_r.notnull().any()


def test_pearson_leaves_out_heads_that_are_not_there_and_constants():
    static_scores = np.array([[1.0, 2.0, np.nan, 4.0], [3.0, 3.0, np.nan, 3.0]])
    dynamic = np.array([[2.0, 4.0, np.nan, 8.0], [1.0, 2.0, np.nan, 3.0]])
    r = _pearson(dynamic, static_scores)
    assert r[0] == pytest.approx(1.0)
    assert np.isnan(r[1])


def test_pairs_that_a_template_cannot_hold_are_counted(model):
    pairs = {"map": PAIRS["map"]}
    # Without the comma, "w9 w1" is one unknown word to this tokenizer.
    found = dynamic_relation(model, pairs, static(model, pairs), templates=["<X>, w9"])
    assert found.n.values.tolist() == [[4]]
    with pytest.raises(DataError, match="pass templates"):
        dynamic_relation(model, pairs, static(model, pairs), templates=["w9 <X>"])


def test_the_papers_templates_are_the_default(model, scored):
    with pytest.raises(DataError, match=r"'No <X> .* tokenizer"):
        dynamic_relation(model, PAIRS, scored)


def test_texts_that_are_no_templates(model, scored):
    for templates in (["no place"], ["<X>, <X>"], ["(<X>"], [], "<X>", ["<X>", "<X>"]):
        with pytest.raises(OptionError):
            dynamic_relation(model, PAIRS, scored, templates=templates)


def test_relations_of_other_pairs_or_models_are_refused(model, scored):
    with pytest.raises(DataError, match="'copying' was scored"):
        dynamic_relation(model, {"map": PAIRS["map"]}, scored, templates=TEMPLATES)
    with pytest.raises(DataError, match=r"'map' .* 4 pairs .* 3"):
        dynamic_relation(model, PAIRS | {"map": PAIRS["map"][1:]}, scored, templates=TEMPLATES)
    with pytest.raises(DataError, match="layers or heads"):
        dynamic_relation(model, PAIRS, scored.isel(layer=[0, 1]), templates=TEMPLATES)
    with pytest.raises(DataError, match="ov_relation returns"):
        dynamic_relation(model, PAIRS, xr.Dataset(), templates=TEMPLATES)
    nameless = HookedModel(model.model)
    nameless.tokenizer = None
    with pytest.raises(ModelError, match="no tokenizer"):
        dynamic_relation(nameless, PAIRS, scored, templates=TEMPLATES)


@pytest.mark.parametrize("name", some(["qwen3_next", "gpt_oss"], 1))
def test_heads_that_do_more_than_attend_have_no_run_without_context(name):
    model = HookedModel(tiny_bridge(name), tokenizer=word_tokenizer())
    scored = static(model)
    with pytest.raises(ModelError, match="gates or sinks"):
        dynamic_relation(model, PAIRS, scored, templates=["<X>, w1"])
