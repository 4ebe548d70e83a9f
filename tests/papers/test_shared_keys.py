"""Every method of a paper that scores heads says which of them share keys and values, in parts and joined."""

import pytest
from gate_toys import token_batch
from toy_cases import shared_toy
from toys import Toy

import headcats as hc
from headcats.models.adapter import HookedModel
from headcats.papers.head_gating.settings import GatingSettings
from headcats.papers.ov_relation.settings import RelationSettings

SHARED = [[0, 0, 1, 1]] * 2
PAIRS = {name: [(f"w{i}", f"w{i + step}") for i in range(20)] for name, step in (("next", 1), ("second", 2))}
RELATIONS = RelationSettings(k=6, copying_k=2, min_pairs=5, permutations=20)
GATES = GatingSettings(updates=2, batch=4, n_texts=16)
TEXTS = [token_batch(6, 7, targets=(2, 6)), token_batch(4, 5, seed=1)]


@pytest.fixture(scope="module")
def toy() -> Toy:
    return shared_toy("llama")


@pytest.fixture(scope="module")
def model(toy: Toy) -> HookedModel:
    return HookedModel(toy.model, tokenizer=toy.tokenizer)


def test_relations_and_their_members(model: HookedModel) -> None:
    relations = hc.methods.ov_relation(model, PAIRS, preset=RELATIONS, categories=dict.fromkeys(PAIRS, "Knowledge"))
    in_text = hc.papers.ov_relation.dynamic_relation(model, PAIRS, relations, templates=["<X> →"])
    relations.attrs["categories"] = '[{"name": "Knowledge", "colour": "#ff7f0e"}]'
    with pytest.warns(hc.errors.StatisticsWarning, match="many relations"):
        members = hc.categorize(relations, rule=hc.rules.threshold(value=0.05))
    for table in (relations, in_text, members):
        assert table.kv_head.values.tolist() == SHARED


def test_gates_and_their_reduction(model: HookedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headcats.papers.head_gating.stages.check_fit", lambda losses, *, names: None)
    gates = hc.methods.head_gating(model, TEXTS, preset=GATES, n_seeds=2)
    for table in (gates, hc.papers.head_gating.always_any(gates)):
        assert table.kv_head.dims == ("layer", "head")
        assert table.kv_head.values.tolist() == SHARED
