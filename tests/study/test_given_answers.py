"""What a model says on prompts of a task that it cannot do, against its own logits."""

import numpy as np
import pytest
from counting import SUITE

import headcats as hc
from headcats.prompts.encode import encode_pairs
from headcats.study.given_answers import SHOWN, given_answers


@pytest.fixture(scope="module")
def batches(model):
    return hc.task_prompts(model, "shifted", suite=SUITE, n_prompts=30, n_demos=2)


def test_it_is_the_greedy_continuation_of_the_first_wrong_prompts(model, batches):
    accuracy = np.zeros(sum(map(len, batches)))
    accuracy[0] = 1
    given = given_answers(model, batches, accuracy)
    assert len(given) == SHOWN
    (batch,) = batches
    for row, each in enumerate(given, start=1):
        tokens = batch.clean[row : row + 1]
        for word in each.given.split():
            logits = model.logits(tokens)
            assert model.tokenizer.decode([int(logits.argmax())]).strip() == word
            tokens = np.concatenate([tokens, logits.argmax(-1, keepdim=True)], axis=1)
            tokens = batch.clean.new_tensor(tokens)
        assert each.expected.strip() == model.tokenizer.decode([int(batch.answer[row])]).strip()
        assert each.prompt == batch.items[row]


def test_every_query_is_shown_once(model, batches):
    (batch,) = batches
    accuracy = np.array([item != batch.items[0] for item in batch.items], dtype=float)
    assert len(given_answers(model, batches, accuracy)) == 1
    assert given_answers(model, batches, np.ones(len(batch))) == ()


def test_of_finished_prompts_the_end_is_shown(model):
    clean, other = f"{','.join(f'w{number}' for number in range(30, 50))} →", "w30 →"
    pair = hc.PromptPair("p", "item", clean, other, " w1", " w2")
    ((batch,), _) = encode_pairs([pair], model.tokenizer)
    (given,) = given_answers(model, [batch], np.zeros(1))
    assert clean.endswith(given.prompt.replace(" , ", ",").strip())
    assert len(given.prompt) == 40
