"""Chat templates as templates: the tokens of `apply_chat_template`, every token with its role, the answer next."""

import itertools
from dataclasses import asdict
from typing import Any

import pytest
from chat_layouts import LAYOUTS, REFUSED, Layout, chat_ids, each, layout, messages, with_chat
from covering import spread
from toys import WORDS, word_tokenizer

import headcats as hc
from headcats.base.errors import OptionError
from headcats.base.registry import lookup
from headcats.prompts.answered import encode_answered, few_shot_texts
from headcats.prompts.chat import CHAT, as_messages, chat_template
from headcats.prompts.corruption import build_pairs
from headcats.prompts.encode import encode_pairs, usable_pairs
from headcats.prompts.pair import PromptPair, SecondCorruption, Span
from headcats.prompts.template import ARROW, check_writable
from headcats.tasks.definition import word_pairs

TASK, OTHERS = "country_capital", ("country_language",)
# Those whose reply in a conversation is not what follows the generation prompt.
ANOTHER_REPLY = ("empty think block",)


@pytest.fixture(params=LAYOUTS)
def chat(request: pytest.FixtureRequest) -> Layout:
    return layout(request.param)


@pytest.fixture(scope="module")
def words() -> dict[str, list[tuple[str, str]]]:
    """Word pairs of two tasks about the same words."""
    return {task.name: word_pairs(task, seed=0) for task in hc.suite("icl").named([TASK, *OTHERS])}


def rows(batches: list[Any]) -> list[tuple[Any, int]]:
    """Each prompt, as its batch and row."""
    return [(batch, row) for batch in batches for row in range(len(batch))]


def demonstrated(pair: PromptPair, lead: str, *, side: int) -> tuple[list[tuple[str, str]], str]:
    """The words of a prompt, by their roles."""
    text = (pair.clean, pair.corrupted)[side]
    words = {role: text[slice(*spans[side])] for role, spans in pair.roles.items()}
    numbers = itertools.takewhile(lambda number: f"x{number}" in words, itertools.count(1))
    return [(words[f"x{n}"], words[f"y{n}"].removeprefix(lead)) for n in numbers], words["x_query"]


# --------------------------------------------------------------------------------------------- the template
def test_the_texts_around_words_by_hand() -> None:
    for name in LAYOUTS:
        assert asdict(chat_template(layout(name).tokenizer)) == asdict(layout(name).template), name


@pytest.mark.parametrize(("name", "n_demos"), spread(LAYOUTS, [(1,), (4,)]))
def test_tokens_are_those_of_the_tokenizers_chat_template(name: str, words, n_demos: int) -> None:
    chat = layout(name)
    tokenizer, template = chat.tokenizer, chat_template(chat.tokenizer)
    usable = {name: usable_pairs(pairs, tokenizer, template=template)[0] for name, pairs in words.items()}
    assert all(len(usable[name]) > 0.9 * len(pairs) for name, pairs in words.items())
    made = build_pairs(TASK, usable.pop(TASK), usable, n=8, seed=0, template=template, n_demos=n_demos)
    batches, report = encode_pairs(made, tokenizer, bos=template.bos)
    assert (report.kept, sum(map(len, batches))) == (8, 8)
    by_key = {pair.key: pair for pair in made}
    for batch, row in rows(batches):
        pair = by_key[batch.keys[row]]
        sides = [
            (batch.clean[row], batch.labels[row], pair.answer, batch.answers[row]),
            (batch.corrupted[row], batch.corrupted_labels[row], pair.distractor, batch.distractors[row]),
        ]
        for side, (ids, labels, answer, scored) in enumerate(sides):
            turns = messages(*demonstrated(pair, template.lead, side=side))
            expected = chat_ids(tokenizer, turns)
            assert ids[: len(expected)].tolist() == expected
            # The answer comes next, but for the tokens with which the distractor begins, too.
            roles = [label.split("[")[0] for label in labels]
            assert roles[len(expected) - 1] == "between_query"
            assert set(roles[len(expected) :]) <= {"answer_start"}
            if name not in ANOTHER_REPLY:
                turns.append({"role": "assistant", "content": answer.removeprefix(template.lead)})
                reply = chat_ids(tokenizer, turns, add_generation_prompt=False)
                answered = [*ids.tolist(), *scored[scored >= 0].tolist()]
                assert reply[: len(answered)] == answered
            assert {"x1", "y1", f"x{n_demos}", f"between{n_demos}", f"y{n_demos}", "x_query"} <= set(roles)
            assert "other" not in roles
            assert (roles[0] == "bos") == (expected[0] == tokenizer.bos_token_id)
            assert roles.count("bos") <= 1
            query = tokenizer.decode([token for token, role in zip(ids, roles, strict=True) if role == "x_query"])
            assert query.strip() == pair.item


def test_answered_texts_have_the_same_tokens(chat: Layout, words) -> None:
    template = chat_template(chat.tokenizer)
    for n_demos in (0, 2):
        texts = few_shot_texts(words[TASK], n=3, n_demos=n_demos, template=template, seed=0, task=TASK, purpose="test")
        batches, report = encode_answered(texts, chat.tokenizer)
        assert report.kept == 3
        for batch, row in rows(batches):
            text = batch.texts[row]
            written = chat.tokenizer(text.text, add_special_tokens=False)["input_ids"]
            assert batch.tokens[row].tolist() == written
            prompt = chat.tokenizer(text.text[: text.spans[0].start], add_special_tokens=False)["input_ids"]
            assert batch.targets[row].tolist() == [False] * len(prompt) + [True] * (len(written) - len(prompt))
            if not n_demos:
                assert prompt == chat_ids(chat.tokenizer, messages([], text.item))
                assert template.render([], text.item)[0] == template.query(text.item)


