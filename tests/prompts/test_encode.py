"""From text to tokens: BOS once, answers in full, nothing padded, nothing dropped without a reason."""

import pytest
from batches import misaligned
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from toys import word_tokenizer
from transformers import PreTrainedTokenizerFast

from headcats.base.errors import DataError
from headcats.prompts.drop_report import DropReport
from headcats.prompts.encode import encode_pairs, usable_pairs
from headcats.prompts.pair import PromptPair, SecondCorruption, Span
from headcats.prompts.template import ARROW, Template
from headcats.prompts.tokens import UNKNOWN_WORD

WORDS = ["<bos>", "<unk>", "→", "\n", ",", "cat", "dog", "sun", "Katze", "Hund", "chat", "chien", "the cat"]


def words():
    return word_tokenizer(WORDS)


def bytes_tokenizer(merges=(), *, adds_bos=False):
    """A small byte-level BPE as of GPT-2: the 256 bytes and the given merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {piece: number for number, piece in enumerate(["<s>", *alphabet])}
    for left, right in merges:
        vocab[left + right] = len(vocab)
    backend = Tokenizer(models.BPE(vocab, list(merges)))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    if adds_bos:
        backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")


MERGES = [("Ġ", "c"), ("Ġc", "a"), ("Ġca", "t"), ("Ġ", "d"), ("Ġd", "o"), ("Ġdo", "g")]


def pair(key="t/0", demo=("cat", "Katze", "chat"), query="dog", answer="Hund", distractor="chien", **changes):
    """One demonstration whose label is replaced in the corrupted prompt."""
    given, label, replaced = demo
    clean, spans = ARROW.render([(given, label)], query)
    corrupted, other = ARROW.render([(given, replaced)], query)
    roles = {role: (spans[role], other[role]) for role in spans}
    fields = {"key": key, "item": query, "clean": clean, "corrupted": corrupted, "roles": roles}
    return PromptPair(**(fields | {"answer": f" {answer}", "distractor": f" {distractor}"} | changes))


def one(made, tokenizer, **options):
    """The batch of a single kept pair, or the reason for which it is dropped."""
    batches, report = encode_pairs([made], tokenizer, **options)
    assert report.kept + sum(report.dropped.values()) == 1
    return batches[0] if batches else next(iter(report.dropped))


# ------------------------------------------------------------------------------------------- beginning of sequence
@pytest.mark.parametrize("adds_bos", [False, True])
def test_bos_stands_in_front_exactly_once(adds_bos):
    tokenizer = bytes_tokenizer(MERGES, adds_bos=adds_bos)
    made = pair(demo=("a", "x", "y"), query="d", answer="cat", distractor="dog")
    batch = one(made, tokenizer)
    for ids in (batch.clean, batch.corrupted):
        assert ids[0, 0] == tokenizer.bos_token_id == 0
        assert (ids == 0).sum() == 1
    assert tokenizer.decode(batch.clean[0, 1:]) == made.clean
    assert batch.labels[0][0] == "bos"
    # ` cat` is one token and `cat` three: the space belongs to the answer.
    assert tokenizer.decode([batch.answer[0]]) == " cat"


# --------------------------------------------------------------------------------------------------------- answers
def test_tokens_and_answers_by_hand():
    batch = one(pair(), words(), task="german")
    assert [WORDS[i] for i in batch.clean[0]] == ["<bos>", "cat", "→", "Katze", "\n", "dog", "→"]
    assert [WORDS[i] for i in batch.corrupted[0]] == ["<bos>", "cat", "→", "chat", "\n", "dog", "→"]
    assert (WORDS[batch.answer[0]], WORDS[batch.distractor[0]]) == ("Hund", "chien")
    assert (batch.task, batch.items, batch.keys) == ("german", ("dog",), ("t/0",))


REASONS = {
    "word unknown to the tokenizer": ({"answer": "house"}, "whole"),
    "answer equals distractor after tokenisation": ({"answer": "cat", "distractor": " cat"}, "whole"),
    "answer is the beginning of the distractor": ({"answer": "cat", "distractor": "cat,dog"}, "whole"),
    "distractor is the beginning of the answer": ({"answer": "cat,dog", "distractor": "cat,"}, "whole"),
    "answer adds no token": ({"answer": " "}, "whole"),
    "distractor adds no token": ({"distractor": " "}, "whole"),
    "answer of several tokens": ({"answer": "cat,dog"}, "single"),
    "distractor of several tokens": ({"distractor": "cat,dog"}, "single"),
    "answer and distractor begin with the same token": ({"answer": "cat,dog", "distractor": "cat,sun"}, "first_token"),
}


def test_what_cannot_be_scored_is_dropped_with_its_reason():
    for reason, (changes, answers) in REASONS.items():
        assert one(pair(**changes), words(), answers=answers) == reason


def test_unknown_words_anywhere_drop_the_prompt():
    for changes in (
        {"query": "house"},
        {"demo": ("cat", "house", "chat")},
        {"demo": ("cat", "chat", "house")},
        {"distractor": "house"},
    ):
        assert one(pair(**changes), words()) == UNKNOWN_WORD


def test_later_tokens_of_answers_by_hand():
    made = [
        pair("t/0", answer="cat,dog", distractor="chien"),
        pair("t/1"),
        pair("t/2", answer="sun,", distractor="chat,cat,dog"),
    ]
    (first, second), report = encode_pairs(made, words())
    assert (report.kept, report.dropped) == (3, {})
    assert (first.keys, second.keys) == (("t/0", "t/2"), ("t/1",))
    comma, cat, dog = (WORDS.index(word) for word in (",", "cat", "dog"))
    assert [WORDS[i] for i in first.answer] == ["cat", "sun"]
    assert first.answer_rest.tolist() == [[comma, dog, -1, -1], [comma, -1, -1, -1]]
    assert [WORDS[i] for i in first.distractor] == ["chien", "chat"]
    assert first.distractor_rest.tolist() == [[-1] * 4, [comma, cat, comma, dog]]
    assert second.answer_rest is second.distractor_rest is None


def test_tokens_with_which_both_answers_begin_end_the_prompts():
    """As the bare `▁` that SentencePiece puts before a digit."""
    made = pair(answer="cat,dog", distractor="cat,sun", second=second("sun"))
    batch = one(made, words())
    for ids, label in ((batch.clean, "Katze"), (batch.corrupted, "chat"), (batch.second, "sun")):
        assert [WORDS[i] for i in ids[0]] == ["<bos>", "cat", "→", label, "\n", "dog", "→", "cat", ","]
    assert (WORDS[batch.answer[0]], WORDS[batch.distractor[0]]) == ("dog", "sun")
    assert batch.answer_rest is None
    assert batch.labels == batch.corrupted_labels
    assert batch.labels[0][-3:] == ("between_query", "answer_start[0/2]", "answer_start[1/2]")
    assert one(pair(answer=",dog", distractor=",sun"), words()).labels[0][-1] == "answer_start"
    assert one(pair(answer="cat,dog", distractor="cat,sun", roles={}), words()).labels is None


def test_clean_and_corrupted_prompts_need_not_align():
    """Those that do not have a batch of their own, where positions other than the last can be refused."""
    longer = pair("t/1", ("cat", "Katze", "chat,chien"))
    shifted = pair("t/2", roles={"x1": (Span(0, 3), Span(0, 3)), "y1": (Span(4, 5), Span(5, 10))})
    batches, report = encode_pairs([pair("t/0"), longer, shifted, pair("t/3")], words())
    assert (report.kept, report.dropped) == (4, {})
    assert [batch.keys for batch in batches] == [("t/0", "t/3"), ("t/1",), ("t/2",)]
    assert [batch.corrupted.shape[1] for batch in batches] == [7, 9, 7]
    assert [misaligned(batch) for batch in batches] == [[], ["t/1"], ["t/2"]]
    assert batches[1].labels[0].count("y1") == 1
    assert [label for label in batches[1].corrupted_labels[0] if label.startswith("y1")] == [
        "y1[0/3]", "y1[1/3]", "y1[2/3]"
    ]  # fmt: skip


def test_an_unknown_token_that_is_also_the_end_of_text_is_an_ordinary_token():
    """As in GPT-2, where it stands in front of every prompt."""
    tokenizer = bytes_tokenizer(MERGES)
    tokenizer.unk_token = tokenizer.eos_token = "<s>"
    assert one(pair(demo=("a", "x", "y"), query="d", answer="cat", distractor="dog"), tokenizer).length > 1


def test_an_answer_that_changes_the_tokens_before_it_is_dropped():
    """`d` and `og` melt into one token, so no token of that prompt is followed by the answer."""
    tokenizer = bytes_tokenizer([("d", "o"), ("do", "g")])
    for made, which in (
        (PromptPair("t/0", "q", "a-d", "b-d", "og", "x"), "answer"),
        (PromptPair("t/0", "q", "a-d", "b-d", "x", "og"), "distractor"),
        (PromptPair("t/0", "q", "a-b", "a-d", "og", "x"), "answer"),
    ):
        assert one(made, tokenizer).startswith(f"{which} changes the tokens")
    glued = Template("glued", before="", between="", lead="", after="")
    kept, report = usable_pairs([("d", "og"), ("d", "x")], tokenizer, template=glued)
    assert kept == [("d", "x")]
    assert list(report.dropped.values()) == [1]


def test_an_answer_needs_the_same_tokens_after_both_prompts():
    """Here the arrow is in the corrupted prompt alone, and changes how a comma is written."""
    inner = words()

    class Contextual:
        is_fast = False
        bos_token_id, eos_token_id, unk_token_id = 0, None, 1

        def __call__(self, texts, **options):
            ids = [inner(text, add_special_tokens=False)["input_ids"] for text in texts]
            return {"input_ids": [[5 if 2 in row and token == 4 else token for token in row] for row in ids]}

    made = PromptPair("t/0", "q", "dog\n", "→\n", ",cat", "sun")
    assert one(made, Contextual()).startswith("answer has other tokens")
    swapped = PromptPair("t/0", "q", "dog\n", "→\n", "sun", ",cat")
    assert one(swapped, Contextual()).startswith("distractor has other tokens")


def test_prompts_longer_than_the_context_are_dropped():
    """The last token of an answer is predicted and never read."""
    several, distracting = pair(answer="cat,dog"), pair(distractor="cat,dog")
    begun = pair(answer="cat,dog", distractor="cat,sun")
    for made, fits, length in ((pair(), 7, 7), (several, 9, 7), (distracting, 9, 7), (begun, 9, 9)):
        assert one(made, words(), n_ctx=fits).length == length
        assert "context" in one(made, words(), n_ctx=fits - 1)
    assert one(several, words(), n_ctx=7, answers="first_token").length == 7
    assert "context" in one(pair(demo=("cat", "Katze", "chat,chien")), words(), n_ctx=8)


def test_usable_pairs_by_hand():
    pairs = [("cat", "Katze"), ("dog", "Hund,cat"), ("house", "Haus"), ("sun", "dog,dog"), ("dog", " ")]
    for answers, expected in (("whole", [0, 1, 3]), ("first_token", [0, 1, 3]), ("single", [0])):
        kept, report = usable_pairs(pairs, words(), template=ARROW, answers=answers)
        assert kept == [pairs[place] for place in expected]
        assert report.kept == len(kept)
        assert report.dropped.pop(UNKNOWN_WORD) == 1
        assert report.examples[UNKNOWN_WORD] == "'house' -> ' Haus'"
        assert sorted(report.dropped.values()) == ([1, 2] if answers == "single" else [1])
    assert "'dog' -> ' Hund,cat'" in report.examples.values()


def test_the_summary_shows_counts_and_examples():
    assert DropReport(1, {"a": 2, "b": 1}, {"a": "x", "b": "y"}).summary() == "1 kept; 2 a (e.g. x); 1 b (e.g. y)"


def test_reports_are_added_up():
    total, other = DropReport(3, {"a": 1}, {"a": "first"}), DropReport(2, {"a": 2, "b": 1}, {"a": "second", "b": "x"})
    total.add(other)
    assert DropReport.total([total, DropReport()]) == total == DropReport(5, {"a": 3, "b": 1}, {"a": "first", "b": "x"})


def test_nothing_gives_nothing():
    assert encode_pairs([], words()) == ([], DropReport())
    assert usable_pairs([], words(), template=ARROW) == ([], DropReport())


def test_two_pairs_with_one_key_are_refused():
    with pytest.raises(DataError, match="key 't/0'"):
        encode_pairs([pair(), pair()], words())


# ---------------------------------------------------------------------------------------------------------- roles
def test_roles_of_tokens_by_hand():
    assert one(pair(), words()).labels[0] == (
        "bos", "x1", "between1", "y1", "after1", "x_query", "between_query"
    )  # fmt: skip
    made = pair(roles={"x1": (Span(0, 3), Span(0, 3))})
    assert one(made, words()).labels[0] == ("bos", "x1", *(f"other[{i}/5]" for i in range(5)))
    long = pair(demo=("cat,dog", "Katze", "chat"))
    assert one(long, words()).labels[0] == (
        "bos", "x1[0/3]", "x1[1/3]", "x1[2/3]", "between1", "y1", "after1", "x_query", "between_query"
    )  # fmt: skip


def test_a_token_has_the_role_of_its_last_character():
    """A space in front of a word is a token's beginning; an arrow is three byte tokens of one character."""
    made = pair(demo=("a", "cat", "dog"), query="b", answer="cat", distractor="dog")
    labels = one(made, bytes_tokenizer(MERGES)).labels[0]
    between = [f"between1[{i}/4]" for i in range(4)]
    assert labels[:8] == ("bos", "x1", *between, "y1", "after1")


