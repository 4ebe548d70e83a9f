"""Tokens as text: joined they are the prompt, whatever the tokenizer, and nothing of them is obeyed by a terminal."""

import pytest
from tokenizer_zoo import ZOO, trained

from headcats.prompts.tokens import encode, token_texts

TEXTS = [
    "France → Paris\nItaly → Rome\nChile →",
    "Q: 12345  é naïve\n\nA:",
    "  two blanks, and two behind  ",
    "首都 of 日本 is 東京 👩‍🚀",
    "tab\there, [bold]markup[/] and \x1b[31mescapes",
]


@pytest.mark.parametrize("name", ZOO)
def test_joined_they_are_the_text(name):
    tokenizer = trained(name)
    for text in TEXTS:
        (ids,) = encode(tokenizer, [text])
        texts = token_texts(tokenizer, ids, text=text)
        assert len(texts) == len(ids)
        assert "".join(texts) == text
        for n in range(len(ids)):
            assert token_texts(tokenizer, ids[:n], text=text) == texts[:n]


def test_each_is_what_its_token_says():
    tokenizer = trained("byte-level")
    text = "France: Paris\nItaly:"
    (ids,) = encode(tokenizer, [text])
    assert token_texts(tokenizer, ids, text=text) == [tokenizer.decode([token]) for token in ids]


def test_a_character_of_several_tokens_is_the_text_of_the_first():
    tokenizer = trained("byte-level")
    (ids,) = encode(tokenizer, ["a東b"])
    assert token_texts(tokenizer, ids, text="a東b") == ["a", "東", "", "", "b"]
    assert token_texts(tokenizer, [], text="") == []


def test_tokens_of_another_text_are_decoded():
    tokenizer = trained("byte-level")
    (ids,) = encode(tokenizer, ["France: Paris"])
    assert "".join(token_texts(tokenizer, ids, text="something else")) == "France: Paris"
