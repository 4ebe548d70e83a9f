"""A template whose own text the tokenizer does not know is refused by name, not blamed on the words."""

from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from toys import word_tokenizer
from transformers import PreTrainedTokenizerFast

from headcats.base.errors import OptionError
from headcats.prompts.encode import usable_pairs
from headcats.prompts.template import ARROW, QUESTION, Template, check_writable
from headcats.prompts.tokens import UNKNOWN_WORD

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


def test_a_tokenizer_that_can_write_none() -> None:
    with pytest.raises(OptionError, match=r"none .*\(arrow, question\)"):
        check_writable(ARROW, split_by_space(), PAIRS)


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
