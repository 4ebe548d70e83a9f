"""EAP-IG's answers as token ids, read by the tokenizer that suite.toml names."""

import pytest
from tasks.files.layout_files import write
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import headcats as hc
from headcats.base.errors import DataError

KINDS = {
    "byte_level": (pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()),
    "metaspace": (pre_tokenizers.Metaspace(), decoders.Metaspace()),
}


@pytest.fixture(params=KINDS)
def tokenizer(request, tmp_path):
    """Folder of a small tokenizer, and the tokenizer."""
    small = Tokenizer(models.BPE())
    small.pre_tokenizer, small.decoder = KINDS[request.param]
    corpus = ["a told Ann told Bob 42"] * 9
    small.train_from_iterator(corpus, trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    fast = PreTrainedTokenizerFast(tokenizer_object=small)
    fast.save_pretrained(tmp_path / "tokenizer")
    return tmp_path / "tokenizer", fast


def table(folder, right, wrong):
    rows = f",clean,corrupted,corrupted_hard,correct_idx,incorrect_idx\n0,Ann told,Bob told,x,{right},{wrong}\n"
    return write(folder / "ioi.csv", rows)


def settings(folder, tokenizer):
    write(folder / "suite.toml", f"[files.'ioi.csv']\ntokenizer = '{tokenizer}'")


def test_ids_become_text_with_its_leading_space(tmp_path, tokenizer):
    path, fast = tokenizer
    ids = [fast.encode(text, add_special_tokens=False)[-1] for text in ("a told Ann", "a told Bob")]
    settings(tmp_path / "suite", path)
    for source in (table(tmp_path / "suite", *ids), tmp_path / "suite"):
        (task,) = hc.suite(source).tasks
        (pair,) = task.pairs(9, seed=0)
        assert (pair.answer, pair.distractor) == (" Ann", " Bob")


def test_ids_that_no_tokenizer_can_read(tmp_path, tokenizer):
    folder = tmp_path / "suite"
    with pytest.raises(DataError, match=r"'correct_idx' and 'incorrect_idx'.*suite\.toml"):
        hc.suite(table(folder, 1, 2))
    settings(folder, folder / "nowhere")
    with pytest.raises(DataError, match="nowhere' cannot") as caught:
        hc.suite(folder)
    assert "\n" not in str(caught.value)
    path, fast = tokenizer
    settings(folder, path)
    for right in (len(fast), -1, "Ann"):
        table(folder, right, 2)
        with pytest.raises(DataError, match=r"ioi\.csv, line 2: .* token"):
            hc.suite(folder)


def test_a_record_without_one_of_the_ids(tmp_path, tokenizer):
    entry = {"clean": "Ann told", "corrupted": "Bob told", "correct_idx": 1, "incorrect_idx": 2}
    del (lacking := dict(entry))["incorrect_idx"]
    write(tmp_path / "suite" / "ioi.json", [entry, lacking])
    write(tmp_path / "suite" / "suite.toml", f"[files.'ioi.json']\ntokenizer = '{tokenizer[0]}'")
    with pytest.raises(DataError, match=r"ioi\.json, record 2: .*'incorrect_idx'"):
        hc.suite(tmp_path / "suite")


def test_text_beside_ids_is_preferred(tmp_path):
    rows = "clean,corrupted,answer,wrong,correct_idx,incorrect_idx\nAnn told,Bob told, Bob, Ann,7,9\n"
    assert hc.suite(write(tmp_path / "both.csv", rows)).tasks[0].pairs(9, seed=0)[0].answer == " Bob"
