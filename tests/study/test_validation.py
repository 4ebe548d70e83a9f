"""`validate` says what a run would do, and does nothing else."""

import json
import re

import pytest
from counting import finished_pairs
from tokenizer_zoo import ZOO

import headcats as hc
from headcats.prompts.encode import encode_pairs
from headcats.prompts.pair import PromptPair
from headcats.prompts.tokens import bos_of
from headcats.study.preparation import Prepared
from headcats.study.validation import first_prompt, validate
from headcats.tasks.definition import Task


def test_it_says_what_a_run_finds(model, all_options, all_finished):
    found = validate(model, **all_options)
    stored = json.loads(hc.load(all_finished).attrs["manifest"])["tasks"]
    assert list(found) == list(stored)
    for task, entry in found.items():
        assert entry.pop("seconds") >= 0
        assert "".join(entry.pop("first_prompt")["clean"]).count(" →") == 3
        assert entry == stored[task]
    assert [task for task, entry in found.items() if entry["refusal"]] == ["shifted"]
    assert found["always_a"]["category"] == "Knowledge"
    assert found["always_a"]["source"] == "made up"


def test_it_says_how_a_short_list_is_shared_out(model, caplog):
    prompts = finished_pairs(0, seed=0)
    own = Task("own", "knowledge", "made up", lambda n, *, seed: [*prompts, *prompts[:6]])
    with caplog.at_level("WARNING", logger="headcats"):
        entry = validate(model, suite=[own], n_prompts=64)["own"]
    assert entry["n_left"] == 5
    assert [re.findall(r"\d+", message)[:3] for message in caplog.messages if "own" in message] == [["9", "16", "5"]]


def test_prompts_with_long_answers_are_counted(model):
    def explained(n, *, seed):
        return [
            PromptPair(str(n), str(n), f"w{n} →", "w1 →", " w40" + ",w40" * n, " w41", "corrupted")
            for n in (2, 5, 6, 7)
        ]

    suite = hc.make_suite([Task("explained", "knowledge", "made up", explained)])
    assert validate(model, suite=suite, n_prompts=4)["explained"]["doubts"] == {"long_answers": 2}


# ------------------------------------------------------------ the first prompt token by token, under any tokenizer
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