# ----------------------------------------------------------------------------------------------- second corruption
def second(label):
    text, spans = ARROW.render([("cat", label)], "dog")
    return SecondCorruption(text, "dutch", spans)


def test_a_second_corruption_is_encoded_like_the_first():
    batch = one(pair(second=second("sun")), words())
    assert [WORDS[i] for i in batch.second[0]] == ["<bos>", "cat", "→", "sun", "\n", "dog", "→"]
    assert batch.second_tasks == ("dutch",)


@pytest.mark.parametrize(
    "made",
    [
        None,
        second("house"),  # unknown
        second("chat"),  # what the corrupted prompt shows
        second("Katze"),  # what the clean prompt shows
    ],
)
def test_one_that_cannot_be_used_drops_no_prompt(made):
    tokenizer = words()
    others = [pair(key="t/1", second=second("sun")), pair(key="t/2", second=made)]
    (batch,), report = encode_pairs(others, tokenizer)
    plain, _ = encode_pairs([pair(key="t/1"), pair(key="t/2")], tokenizer)
    assert report.kept == 2
    assert report.dropped == {}
    assert batch.fingerprint() == plain[0].fingerprint()
    assert batch.second_tasks == ("dutch", "")
    assert batch.second[1].tolist() == batch.corrupted[1].tolist()
    assert encode_pairs([pair(second=made)], tokenizer)[0][0].second is None


