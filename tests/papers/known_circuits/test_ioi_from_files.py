"""Indirect object identification from a table, from token ids and by TransformerLens: the same numbers."""

import csv

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from toys import hf_model
from transformers import PreTrainedTokenizerFast

import headcats as hc
from headcats.prompts.tokens import encode

FIELDS = ("clean", "corrupted", "answer", "distractor", "item")
N = 16


@pytest.fixture(scope="module")
def pairs():
    return hc.suite("ioi").named(["ioi_give_abba"])[0].pairs(N, seed=0)


@pytest.fixture(scope="module")
def model(pairs, tmp_path_factory):
    """Random weights, and a tokenizer with one token for every word, space and mark of these prompts."""
    splits = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="never"), pre_tokenizers.Punctuation()])
    words = {word for pair in pairs for name in FIELDS for word, _ in splits.pre_tokenize_str(getattr(pair, name))}
    vocabulary = {word: number for number, word in enumerate(["<bos>", "<unk>", *sorted(words)])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = splits
    folder = tmp_path_factory.mktemp("model")
    hf_model("gpt2", d_vocab=len(vocabulary)).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<bos>", unk_token="<unk>").save_pretrained(folder)
    return hc.load_model(folder, device="cpu")


@pytest.fixture(scope="module")
def from_table(model, pairs, tmp_path_factory):
    path = tmp_path_factory.mktemp("ioi") / "ioi.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["clean", "corrupted", "answer", "wrong", "item"])
        rows.writerows([getattr(pair, name) for name in FIELDS] for pair in pairs)
    (batch,) = hc.task_prompts(model, "ioi", suite=path, n_prompts=N)
    return batch


@pytest.fixture(scope="module")
def from_ids(model, pairs):
    clean, corrupted, answer, distractor = (
        encode(model.tokenizer, [getattr(pair, name) for pair in pairs]) for name in FIELDS[:4]
    )
    assert {len(row) for row in (*answer, *distractor)} == {1}
    with_bos = ([[0, *row] for row in rows] for rows in (clean, corrupted))
    return hc.PromptBatch.from_tokens(*with_bos, *([row[0] for row in rows] for rows in (answer, distractor)))


@pytest.mark.needs_tl4("transformer_lens.patching has no per-prompt values before 4")
def test_they_are_those_of_transformer_lens_patching(model, from_table, from_ids, record_property):
    from transformer_lens import patching

    rows, inner = torch.arange(N), model.model

    def logit_diff(logits):
        return logits[rows, -1, from_ids.answer] - logits[rows, -1, from_ids.distractor]

    def set_last(corrupted, index, clean):
        corrupted[:, -1, index[1]] = clean[:, -1, index[1]]
        return corrupted

    with torch.no_grad():
        _, cache = inner.run_with_cache(from_ids.clean)
        for positions, options in (("all", {}), ("last", {"patch_setter": set_last})):
            theirs = patching.get_act_patch_attn_head_out_all_pos(
                inner, from_ids.corrupted, cache, logit_diff, reduce="none", baseline=True, **options
            )
            ds = hc.sweep(model, from_table, "denoising_patch", positions=positions)
            ours = ds.patched.sel(metric="logit_diff").transpose("layer", "head", "prompt").values
            assert theirs.effect().abs().max() > 0.1
            difference = np.abs(theirs.values.numpy() - ours).max()
            record_property(f"largest difference, {positions}", float(difference))
            assert difference < 1e-5
