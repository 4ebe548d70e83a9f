"""What a model says on prompts of a task that it cannot do, against its own logits."""

import numpy as np
import pytest
from counting import SUITE

import headcats as hc
from headcats.prompts.encode import encode_pairs
from headcats.results.run_results import RunResults
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


@pytest.mark.parametrize(("options", "shown"), [({}, SHOWN), ({"min_accuracy": 0}, 0)])
def test_results_hold_those_of_tasks_that_are_skipped_for_it(model, options, shown, caplog):
    results = hc.run(model, suite=SUITE, n_prompts=8, n_demos=2, methods=["denoising_patch"], **options)
    records = RunResults(results).manifest.tasks
    assert {task: len(record.given_answers) for task, record in records.items()} == {
        "always_a": 0,
        "always_b": 0,
        "always_c": 0,
        "shifted": shown,
    }
    told = "\n".join(record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert all(repr(each.given) in told for each in records["shifted"].given_answers)


def test_of_finished_prompts_the_end_is_shown(model):
    clean, other = f"{','.join(f'w{number}' for number in range(30, 50))} →", "w30 →"
    pair = hc.PromptPair("p", "item", clean, other, " w1", " w2")
    ((batch,), _) = encode_pairs([pair], model.tokenizer)
    (given,) = given_answers(model, [batch], np.zeros(1))
    assert clean.endswith(given.prompt.replace(" , ", ",").strip())
    assert len(given.prompt) == 40
