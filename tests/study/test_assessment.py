"""Accuracy and gap of a task, and the reasons for which it is not scored."""

from dataclasses import replace

import numpy as np
import pytest
from counting import SUITE

import headcats as hc
from headcats.study.assessment import SHOWN, assess, given_answers
from headcats.study.plan import plan
from headcats.sweeps.runs import BaseRuns


def judged(model, prepared, **options):
    study = plan(suite=SUITE, n_prompts=8, n_demos=2, **options)
    return assess(study, prepared, [BaseRuns(model, batch) for batch in prepared.scored])


def assessed(model, preparation, name, **options):
    return judged(model, preparation.prepared[name], **options)


def test_numbers_against_runs_by_hand(model, preparation):
    found = assessed(model, preparation, "always_a")
    (batch,) = preparation.prepared["always_a"].scored
    clean, corrupted = (model.logits(tokens) for tokens in (batch.clean, batch.corrupted))
    rows = range(len(batch))
    difference = [
        (run[rows, batch.answer] - run[rows, batch.distractor]).double().numpy() for run in (clean, corrupted)
    ]
    assert found.gap == pytest.approx(np.mean(difference[0] - difference[1]), rel=1e-6)
    assert found.low < found.gap < found.high
    assert found.accuracy == 1.0
    assert found.corrupted_accuracy == 0.0
    assert found.n_items == len(set(batch.items)) == 8
    assert (found.metric, found.refusal) == ("logit_diff", "")
    assert (found.independent_source, found.joined_by, found.linked) == ("always_a", "inputs", ())
    assert (found.template, found.prompt_tokens, found.answer_tokens) == ("arrow", batch.length, 1.0)
    assert found.distractors == tuple(sorted(set(batch.distractor_tasks)))


def test_a_task_the_model_cannot_do_is_refused(model, preparation):
    found = assessed(model, preparation, "shifted")
    assert found.accuracy == 0.0
    assert "accuracy 0.00" in found.refusal
    assert "min_accuracy=0.5" in found.refusal
    assert found.has_gap
    assert not assessed(model, preparation, "shifted", min_accuracy=0).has_gap
    assert not assessed(model, preparation, "always_a", min_logit_diff=99).has_gap
    assert "accuracy" not in assessed(model, preparation, "shifted", min_accuracy=0).refusal


def test_a_task_that_is_not_solved_is_measured_if_the_model_prefers_its_answers(model, preparation):
    """Both gates on one task: it is right on every clean prompt, or on none, by what counts as right."""
    found = assessed(model, preparation, "always_a", min_logit_diff=0)
    assert found.refusal == ""
    (batch,) = preparation.prepared["always_a"].scored
    logits = model.logits(batch.clean)
    mean = float((logits[range(8), batch.answer] - logits[range(8), batch.distractor]).mean())
    beyond = assessed(model, preparation, "always_a", min_logit_diff=mean)
    assert f"logit_diff {mean:.2f}" in beyond.refusal
    assert f"min_logit_diff={mean:g}" in beyond.refusal
    unsolved = assessed(model, preparation, "shifted", min_accuracy=0, min_logit_diff=0)
    assert (unsolved.accuracy, unsolved.refusal) == (0, "")
    exchanged = tuple(replace(batch, answer=batch.distractor, distractor=batch.answer) for batch in [batch])
    wrong = replace(preparation.prepared["always_a"], scored=exchanged)
    for min_accuracy, reason in ((0.5, "accuracy 0.00"), (0, "prefer")):
        found = judged(model, wrong, min_accuracy=min_accuracy, min_logit_diff=0)
        assert reason in found.refusal
        assert len(found.given_answers) == 3


def test_a_task_without_a_gap_is_refused(model, preparation):
    prepared = preparation.prepared["always_a"]
    same = replace(prepared, scored=tuple(replace(batch, corrupted=batch.clean) for batch in prepared.scored))
    found = judged(model, same)
    assert found.accuracy == 1.0
    assert "no clear gap" in found.refusal
    assert "logit_diff 0.00" in found.refusal


def test_a_task_that_needs_no_demonstrations_is_not_patched(model, preparation):
    prepared = preparation.prepared["always_a"]
    marked = replace(prepared, task=replace(prepared.task, needs_demonstrations=False))
    found = judged(model, marked)
    assert "solvable without demonstrations" in found.refusal


def test_the_first_metric_decides(model, preparation):
    found = assessed(model, preparation, "always_a", metrics=["prob", "logit_diff"])
    assert found.metric == "prob"
    assert 0 < found.gap <= 1


def test_half_right_is_enough(model, preparation):
    prepared = preparation.prepared["always_a"]
    (batch,) = prepared.scored
    for wrong, refused in ((4, False), (5, True)):
        answer = batch.answer.clone()
        answer[:wrong] = 5
        changed = replace(prepared, scored=(replace(batch, answer=answer),))
        found = judged(model, changed)
        assert found.accuracy == 1 - wrong / 8
        assert ("cannot do it" in found.refusal) == refused


# ------------------------------------------------------------------------------------- answers that the model gives
@pytest.fixture(scope="module")
def shifted(model):
    return hc.task_prompts(model, "shifted", suite=SUITE, n_prompts=30, n_demos=2)


def test_it_is_the_greedy_continuation_of_the_first_wrong_prompts(model, shifted):
    accuracy = np.zeros(sum(map(len, shifted)))
    accuracy[0] = 1
    given = list(given_answers(model, shifted, accuracy))
    assert len(given) == SHOWN
    (batch,) = shifted
    for row, each in enumerate(given, start=1):
        tokens = batch.clean[row : row + 1]
        for word in each.given.split():
            logits = model.logits(tokens)
            assert model.tokenizer.decode([int(logits.argmax())]).strip() == word
            tokens = np.concatenate([tokens, logits.argmax(-1, keepdim=True)], axis=1)
            tokens = batch.clean.new_tensor(tokens)
        assert each.expected.strip() == model.tokenizer.decode([int(batch.answer[row])]).strip()
        assert each.prompt == batch.items[row]
