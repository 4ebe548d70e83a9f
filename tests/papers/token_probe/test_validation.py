"""A study asks questions as messages of a chat, and `validate` judges them by their answers."""

import importlib

import pytest
from chat_layouts import WRAPPED, chat_ids, messages, with_chat
from counting import several_tokens
from toys import word_tokenizer

import headcats as hc
from headcats.base.errors import DataError
from headcats.base.registry import lookup
from headcats.papers.token_probe.answers import encoded_questions
from headcats.prompts.drop_report import DropReport
from headcats.study.method_run import suite_inputs
from headcats.study.own_template import with_own_template
from headcats.study.plan import plan
from headcats.study.validation import validate
from headcats.tasks.definition import Task

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


def test_sentences_are_judged_by_what_the_model_answers():
    model = hc.load_model("mini-cognitive", device="cpu")
    asked = {"suite": "sentences", "methods": ["token_probe"], "n_demos": 0, "n_prompts": 12}
    entry = validate(model, tasks=["say_sum"], **asked)["say_sum"]
    assert entry["refusal"] == ""
    assert entry["questions"] == {"kept": 12, "dropped": {}, "examples": {}}
    assert entry["n_right"] + entry["n_wrong"] == 12
    assert entry["right"] == entry["n_right"] / 12
    assert 0 < entry["n_right"] < 12  # half of the questions were taught
    assert entry["low"] < entry["right"] < entry["high"]
    # The same questions as in a run, from the first on.
    more = validate(model, tasks=["say_sum"], **asked | {"n_prompts": 13})
    assert 0 <= more["say_sum"]["n_right"] - entry["n_right"] <= 1


def test_sentences_that_cannot_be_asked_are_refused(counting_model):
    spoken = Task("spoken", "knowledge", "made up", several_tokens, exact="w4.*")
    found = validate(counting_model, suite=[spoken], n_prompts=4, n_demos=0, methods=["token_probe"])["spoken"]
    assert "n_right" not in found
    assert "'w4.*'" in found["refusal"]
    assert "no exact answer" in found["refusal"]
    # Beside a method that scores tasks it needs prompts like any other.
    assert "gap" not in validate(counting_model, suite=[spoken], n_prompts=4, n_demos=2, answers="single")["spoken"]


def test_sentences_are_judged_for_the_token_probe_that_is_studied(counting_model, monkeypatch):
    spoken = Task("spoken", "knowledge", "made up", several_tokens, exact="w4.*")
    found = validate(counting_model, suite=[spoken], n_prompts=4, n_demos=2, methods=["ov_relation"])["spoken"]
    assert "word_pairs" in found  # nothing is answered in sentences
    asked = []

    def answer(model, questions, settings, *, preset):
        asked.append((len(questions), preset))
        raise DataError("nothing answered")

    monkeypatch.setattr(importlib.import_module("headcats.papers.token_probe.fit"), "answer_questions", answer)
    given = {"suite": "sentences", "tasks": ["say_sum"], "n_prompts": 9, "n_demos": 0}
    found = validate(counting_model, methods=["ov_relation", "token_probe:questions=3"], **given)["say_sum"]
    assert (asked, found["refusal"]) == ([(3, "orgad2025")], "nothing answered")


def test_questions_are_messages(counting_model):
    chatty = hc.load_model(counting_model, tokenizer=with_chat(word_tokenizer(), WRAPPED))
    asked = Task("asked", "knowledge", "", lambda n, *, seed: [("w1", "w40,w41"), ("w2", "w40,w42")], exact=r"w4[12]")
    study = with_own_template(
        plan(suite=[asked], n_prompts=2, n_demos=0, methods=["token_probe"], template="chat"), chatty
    )
    questions = lookup("method", "token_probe").ask(suite_inputs(chatty, study))
    encoded = encoded_questions(chatty, questions, DropReport())
    assert [list(ids) for _, ids, _ in encoded] == [
        chat_ids(chatty.tokenizer, messages([], question.item)) for question in questions
    ]
    assert len(encoded) == 2
