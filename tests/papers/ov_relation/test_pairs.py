"""Which pairs of words count: those of single tokens, with the others named."""

import pytest
from toys import D_VOCAB, word_tokenizer

from headcats.base.errors import DataError
from headcats.papers.ov_relation.pairs import single_tokens
from headcats.prompts.tokens import UNKNOWN_WORD


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