# ------------------------------------------------------------------------------------------------------- refused
def test_what_is_no_such_template_is_refused_with_the_reason() -> None:
    for text, reason in REFUSED.values():
        with pytest.raises(OptionError, match=r"cannot be used: .*--template chat") as refused:
            chat_template(with_chat(word_tokenizer(), text))
        refused.match(reason)


def test_a_tokenizer_without_one_is_refused() -> None:
    with pytest.raises(OptionError, match=r"--template chat .*tokenizer.chat_template"):
        chat_template(word_tokenizer())
    with pytest.raises(OptionError, match="no chat template"):
        lookup("template", "chat").written_by(word_tokenizer())


def test_words_that_it_changes_are_refused() -> None:
    """Where no demonstration and no few of them would show it."""
    tokenizer = layout("Llama 3").tokenizer
    with pytest.raises(OptionError, match=r"'dog ', 'Hund'"):
        chat_template(tokenizer, tried=[([("dog ", "Hund")], "cat")])
    chat_template(layout("Mistral").tokenizer, tried=[([("dog ", "Hund")], "cat")])
    short = with_chat(word_tokenizer(), each("m['content']", of="messages[-7:]"))
    chat_template(short)
    with pytest.raises(OptionError, match="'w0' after 'w1', 'w2'"):
        chat_template(short, tried=[([("w1", "w2")] * 4, "w0")])


def test_before_a_tokenizer_is_known_nothing_can_be_written() -> None:
    assert lookup("template", "chat") is CHAT
    for write in (lambda: CHAT.render([("a", "b")], "c"), lambda: CHAT.query("c"), lambda: as_messages([PAIR], CHAT)):
        with pytest.raises(OptionError, match="none was given"):
            write()
    assert ARROW.written_by(word_tokenizer()) is ARROW


def test_a_chat_template_is_advised_where_there_is_one() -> None:
    marks = [word for word in WORDS if word != "→"]
    plain, chatty = word_tokenizer(marks), word_tokenizer(marks)
    chatty.chat_template = each("m['content']")
    with pytest.raises(OptionError, match=r"none .*\(arrow, question\)"):
        check_writable(ARROW, plain, [("w1", "w2")])
    with pytest.raises(OptionError, match="--template chat"):
        check_writable(ARROW, chatty, [("w1", "w2")])


def test_text_of_a_chat_template_that_the_tokenizer_does_not_know_is_named() -> None:
    text = "{{ 'so: ' }}" + each("m['content']") + "{{ 'then' if add_generation_prompt }}"
    tokenizer = with_chat(word_tokenizer(), text)
    with pytest.raises(OptionError, match=r"'so: ' and '\\nthen'.*'chat'"):
        usable_pairs([("w1", "w2")], tokenizer, template=chat_template(tokenizer))


# --------------------------------------------------------------------------------------------- finished prompts
PAIR = PromptPair(
    key="k", item="i", clean=" Ann told\n", corrupted="Bob told", answer="  Bob", distractor=" Ann",
    distractor_task="other name",
    roles={"name": (Span(0, 4), Span(0, 3)), "verb": (Span(5, 9), Span(4, 8)), "end": (Span(9, 10), Span(7, 8))},
    second=SecondCorruption("\tEve told", "third name", {"name": Span(1, 4), "tab": Span(0, 1)}),
)  # fmt: skip


def test_a_finished_prompt_becomes_a_message(chat: Layout) -> None:
    template = chat.template
    (pair,) = as_messages([PAIR], template)
    assert (pair.key, pair.item, pair.distractor_task) == ("k", "i", "other name")
    ((batch,), _) = encode_pairs([pair], chat.tokenizer, bos=template.bos)
    for ids, text in ((batch.clean, "Ann told"), (batch.corrupted, "Bob told"), (batch.second, "Eve told")):
        expected = chat_ids(chat.tokenizer, messages([], text))
        assert ids[0, : len(expected)].tolist() == expected
    assert (pair.answer, pair.distractor) == (f"{template.lead}Bob", f"{template.lead}Ann")
    clean, corrupted = (
        {role: text[slice(*spans[side])] for role, spans in pair.roles.items()}
        for side, text in enumerate((pair.clean, pair.corrupted))
    )
    assert clean == {"name": "Ann", "verb": "told"}
    assert corrupted == {"name": "Bob", "verb": "told"}
    assert pair.second is not None
    assert {role: pair.second.text[slice(*span)] for role, span in pair.second.roles.items()} == {"name": "Eve"}
    assert pair.second.distractor_task == "third name"


def test_other_templates_leave_finished_prompts_as_they_are() -> None:
    assert as_messages([PAIR], ARROW) == [PAIR]


def test_an_answer_of_spaces_is_dropped_as_always() -> None:
    blank = PromptPair("k", "i", "w1", "w2", "  ", " w3")
    template = chat_template(with_chat(word_tokenizer(), each("m['content']")))
    (reason,) = encode_pairs(as_messages([blank], template), word_tokenizer())[1].dropped
    assert reason.startswith("answer adds")
