"""Salient tokens equal a literal replica: gain over the whole vocabulary, top targets in both directions."""

import numpy as np
import pytest
import torch
from literal_relations import plain_weights, projection
from toy_cases import shared_toy
from toys import D_VOCAB, tiny_model

from headcats.base.errors import DataError, OptionError
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.papers.ov_relation.salient import salient_tokens


@pytest.mark.parametrize(
    ("layout", "head", "first_mlp"),
    [("gpt2", "2.1", "preset"), ("llama", "L0H3", "preset"), ("llama", "2.1", "preset"), ("llama", (2, 3), "off")],
)
@torch.no_grad()
def test_they_are_those_of_the_literal_replica(layout, head, first_mlp, monkeypatch):
    monkeypatch.setattr("headcats.papers.ov_relation.salient._ROWS", 25)
    toy = tiny_model(layout)
    found = salient_tokens(HookedModel(toy.model, tokenizer=toy.tokenizer), head, n=9, k=4, first_mlp=first_mlp)
    layer, number = Head.parse(head) if isinstance(head, str) else head
    weights = plain_weights(toy.oracle)
    use_mlp = layer > 0 and first_mlp != "off"
    gains = []
    for token in range(D_VOCAB):
        row = weights.W_E[token]
        row = weights.first_mlp(row[None])[0] if use_mlp else row
        group = number // (len(weights.W_O[layer]) // len(weights.W_V[layer]))
        written = row @ weights.W_V[layer][group] @ weights.W_O[layer][number]
        gains.append(float(written.norm() / row.norm()))
    order = np.argsort(gains)[::-1][:9]
    assert found.source_token.values.tolist() == order.tolist()
    np.testing.assert_allclose(found.gain.values, np.array(gains)[order], rtol=1e-5)
    for place, source in enumerate(order):
        values = projection(weights, layer, number, int(source), first_mlp=use_mlp)
        assert found.target.sel(direction="raised").values[place].tolist() == np.argsort(values)[::-1][:4].tolist()
        assert found.target.sel(direction="lowered").values[place].tolist() == np.argsort(values)[:4].tolist()
    assert found.source_text.values[0] == toy.tokenizer.decode([int(order[0])])
    assert found.target_text.dims == ("direction", "source", "place")
    assert found.attrs["head"] == f"L{layer}H{number}"


def test_a_token_without_an_embedding_comes_last():
    model = tiny_model("llama").model
    with torch.no_grad():
        model.embed.original_component.weight[7] = 0
    found = salient_tokens(model, "L0H0", n=D_VOCAB)
    assert found.source_token.values[-1] == 7
    assert found.gain.values[-1] == -np.inf


def test_texts_are_empty_without_a_tokenizer():
    model = HookedModel(shared_toy(n_layers=3).model)
    model.tokenizer = None
    found = salient_tokens(model, "L1H1", n=2, k=100)
    assert set(found.source_text.values) | set(found.target_text.values.ravel()) == {""}
    assert found.sizes["place"] == D_VOCAB  # no more targets than tokens


def test_what_does_not_exist_is_refused():
    model = shared_toy(n_layers=3).model
    with pytest.raises(DataError, match="no head L1H4"):
        salient_tokens(model, "L1H4")
    for options in ({"n": 0}, {"k": 0}):
        with pytest.raises(OptionError, match="at least 1"):
            salient_tokens(model, "L1H1", **options)
