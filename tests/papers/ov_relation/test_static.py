"""Pairs of single tokens; their scores and null equal a literal replica, whatever the chunk and the model class."""

import numpy as np
import pytest
import torch
import toys
from literal_relations import literal_direct, literal_null, literal_scores
from toy_cases import TOYS, shared_toy
from toys import D_VOCAB, tiny_model, word_tokenizer
from transformers import LlamaConfig

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import adapt
from headcats.models.circuit import Circuit
from headcats.papers.ov_relation.settings import RelationSettings
from headcats.papers.ov_relation.static import permutations, relation_counts, single_tokens
from headcats.prompts.tokens import UNKNOWN_WORD

SETTINGS = RelationSettings(k=6, copying_k=2, min_pairs=2, permutations=7)


def random_pairs(n, *, seed, n_targets=D_VOCAB):
    """Different pairs; with few targets each of them comes often, and sources come more than once."""
    cells = np.random.default_rng(seed).permutation(D_VOCAB * n_targets)[:n]
    return [(int(cell) // n_targets, int(cell) % n_targets) for cell in cells]


PAIRS = {"many": random_pairs(25, seed=0), "few": random_pairs(18, seed=1, n_targets=3)}
PAIRS["copying"] = [(token, token) for token in range(3, 23)]


def counts_of(model, settings=SETTINGS, *, pairs=PAIRS, seed=0):
    model = adapt(model)
    relations = [single_tokens(name, own, tokenizer=None, d_vocab=model.d_vocab) for name, own in pairs.items()]
    return relation_counts(Circuit(model), relations, settings=settings, seed=seed)


def check_against_replica(found, oracle, *, first_mlp=True, pairs=PAIRS):
    for name, own in pairs.items():
        k = 2 if name == "copying" else 6
        assert found[name].direct == round(len(own) * literal_direct(oracle, own, k=k, later=False))
        assert found[name].direct_later == round(len(own) * literal_direct(oracle, own, k=k, later=first_mlp))
        orders = permutations(len(own), n=7, seed=0, task=name)
        for side, sign in (("top", 1), ("bottom", -1)):
            options = {"k": k, "sign": sign, "first_mlp": first_mlp}
            expected = literal_scores(oracle, own, **options)
            np.testing.assert_array_equal(found[name].shares(side), expected, err_msg=f"{name} {side}")
            assert expected.max() > 0, "nothing but 0"
            null = literal_null(oracle, own, orders, **options)
            pooled = getattr(found[name], f"null_{side}") / len(own)
            assert sorted(pooled.ravel().tolist()) == sorted(null), f"{name} {side}"
            if side == "top":
                by_order = np.reshape(null, (-1, len(orders))).max(0)
                assert found[name].reached_by_chance(0.2) == (by_order >= 0.2).mean()
            assert found[name].null(side, percentile=99.9) == np.quantile(null, 0.999, method="inverted_cdf")


@pytest.mark.parametrize(("layout", "backend"), TOYS)
def test_scores_and_null_are_those_of_the_literal_replica(layout, backend, monkeypatch):
    toy = tiny_model(layout, backend, n_layers=2)
    monkeypatch.setattr("headcats.papers.ov_relation.extremes._CHUNK", 7)
    check_against_replica(counts_of(toy.model), toy.oracle)


def test_without_the_first_mlp():
    toy = shared_toy("llama")
    settings = RelationSettings(k=6, copying_k=2, permutations=7, first_mlp=False)
    found = counts_of(toy.model, settings)
    check_against_replica(found, toy.oracle, first_mlp=False)
    with_mlp = counts_of(toy.model)["many"].top
    assert np.array_equal(found["many"].top[0], with_mlp[0])  # layer 0 reads the embedding either way
    assert not np.array_equal(found["many"].top[1:], with_mlp[1:])


@pytest.mark.parametrize("groups", [1, 4])
def test_any_number_of_groups_of_heads(groups, monkeypatch):
    monkeypatch.setattr(toys, "LlamaConfig", lambda **given: LlamaConfig(**{**given, "num_key_value_heads": groups}))
    toy = tiny_model("llama", n_layers=2)
    check_against_replica(counts_of(toy.model, pairs={"few": PAIRS["few"]}), toy.oracle, pairs={"few": PAIRS["few"]})


def test_chunks_of_the_vocabulary_change_nothing(monkeypatch):
    model = shared_toy("llama").model
    whole = counts_of(model)
    # Numbers per block: all rows at once, a few, one row at a time.
    for chunk, block in ((1, 1 << 23), (7, 200), (D_VOCAB - 1, 1), (10 * D_VOCAB, 1 << 23)):
        monkeypatch.setattr("headcats.papers.ov_relation.extremes._BLOCK", block)
        monkeypatch.setattr("headcats.papers.ov_relation.extremes._CHUNK", chunk)
        for name, one in counts_of(model).items():
            for mine, other in zip(one, whole[name], strict=True):
                np.testing.assert_array_equal(mine, other)


def test_a_head_that_writes_nothing_maps_nothing():
    model = tiny_model("gpt2").model
    with torch.no_grad():
        model.blocks[2].attn.original_component.c_proj.weight[8:16] = 0
    found = counts_of(model)["few"]
    assert found.top[2, 1] == found.bottom[2, 1] == 0
    assert found.top[2, 0] > 0


def test_tokens_that_share_the_last_place_are_all_in():
    model = tiny_model("llama").model
    unembedding = model.unembed.original_component.weight
    with torch.no_grad():
        unembedding[40:50] = unembedding[39]  # eleven tokens of one value
    pairs = {"ties": [(source, target) for source in range(3, 9) for target in range(39, 50)]}
    found = counts_of(model, RelationSettings(k=6, min_pairs=2), pairs=pairs)["ties"]
    per_source = np.concatenate([found.top.ravel(), found.bottom.ravel()])
    assert (per_source % 11 == 0).all()  # of equal tokens all count or none
    assert per_source.max() > 0


def test_a_source_that_overflows_is_named():
    model = tiny_model("llama").model
    with torch.no_grad():
        model.embed.original_component.weight[5] *= 1e37
        model.blocks[0].attn.original_component.v_proj.weight *= 1e4
    pairs = {"too large": [(5, 6), (7, 8)]}
    with pytest.raises(ModelError, match=r"layer 0 .* overflow"):
        counts_of(model, pairs=pairs)


def test_layers_with_fewer_heads_are_padded():
    model = shared_toy(n_layers=3).model
    counts = counts_of(model)["many"]
    padded = counts._replace(top=np.pad(counts.top, ((0, 0), (0, 2)), constant_values=-1))
    assert np.isnan(padded.shares("top")[:, 4:]).all()
    assert not np.isnan(padded.shares("top")[:, :4]).any()


class Spaced:
    """A tokenizer that knows some words with a space before them, and cuts the others into letters."""

    unk_token_id = bos_token_id = eos_token_id = None
    known = (" Paris", " France", " Rome", " Italy")

    def __call__(self, texts, *, add_special_tokens, **options):
        assert not add_special_tokens or texts == [""]
        return {
            "input_ids": [[self.known.index(text)] if text in self.known else list(range(len(text))) for text in texts]
        }


def read(pairs, *, tokenizer=None, **options):
    return single_tokens("capitals", pairs, tokenizer=tokenizer, d_vocab=D_VOCAB, **options)


def test_words_are_read_with_a_space_before_them():
    found = read([("France", "Paris"), ("Italy", "Rome")], tokenizer=Spaced())
    assert (found.sources.tolist(), found.targets.tolist()) == ([1, 3], [0, 2])
    assert found.words == (("France", "Paris"), ("Italy", "Rome"))
    assert not found.copying


def test_words_of_several_tokens_are_dropped_and_named():
    pairs = [("France", "Paris"), ("Mali", "Paris"), ("Italy", "Bamako"), ("France", "Paris")]
    found = read(pairs, tokenizer=Spaced())
    assert len(found) == found.report.kept == 1
    assert sorted(reason.split()[0] for reason in found.report.dropped) == ["given", "source", "target"]
    assert set(found.report.dropped.values()) == {1}
    with pytest.raises(DataError, match=r"'capitals' .* 1 kept; .*'Mali'.* 2"):
        read(pairs, tokenizer=Spaced(), min_pairs=2)


def test_words_the_tokenizer_does_not_know_are_no_tokens():
    found = read([("w1", "w2"), ("w1", "zebra")], tokenizer=word_tokenizer())
    assert found.report.dropped == {UNKNOWN_WORD: 1}
    assert found.sources.tolist() == [7]


def test_copying_is_recognised_after_the_gate():
    pairs = [("France", "France"), ("Italy", "Italy"), ("Mali", "Paris")]
    assert read(pairs, tokenizer=Spaced()).copying
    assert not read([("France", "France"), ("Italy", "Rome")], tokenizer=Spaced()).copying


def test_token_ids_are_taken_as_they_are():
    found = read([(3, 4), [5, 5]])
    assert (found.sources.tolist(), found.targets.tolist()) == ([3, 5], [4, 5])
    assert found.words == (("3", "4"), ("5", "5"))


def test_anything_else_is_refused():
    for pairs, says in (
        ([("France", "Paris")], "no tokenizer"),
        ([(3, D_VOCAB)], f"token id {D_VOCAB}; .* 0 to {D_VOCAB - 1}"),
        ([(3, 4), ("France", "Paris")], r"holds \(3, 4\)"),
        ([("France", "Paris", "Rome")], r"\(source, target\)"),
        (["France"], "holds 'France'"),
        ([(True, False)], r"holds \(True, False\)"),
        ([], "0 kept"),
    ):
        with pytest.raises(DataError, match=says):
            read(pairs)