def test_a_second_corruption_may_have_another_length_or_other_roles():
    """It can be patched at the last token; batches hold second prompts of one length, aligned or not."""
    text = second("sun").text
    shifted = SecondCorruption(text, "dutch", {**second("sun").roles, "x_query": Span(len(text) - 1, len(text))})
    seconds = [second("sun"), second("sun,sun"), shifted, SecondCorruption(text, "dutch")]
    pairs = [pair(key=f"t/{number}", second=made) for number, made in enumerate(seconds)]
    batches, report = encode_pairs(pairs, words())
    assert report.kept == 4
    assert [batch.keys for batch in batches] == [("t/0",), ("t/1",), ("t/2", "t/3")]
    assert [batch.second.shape[1] for batch in batches] == [7, 9, 7]
    assert [len(batch.lacks_second()) for batch in batches] == [0, 0, 0]
    assert batches[0].roles_of("second") == batches[0].roles
    assert "y1[1/3]" in batches[1].roles_of("second")[0]
    for batch in batches:
        assert batch.positions("last", of="second").sum(1).tolist() == [1] * len(batch)


# --------------------------------------------------------------------------------------------- groups and counting
texts = st.sampled_from(["cat", "dog", "sun", "cat,dog", "cat,dog,sun", "house", "the cat"])
cases = st.lists(
    st.tuples(texts, texts, texts, texts, st.sampled_from(["Hund", "Katze", "house", "cat,cat"])), max_size=12
)


