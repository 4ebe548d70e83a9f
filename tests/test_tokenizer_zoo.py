"""The suite `icl` under tokenizers of every layout: no task is lost, and nearly every pair and prompt is kept."""

import pytest
from covering import each_value
from tokenizer_zoo import ZOO, trained

import headcats as hc
from headcats.prompts.corruption import build_pairs
from headcats.prompts.encode import encode_pairs, usable_pairs
from headcats.prompts.template import ARROW, QUESTION
from headcats.prompts.tokens import bos_of
from headcats.tasks.definition import word_pairs

PROMPTED = ("successor", "country_capital", "plural", "english_spanish")
N_PROMPTS = 24


@pytest.fixture(scope="session", params=ZOO)
def tokenizer(request):
    """Each of the zoo."""
    return trained(request.param)


@pytest.fixture(scope="session")
def words():
    """Task of the suite -> its word pairs."""
    return {task.name: word_pairs(task, seed=0) for task in hc.suite("icl").tasks}


@pytest.fixture(scope="session")
def usable(tokenizer, words):
    """Task -> the word pairs that are kept, and the report."""
    return {name: usable_pairs(pairs, tokenizer, template=ARROW) for name, pairs in words.items()}


IN_FRONT = {"byte-level": ["<|endoftext|>"], "WordPiece": ["[CLS]"], "byte-level, two BOS": ["<s>", "<s>"]}
IN_FRONT |= {"byte-level, three digits, BOS": ["<|begin_of_text|>"]}
IN_FRONT |= {"byte-level, two in front, no bos_token": ["[gMASK]", "<sop>"]}


@pytest.mark.parametrize("name", ZOO)
def test_in_front_stands_what_the_tokenizer_itself_writes(name):
    """Its BOS where it writes nothing: `byte-level` alone."""
    tokenizer, pair = trained(name), hc.PromptPair("t/0", "3", "France is", "Italy is", " Paris", " Rome")
    (batch,), _ = encode_pairs([pair], tokenizer)
    front = bos_of(tokenizer)
    assert tokenizer.convert_ids_to_tokens(front) == IN_FRONT.get(name, ["<s>"])
    for text, ids in ((pair.clean, batch.clean[0].tolist()), (pair.corrupted, batch.corrupted[0].tolist())):
        written = tokenizer(text)["input_ids"]
        assert ids == (front + written if name == "byte-level" else written[: len(ids)])


def test_no_task_is_lost(words, usable):
    assert len(usable) == 40
    for name, (kept, report) in usable.items():
        assert len(kept) + sum(report.dropped.values()) == len(words[name])
        assert len(kept) >= 0.95 * len(words[name])


@pytest.mark.parametrize(("task", "template"), each_value(PROMPTED, [ARROW, QUESTION]), ids=str)
def test_prompts_are_kept_and_begin_with_bos_once(tokenizer, usable, task, template):
    others = {name: kept for name, (kept, _) in usable.items() if name != task}
    made = build_pairs(task, usable[task][0], others, n=N_PROMPTS, seed=0, template=template)
    batches, report = encode_pairs(made, tokenizer, task=task)
    assert report.kept + sum(report.dropped.values()) == N_PROMPTS
    assert report.kept >= 0.95 * N_PROMPTS
    bos, by_key = bos_of(tokenizer), {pair.key: pair for pair in made}
    for batch in batches:
        assert (batch.answer != batch.distractor).all()
        for row, key in enumerate(batch.keys):
            pair = by_key[key]
            for word in ("answer", "distractor"):
                rest = getattr(batch, f"{word}_rest")
                scored = [int(getattr(batch, word)[row])]
                scored += [] if rest is None else rest[row][rest[row] >= 0].tolist()
                for ids, text in ((batch.clean, pair.clean), (batch.corrupted, pair.corrupted)):
                    tokens = ids[row].tolist()
                    assert tokens[: len(bos)] == bos
                    assert not set(bos) & set(tokens[len(bos) :])
                    as_one = tokenizer(text + getattr(pair, word), add_special_tokens=False)["input_ids"]
                    assert [*tokens[len(bos) :], *scored] == as_one
            for labels in (batch.labels[row], batch.corrupted_labels[row]):
                roles = {label.split("[")[0] for label in labels}
                assert "other" not in roles
                assert {"x1", "y1", "x5", "y5", "x_query", "between_query"} <= roles


def test_the_digit_behind_a_bare_space_is_one_token_again():
    tokenizer = trained("SentencePiece BPE")
    pair = hc.PromptPair("t/0", "3", "2 → 3\n3 →", "2 → 1\n3 →", " 4", " 2")
    ((batch,), _), ids = encode_pairs([pair], tokenizer), tokenizer.convert_tokens_to_ids
    assert (batch.answer.tolist(), batch.distractor.tolist()) == ([ids("4")], [ids("2")])
    assert batch.answer_rest is None
    assert batch.clean[0, -1] == batch.corrupted[0, -1] == ids("▁")
    for answers in ("single", "first_token"):
        assert encode_pairs([pair], tokenizer, answers=answers)[1].kept == 0
