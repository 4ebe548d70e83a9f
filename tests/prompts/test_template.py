"""How demonstrations and the query become one text, every character in one role, and text that no token is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from toys import word_tokenizer
from transformers import PreTrainedTokenizerFast

from headcats.base.errors import OptionError
from headcats.prompts.encode import usable_pairs
from headcats.prompts.template import ARROW, QUESTION, Template, check_writable
from headcats.prompts.tokens import UNKNOWN_WORD

TEMPLATES = [ARROW, QUESTION, Template("odd", before="<", between="=", lead="", after="")]
word = st.text("abc é→", min_size=1, max_size=5)


def test_the_two_templates_by_hand():
    text, spans = ARROW.render([("a", "A"), ("b", "B")], "c")
    assert text == "a → A\nb → B\nc →"
    assert {role: text[slice(*span)] for role, span in spans.items()} == {
        "x1": "a", "between1": " →", "y1": " A", "after1": "\n",
        "x2": "b", "between2": " →", "y2": " B", "after2": "\n", "x_query": "c", "between_query": " →",
    }  # fmt: skip
    assert ARROW.answer("C") == " C"
    assert QUESTION.render([("a", "A")], "c")[0] == "Q: a\nA: A\n\nQ: c\nA:"
    assert QUESTION.answer("C") == " C"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
@given(demonstrations=st.lists(st.tuples(word, word), max_size=4), query=word)
def test_roles_tile_the_text(template, demonstrations, query):
    text, spans = template.render(demonstrations, query)
    ends = [0, *(span.stop for span in spans.values())]
    assert [span.start for span in spans.values()] == ends[:-1]
    assert ends[-1] == len(text)
    assert all(span.stop > span.start for span in spans.values())
    assert [text[slice(*spans[f"x{n}"])] for n in range(1, len(demonstrations) + 1)] == [x for x, _ in demonstrations]
    assert [text[slice(*spans[f"y{n}"])] for n in range(1, len(demonstrations) + 1)] == [
        template.answer(y) for _, y in demonstrations
    ]
    assert text.endswith(template.query(query))


def test_an_answered_query_reads_as_a_demonstration():
    for template in TEMPLATES:
        shown = template.render([("a", "A")], "q")[0].removesuffix(template.query("q"))
        assert shown == template.query("a") + template.answer("A") + template.after


PAIRS = [("cat", "Katze"), ("dog", "Hund")]
ANIMALS = ["<bos>", "<unk>", "cat", "dog", "Katze", "Hund"]


def words(*marks: str) -> PreTrainedTokenizerFast:
    return word_tokenizer([*ANIMALS, *marks])


def split_by_space(*marks: str) -> PreTrainedTokenizerFast:
    """Spaces and line ends part words and are no tokens."""
    backend = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate([*ANIMALS, *marks])}, unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", bos_token="<bos>")


def test_the_message_names_the_template_its_text_and_those_that_can_be_written() -> None:
    with pytest.raises(OptionError, match=r"'Q: ' and '\\nA:',.*--template arrow"):
        usable_pairs(PAIRS, words("→", "\n", ","), template=QUESTION)
    usable, _ = usable_pairs(PAIRS, words("→", "\n", ","), template=ARROW)
    assert usable == PAIRS


def test_the_other_way_round() -> None:
    tokenizer = split_by_space("Q:", "A:")
    with pytest.raises(OptionError, match=r"' →'.*--template question"):
        check_writable(ARROW, tokenizer, PAIRS)
    check_writable(QUESTION, tokenizer, PAIRS)


def test_text_after_an_answer_counts() -> None:
    strange = Template("strange", before="", between=" →", lead=" ", after=" ###")
    with pytest.raises(OptionError, match=r"' ###'.* 'strange'"):
        check_writable(strange, words("→", "\n", ","), PAIRS)


def test_unknown_words_are_no_fault_of_the_template() -> None:
    kept, report = usable_pairs([("house", "Haus")] * 3, words("→", "\n", ","), template=ARROW)
    assert kept == []
    assert report.dropped == {UNKNOWN_WORD: 3}


def test_text_that_is_unknown_only_by_itself_is_no_fault() -> None:
    class Insists:
        """A space alone is unknown to it, beside a word it is no token."""

        bos_token_id, eos_token_id, unk_token_id = 0, None, 1

        def __call__(self, texts: list[str], **options: Any) -> dict[str, Any]:
            return {"input_ids": [[1] if not text.strip() else [2] for text in texts]}

    check_writable(ARROW, Insists(), PAIRS)


def test_without_an_unknown_token_or_pairs_nothing_is_refused() -> None:
    tokenizer = words()
    check_writable(QUESTION, tokenizer, [])
    tokenizer.eos_token = "<unk>"  # as GPT-2: its end of text is no sign of anything unknown
    check_writable(QUESTION, tokenizer, PAIRS)