@given(cases, st.sampled_from([None, 6, 8]), st.sampled_from(["whole", "first_token", "single"]))
def test_kept_and_dropped_add_up_and_nothing_is_padded(rows, n_ctx, answers):
    tokenizer = words()
    pairs = [
        pair(f"t/{number}", (given, label, replaced), query, answer, "cat,chien")
        for number, (given, label, replaced, query, answer) in enumerate(rows)
    ]
    batches, report = encode_pairs(pairs, tokenizer, n_ctx=n_ctx, answers=answers)
    assert report.kept + sum(report.dropped.values()) == len(pairs)
    assert report.kept == sum(len(batch) for batch in batches)
    by_key = {made.key: made for made in pairs}
    first = {}
    for batch in batches:
        order = [int(key.split("/")[1]) for key in batch.keys]
        assert order == sorted(order)
        assert len(misaligned(batch)) in (0, len(batch))
        several = batch.answer_rest is not None
        group = (batch.length, batch.corrupted.shape[1], several, bool(misaligned(batch)))
        assert group not in first
        first[group] = order[0]
        for row, key in enumerate(batch.keys):
            made = by_key[key]
            for word in ("answer", "distractor"):
                rest = getattr(batch, f"{word}_rest")
                later = [token for token in rest[row].tolist() if token >= 0] if several else []
                scored = [int(getattr(batch, word)[row]), *later]
                for ids, text in ((batch.clean, made.clean), (batch.corrupted, made.corrupted)):
                    whole = [0, *tokenizer(text + getattr(made, word), add_special_tokens=False)["input_ids"]]
                    tokens = ids[row].tolist() + scored
                    assert tokens == (whole[: len(tokens)] if answers == "first_token" else whole)
    assert list(first.values()) == sorted(first.values())
