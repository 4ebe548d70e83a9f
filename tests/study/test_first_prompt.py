"""The first prompt token by token, under tokenizers of every layout."""

from dataclasses import replace

import pytest
from counting import finished_pairs
from tokenizer_zoo import ZOO

from headcats.prompts.encode import encode_pairs
from headcats.prompts.pair import PromptPair
from headcats.prompts.tokens import bos_of
from headcats.study.first_prompt import first_prompt
from headcats.study.plan import plan
from headcats.study.preparation import Preparation, Prepared
from headcats.tasks.definition import Task

PAIR = PromptPair(
    "Italy 1", "Italy", "France → Paris\nItaly →", "France → French\nItaly →", " Rome", " Italian", "language"
)  # fmt: skip
TASK = Task("t", "c", "s", finished_pairs)


@pytest.fixture(scope="module", params=ZOO)
def tokenizer(request):
    return ZOO[request.param]()


def shown(pair, tokenizer, **options):
    batches, _ = encode_pairs([pair], tokenizer, **options)
    return batches[0], first_prompt(Prepared(TASK, tuple(batches), first=pair), tokenizer)


def test_joined_they_are_prompts_and_answers(tokenizer):
    batch, found = shown(PAIR, tokenizer)
    for prompt, word in (("clean", "answer"), ("corrupted", "distractor")):
        texts = found[prompt] + found[word]
        assert "".join(texts) == getattr(PAIR, prompt) + getattr(PAIR, word)
        n_bos = len(bos_of(tokenizer))
        assert n_bos + len(found[prompt]) == getattr(batch, prompt).shape[1]
        assert len(found[word]) == (getattr(batch, f"{word}s")[0] >= 0).sum()
    assert found["key"] == "Italy 1"
    assert found["bos"] == tokenizer.decode(bos_of(tokenizer))
    assert found["bos_written"] in (found["bos"], None)


def test_of_answers_that_count_by_their_first_token_there_is_the_first():
    tokenizer = ZOO["byte-level"]()
    pair = replace(PAIR, answer=" Romeward")
    whole, first = (shown(pair, tokenizer, answers=answers)[1] for answers in ("whole", "first_token"))
    assert len(whole["answer"]) > 1
    assert first["answer"] == whole["answer"][:1]
    assert first["clean"] == whole["clean"]


def test_what_answer_and_distractor_begin_with_stands_in_the_prompts():
    pair = PromptPair("t/0", "3", "2 → 3\n3 →", "2 → 1\n3 →", " 4", " 2")
    _, found = shown(pair, ZOO["SentencePiece BPE"]())
    assert "".join(found["clean"]) == "2 → 3\n3 → "
    assert (found["answer"], found["distractor"]) == (["4"], ["2"])


def test_tokens_that_are_not_those_of_the_text_are_decoded():
    """As where a study writes the text in another way before it is encoded."""
    tokenizer = ZOO["byte-level"]()
    batches, _ = encode_pairs([PromptPair("k", "i", "one two:", "two one:", " three", " four")], tokenizer)
    found = first_prompt(Prepared(TASK, tuple(batches), first=PAIR), tokenizer)
    assert "".join(found["clean"] + found["answer"]) == "one two: three"


def test_it_is_the_first_that_is_kept(model):
    first, second, *rest = finished_pairs(24, seed=0)
    unknown = replace(first, clean="nowhere →")
    task = Task("finished", "c", "s", lambda n, *, seed: [unknown, second, *rest])
    prepared = Preparation(model, plan(suite=task, n_prompts=4)).of("finished")
    assert prepared.prompts.dropped == {"word unknown to the tokenizer": 1}
    found = first_prompt(prepared, model.tokenizer)
    assert found["key"] == second.key
    assert "".join(found["corrupted"]) == second.corrupted


def test_a_task_without_prompts_has_none(model):
    assert first_prompt(Prepared(TASK, problem="no usable prompt"), model.tokenizer) == {}
