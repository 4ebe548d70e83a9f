"""Prompts of a task on their own: those of a run, with roles; what is missing is said."""

import numpy as np
import pytest
from counting import SUITE, constant, counting_suite

import headcats as hc
from headcats.base.errors import TokenizationWarning
from headcats.prompts.pair import PromptPair
from headcats.tasks.definition import Task

SMALL = {"suite": SUITE, "n_prompts": 8, "n_demos": 2}


def test_they_are_the_prompts_that_a_run_scores(model, options, finished):
    batches = hc.task_prompts(model, "always_a", **SMALL | {"suite": options["suite"]})
    block = hc.load(finished)["always_a"]["denoising_patch@last"]
    swept = [hc.sweep(model, batch, "denoising_patch", metrics=["logit_diff"], positions="last") for batch in batches]
    assert [item for batch in batches for item in batch.items] == block["item"].values.tolist()
    np.testing.assert_allclose(
        np.concatenate([one["patched"].values for one in swept], axis=1), block["patched"].values, atol=1e-5
    )
    other = hc.task_prompts(model, "always_a", seed=1, **SMALL)
    assert [batch.fingerprint() for batch in other] != [batch.fingerprint() for batch in batches]


def test_fewer_prompts_than_asked_for_are_counted(model):
    def some(n, *, seed):
        queries = ["w1", "w2", "w3", "w4"]
        answers = ["w40", "w40", "w40", "w41"]  # the last one is the beginning of its distractor
        return [
            PromptPair(query, query, f"{query} →", f"{query},w5 →", f" {answer}", " w41,w42", "other")
            for query, answer in zip(queries, answers, strict=True)
        ]

    suite = counting_suite().with_tasks(Task("finished", "knowledge", "made up", some))
    with pytest.warns(TokenizationWarning, match=" 8 .* 3 kept; 1 "):
        batches = hc.task_prompts(model, "finished", **SMALL | {"suite": suite})
    assert sum(map(len, batches)) == 3


def test_a_task_itself_is_added_to_the_suite(model):
    added = constant("added", "w44", "knowledge")
    (batch, *_), (named, *_) = (
        hc.task_prompts(model, task, **SMALL | {"suite": suite})
        for task, suite in ((added, counting_suite()), ("added", counting_suite().with_tasks(added)))
    )
    assert batch.fingerprint() == named.fingerprint()
