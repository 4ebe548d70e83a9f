"""Answers drawn at random: their distribution, seeds, and how they are judged."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch
from scripted import scripted

from headcats.errors import DataError, OptionError
from headcats.papers.token_probe import resampling
from headcats.papers.token_probe.items import AnsweredItem
from headcats.papers.token_probe.resampling import TOP_K, _drawing, resampled
from headcats.papers.token_probe.settings import PRESETS

CODE = PRESETS["orgad2025-code"]


def test_draws() -> None:
    logits = torch.cat([torch.zeros(TOP_K), torch.full((10,), -0.1)]).repeat(4000, 1)
    logits[:, 0] = 2.0
    drawn = _drawing(1.0, np.random.default_rng(0))(logits)
    assert int(drawn.max()) < TOP_K == 50
    share = float((drawn == 0).float().mean())
    assert abs(share - np.e**2 / (np.e**2 + 49)) < 0.015
    assert float((_drawing(0.2, np.random.default_rng(0))(logits) == 0).float().mean()) > 0.98
    parameters = inspect.signature(resampled).parameters
    assert (parameters["n_samples"].default, parameters["temperature"].default) == (30, 1.0)


def test_answers_are_judged_as_the_greedy_one() -> None:
    model, questions = scripted(4)
    # The script leaves nothing to chance: every draw is the greedy answer.
    items, report = resampled(model, questions, n_samples=2, temperature=0.01, preset=CODE)
    assert report.kept == len(items) == 4
    for item, question in zip(items, questions, strict=True):
        assert (item.prompt, item.aliases, item.task) == (question.prompt, (question.exact_answer,), question.task)
        assert item.resamples == ((item.text.strip(), item.exact_answer, item.wrong),) * 2
    again, _ = resampled(model, items, n_samples=2, temperature=0.01, preset=CODE)
    assert [item.resamples[0].wrong for item in again] == [item.wrong for item in items]


@pytest.mark.usefixtures("unchecked_types")
def test_seeds_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    model, questions = scripted(3)
    hot = {"n_samples": 2, "temperature": 9.0, "preset": replace(CODE, max_new_tokens=9)}
    drawn = [resampled(model, questions, seed=seed, **hot)[0] for seed in (0, 0, 1)]  # type: ignore[arg-type]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {item.resamples[0].text for item in drawn[0]} != {item.resamples[1].text for item in drawn[0]}
    with pytest.raises(OptionError, match="temperature"):
        resampled(model, questions, temperature=0)
    with pytest.raises(OptionError, match=r"temperature .* 'x'"):
        resampled(model, questions, temperature="x")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="n_samples must be"):
        resampled(model, questions, n_samples=0)
    ready = AnsweredItem(questions[0].prompt, questions[0].answer, questions[0].exact_answer, False)
    monkeypatch.setattr(resampling, "answer_questions", lambda *_, **__: pytest.fail("answered before the check"))
    with pytest.raises(DataError, match="need right answers"):
        resampled(model, [ready], n_samples=1, preset=CODE)
