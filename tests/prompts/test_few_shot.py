"""Few-shot prompts with their answers: even over the queries, and the query never among its demonstrations."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcats.errors import DataError
from headcats.prompts.few_shot import few_shot_texts
from headcats.prompts.template import ARROW, QUESTION

PAIRS = [(letter, letter.upper()) for letter in "abcdefg"]


def made(pairs=PAIRS, *, n=10, n_demos=2, template=ARROW, seed=0, purpose="test"):
    return few_shot_texts(
        pairs, n=n, n_demos=n_demos, template=template, seed=seed, task="capitals", category="Letters", purpose=purpose
    )


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 40), n_demos=st.integers(0, 6), seed=st.integers(0, 99))
def test_every_prompt_is_what_it_says(n, n_demos, seed) -> None:
    texts = made(n=n, n_demos=n_demos, seed=seed)
    assert len(texts) == n
    for text in texts:
        lines = text.text.split("\n")
        assert len(lines) == len(set(lines)) == n_demos + 1  # the query is not among its demonstrations
        assert all(line == f"{line[0]} → {line[0].upper()}" for line in lines)
        ((start, stop),) = text.spans
        assert text.text[start:stop] == f" {text.item.upper()}"
        assert stop == len(text.text)
        assert (text.task, text.category) == ("capitals", "Letters")
    queries = Counter(text.item for text in texts)
    assert max(queries.values()) - min(queries.values(), default=0) <= 1 or len(queries) < len(PAIRS)
    assert len({text.key for text in texts}) == n


def test_streams() -> None:
    assert made() == made()
    assert made(purpose="other") != made()
    assert made(seed=1) != made()


def test_other_templates() -> None:
    (text,) = made(n=1, n_demos=1, template=QUESTION)
    assert text.text.count("Q: ") == 2
    assert text.text.endswith(f"\nA: {text.item.upper()}")


def test_too_few_pairs() -> None:
    with pytest.raises(DataError, match=r"'capitals' has 7 .* needs 8"):
        made(n_demos=7)
