"""From text to tokens: BOS once, answers of one token, nothing padded, nothing dropped without a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from toys import word_tokenizer
from transformers import PreTrainedTokenizerFast

from headcats.errors import DataError
from headcats.prompts.drop_report import DropReport
from headcats.prompts.encode import UNKNOWN_WORD, encode_pairs, usable_pairs
from headcats.prompts.pair import PromptPair, SecondCorruption, Span
from headcats.prompts.template import ARROW, Template

WORDS = ["<bos>", "<unk>", "→", "\n", ",", "cat", "dog", "sun", "Katze", "Hund", "chat", "chien", "the cat"]


def words(**changes):
    return word_tokenizer(WORDS)


def bytes_tokenizer(merges=(), *, adds_bos=False, bos=True):
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
    return PreTrainedTokenizerFast(tokenizer_object=backend, **({"bos_token": "<s>"} if bos else {}))


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


def test_a_tokenizer_without_bos_gets_none():
    tokenizer = bytes_tokenizer(MERGES, bos=False)
    made = pair(demo=("a", "x", "y"), query="d", answer="cat", distractor="dog")
    batch = one(made, tokenizer)
    assert tokenizer.decode(batch.clean[0]) == made.clean
    assert batch.labels[0][0] == "x1"


class AlwaysBos:
    """A tokenizer that puts BOS in front although no special tokens are asked for, as some do."""

    bos_token_id, eos_token_id, unk_token_id, is_fast = 0, None, 1, False

    def __init__(self):
        self.inner = words()

    def __call__(self, texts, **options):
        return {"input_ids": [[0, *self.inner(text, add_special_tokens=False)["input_ids"]] for text in texts]}


def test_a_tokenizer_that_insists_on_bos_does_not_get_two():
    batch, plain = (one(pair(), tokenizer) for tokenizer in (AlwaysBos(), words()))
    assert batch.clean.tolist() == plain.clean.tolist()
    assert (batch.clean == 0).sum() == 1


# --------------------------------------------------------------------------------------------------------- answers
def test_tokens_and_answers_by_hand():
    batch = one(pair(), words(), task="german")
    assert [WORDS[i] for i in batch.clean[0]] == ["<bos>", "cat", "→", "Katze", "\n", "dog", "→"]
    assert [WORDS[i] for i in batch.corrupted[0]] == ["<bos>", "cat", "→", "chat", "\n", "dog", "→"]
    assert (WORDS[batch.answer[0]], WORDS[batch.distractor[0]]) == ("Hund", "chien")
    assert (batch.task, batch.items, batch.keys) == ("german", ("dog",), ("t/0",))


def test_a_word_is_tokenised_with_its_space():
    """In the bytes tokenizer ` cat` is one token and `cat` three: the space belongs to the answer."""
    tokenizer = bytes_tokenizer(MERGES)
    batch = one(pair(demo=("a", "x", "y"), query="d", answer="cat", distractor="dog"), tokenizer)
    assert tokenizer.decode([batch.answer[0]]) == " cat"


REASONS = {
    "answer of several tokens": {"answer": "cat,dog"},
    "distractor of several tokens": {"distractor": "cat,dog"},
    "word unknown to the tokenizer": {"answer": "house"},
    "clean and corrupted of unequal length": {"demo": ("cat", "Katze", "chat,chien")},
    "roles do not align": {"roles": {"x1": (Span(0, 3), Span(0, 3)), "y1": (Span(4, 5), Span(5, 10))}},
    "answer equals distractor": {"answer": "cat", "distractor": " cat"},
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_cannot_be_scored_is_dropped_with_its_reason(reason):
    assert one(pair(**REASONS[reason]), words()) == reason


@pytest.mark.parametrize(
    "changes",
    [
        {"query": "house"},
        {"demo": ("cat", "house", "chat")},
        {"demo": ("cat", "chat", "house")},
        {"distractor": "house"},
    ],
)
def test_unknown_words_anywhere_drop_the_prompt(changes):
    assert one(pair(**changes), words()) == UNKNOWN_WORD


def test_an_unknown_token_that_is_also_the_end_of_text_is_an_ordinary_token():
    """As in GPT-2, where it stands in front of every prompt."""
    tokenizer = bytes_tokenizer(MERGES)
    tokenizer.unk_token = tokenizer.eos_token = "<s>"
    assert one(pair(demo=("a", "x", "y"), query="d", answer="cat", distractor="dog"), tokenizer).length > 1


def test_an_answer_that_changes_the_tokens_before_it_is_dropped():
    """`→` and ` cat` melt into one token, so no token of the prompt is followed by the answer."""
    tokenizer = bytes_tokenizer([("d", "o"), ("do", "g")])
    made = PromptPair("t/0", "q", "a d", "b d", "og", "x")
    assert "changes the tokens" in one(made, tokenizer)
    glued = Template("glued", before="", between="", lead="", after="")
    _, report = usable_pairs([("d", "og"), ("d", "x")], tokenizer, template=glued)
    ((reason, count),) = report.dropped.items()
    assert "changes the tokens" in reason
    assert count == 1


def test_prompts_longer_than_the_context_are_dropped():
    assert one(pair(), words(), n_ctx=7).length == 7
    assert "longer" in one(pair(), words(), n_ctx=6)


def test_usable_pairs_by_hand():
    kept, report = usable_pairs(
        [("cat", "Katze"), ("dog", "Hund,cat"), ("house", "Haus"), ("sun", "dog,dog")], words(), template=ARROW
    )
    assert kept == [("cat", "Katze")]
    assert report.kept == 1
    several = "answer of several tokens"
    assert report.dropped == {several: 2, UNKNOWN_WORD: 1}
    assert report.examples == {several: "'dog' -> ' Hund,cat'", UNKNOWN_WORD: "'house' -> ' Haus'"}


def test_the_summary_shows_counts_and_examples():
    assert DropReport(1, {"a": 2, "b": 1}, {"a": "x", "b": "y"}).summary() == "1 kept; 2 a (e.g. x); 1 b (e.g. y)"


def test_reports_are_added_up():
    total, other = DropReport(3, {"a": 1}, {"a": "first"}), DropReport(2, {"a": 2, "b": 1}, {"a": "second", "b": "x"})
    total.add(other)
    assert total == DropReport(5, {"a": 3, "b": 1}, {"a": "first", "b": "x"})


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


def test_text_outside_every_role_is_other():
    made = pair(roles={"x1": (Span(0, 3), Span(0, 3))})
    assert one(made, words()).labels[0] == ("bos", "x1", *(f"other[{i}/5]" for i in range(5)))


def test_a_slow_tokenizer_finds_the_same_roles():
    inner = words()

    class Slow:
        is_fast = False
        bos_token_id, eos_token_id, unk_token_id = 0, None, 1

        def __call__(self, texts, **options):
            assert "return_offsets_mapping" not in options
            return inner(texts, **options)

    fast, slow = (one(pair(demo=("cat,dog", "Katze", "chat")), tokenizer) for tokenizer in (inner, Slow()))
    assert slow.labels == fast.labels
    assert slow.clean.tolist() == fast.clean.tolist()


def test_pairs_without_roles_make_batches_without_roles():
    batch = one(pair(roles={}), words())
    assert batch.labels is None
    assert batch.positions("all").all()


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
        second("sun,sun"),  # another length
        second("house"),  # unknown
        second("chat"),  # what the corrupted prompt shows
        second("Katze"),  # what the clean prompt shows
        SecondCorruption(second("sun").text, "dutch"),  # without roles
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


def test_roles_of_a_second_corruption_have_to_align():
    """Of the same length, but one token has another role."""
    text = second("sun").text
    shifted = SecondCorruption(text, "dutch", {**second("sun").roles, "x_query": Span(len(text) - 1, len(text))})
    assert one(pair(second=shifted), words()).second is None
    one_sided = pair(second=second("sun"), roles={})
    assert one(one_sided, words()).second is None


# --------------------------------------------------------------------------------------------- groups and counting
texts = st.sampled_from(["cat", "dog", "sun", "cat,dog", "cat,dog,sun", "house", "the cat"])
cases = st.lists(
    st.tuples(texts, texts, texts, texts, st.sampled_from(["Hund", "Katze", "house", "cat,cat"])), max_size=12
)


@given(cases, st.sampled_from([None, 6, 8]))
def test_kept_and_dropped_add_up_and_nothing_is_padded(rows, n_ctx):
    tokenizer = words()
    pairs = [
        pair(f"t/{number}", (given, label, replaced), query, answer, "chien")
        for number, (given, label, replaced, query, answer) in enumerate(rows)
    ]
    batches, report = encode_pairs(pairs, tokenizer, n_ctx=n_ctx)
    assert report.kept + sum(report.dropped.values()) == len(pairs)
    assert report.kept == sum(len(batch) for batch in batches)
    lengths = [batch.length for batch in batches]
    assert len(set(lengths)) == len(lengths)
    by_key = {made.key: made for made in pairs}
    first = {}
    for batch in batches:
        order = [int(key.split("/")[1]) for key in batch.keys]
        assert order == sorted(order)
        first[batch.length] = order[0]
        for row, key in enumerate(batch.keys):
            made = by_key[key]
            for ids, text in ((batch.clean, made.clean), (batch.corrupted, made.corrupted)):
                assert ids[row].tolist() == [0, *tokenizer(text, add_special_tokens=False)["input_ids"]]
    assert list(first.values()) == sorted(first.values())


@given(st.lists(st.tuples(texts, texts), max_size=12))
def test_word_pairs_add_up(pairs):
    kept, report = usable_pairs(pairs, words(), template=ARROW)
    assert report.kept == len(kept)
    assert report.kept + sum(report.dropped.values()) == len(pairs)
    assert set(report.examples) == set(report.dropped)
