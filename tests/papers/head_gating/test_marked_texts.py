"""Texts of a task with their answers marked."""

import pytest
from chat_layouts import each, with_chat
from toys import word_tokenizer

from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.papers.head_gating.marked_texts import task_texts
from headcats.prompts.pair import PromptPair
from headcats.tasks.definition import Task

PAIRS = {f"in{i}": f"out{i}" for i in range(6)}
MARKED = "{% if m['role'] == 'user' %}{{ '> ' }}{% endif %}"
MINE = Task("mine", "Knowledge", "made up", lambda n, *, seed: list(PAIRS.items()))


def test_answers_are_marked_and_the_rest_is_the_prompt() -> None:
    texts = task_texts("mine", suite=[MINE], n_prompts=12, n_demos=2)
    for text in texts:
        ((start, end),) = text.spans
        assert text.text[start:end].strip() == PAIRS[text.item]
        assert end == len(text.text)
        assert text.text[:start].count("→") == 3
        assert (text.task, text.category) == ("mine", "Knowledge")
    assert sorted(text.item for text in texts) == sorted([*PAIRS] * 2)


def test_the_seed_and_the_template_decide_what_is_written() -> None:
    plain = task_texts("plural", n_prompts=3)
    assert task_texts("plural", n_prompts=3) == plain != task_texts("plural", n_prompts=3, seed=1)
    assert task_texts("plural", n_prompts=1, n_demos=0, template="question")[0].text.startswith("Q: ")


def test_a_chat_template_is_that_of_the_tokenizer_given() -> None:
    tokenizer = with_chat(word_tokenizer(), each("m['content']", before=MARKED))
    texts = task_texts("mine", suite=[MINE], n_prompts=4, n_demos=2, template="chat", tokenizer=tokenizer)
    assert all(text.text.count("> ") == 3 and text.bos == "written" for text in texts)
    forgetful = with_chat(word_tokenizer(), each("m['content']", of="messages[-7:]"))
    with pytest.raises(OptionError, match="'in5' after 'in0', 'out0'"):
        task_texts("mine", suite=[MINE], n_demos=4, template="chat", tokenizer=forgetful)
    with pytest.raises(OptionError, match=r"tokenizer=model\.tokenizer"):
        task_texts("mine", suite=[MINE], template="chat")
    with pytest.raises(OptionError, match="no chat template"):
        task_texts("mine", suite=[MINE], template="chat", tokenizer=word_tokenizer())


def test_what_cannot_be_made_is_refused() -> None:
    finished = Task("ready", "Knowledge", "made up", lambda n, *, seed: [PromptPair("k", "i", "a", "b", "c", "d")])
    with pytest.raises(DataError, match=r"finished .*AnsweredText"):
        task_texts("ready", suite=[finished])
    with pytest.raises(DataError, match=r"6 .*needs 7"):
        task_texts("mine", suite=[MINE], n_demos=6)
    with pytest.raises(UnknownNameError, match="Did you mean 'plural'"):
        task_texts("plurall")
    with pytest.raises(UnknownNameError, match="template"):
        task_texts("plural", template="arow")
    with pytest.raises(OptionError, match=r"n_prompts must be .* got 0"):
        task_texts("plural", n_prompts=0)
