"""`validate` says what a run would do, and does nothing else."""

import json
import re

import pytest
from counting import INPUTS, counting_suite, finished_pairs, several_tokens

import headcats as hc
from headcats.base.errors import OptionError
from headcats.prompts.pair import PromptPair
from headcats.study.validation import validate
from headcats.tasks.definition import Task


def test_it_says_what_a_run_finds(model, all_options, all_finished):
    found = validate(model, **all_options)
    stored = json.loads(hc.load(all_finished).attrs["manifest"])["tasks"]
    assert list(found) == list(stored)
    for task, entry in found.items():
        assert entry.pop("seconds") >= 0
        assert "".join(entry.pop("first_prompt")["clean"]).count(" →") == 3
        assert entry == stored[task]
    assert [task for task, entry in found.items() if entry["refusal"]] == ["shifted"]
    assert found["always_a"]["category"] == "Knowledge"
    assert found["always_a"]["source"] == "made up"


def test_the_time_of_a_run_is_told_as_people_say_it(model, options, caplog, monkeypatch):
    monkeypatch.setattr("headcats.study.validation.seconds_expected", lambda *args, **named: 9000.0)
    with caplog.at_level("INFO", logger="headcats"):
        validate(model, **options | {"tasks": ["always_a"]})
    assert any(line.startswith("Time: 2.5 h ") and "denoising_patch" in line for line in caplog.messages)


def test_it_says_how_a_short_list_is_shared_out(model, caplog):
    prompts = finished_pairs(0, seed=0)
    own = Task("own", "knowledge", "made up", lambda n, *, seed: [*prompts, *prompts[:6]])
    with caplog.at_level("WARNING", logger="headcats"):
        entry = validate(model, suite=[own], n_prompts=64)["own"]
    assert entry["n_left"] == 5
    assert [re.findall(r"\d+", message)[:3] for message in caplog.messages if "own" in message] == [["9", "16", "5"]]


def test_dropped_words_are_counted_by_reason(model):
    suite = counting_suite().with_tasks(Task("long", "knowledge", "made up", several_tokens))
    entry = validate(model, suite=suite, n_prompts=4, n_demos=2, tasks=["long"], answers="single")["long"]
    assert entry["word_pairs"]["kept"] == 0
    ((reason, count),) = entry["word_pairs"]["dropped"].items()
    assert "several tokens" in reason
    assert count == len(INPUTS)
    assert "gap" not in entry
    assert entry["refusal"].startswith("no usable word")


@pytest.mark.usefixtures("joint_methods")
def test_a_limit_that_cannot_be_read_is_refused_by_every_method(model):
    spoken = Task("spoken", "knowledge", "made up", several_tokens, exact="w4.*")
    for methods in (["spoken_probe"], ["zero_ablation"]):
        with pytest.raises(OptionError, match="number of bytes"):
            validate(model, suite=[spoken], n_prompts=4, n_demos=2, methods=methods, memory="nonsense")


def test_prompts_with_long_answers_are_counted(model):
    def explained(n, *, seed):
        return [
            PromptPair(str(n), str(n), f"w{n} →", "w1 →", " w40" + ",w40" * n, " w41", "corrupted")
            for n in (2, 5, 6, 7)
        ]

    suite = hc.make_suite([Task("explained", "knowledge", "made up", explained)])
    assert validate(model, suite=suite, n_prompts=4)["explained"]["long_answers"] == 2
