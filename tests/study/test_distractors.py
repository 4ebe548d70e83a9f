"""Tasks that are skipped corrupt no others, whichever tasks are scored; what is left is settled once."""

from counting import SUITE, counting_suite

import headcats as hc
from headcats.results.records import TaskRecord
from headcats.results.run_results import RunResults
from headcats.study.distractors import settle_distractors
from headcats.study.plan import plan
from headcats.study.preparation import Preparation

ALWAYS = ("always_a", "always_b", "always_c")
OPTIONS = {"n_prompts": 8, "n_demos": 2, "methods": ["denoising_patch"]}


def settle(preparation, tasks, *, skips):
    """Settle with a model that skips what `skips` says of a task and its distractors, by a reason or True.

    Returns what was assessed, round by round, too.
    """
    rounds = []

    def assess(names):
        rounds.append(list(names))
        distractors = {name: preparation.distractors.get(name, preparation.candidates[name]) for name in names}
        reasons = {name: skips(name, distractors[name]) for name in names}
        reasons = {name: "min_accuracy" if reason is True else reason or "" for name, reason in reasons.items()}
        return {name: TaskRecord(refusal=reason, refused_by=reason) for name, reason in reasons.items()}

    return settle_distractors(preparation, tasks, assess=assess), rounds


def prepare(model, suite=SUITE, **options):
    return Preparation(model, plan(**({"suite": suite, "n_prompts": 8, "n_demos": 2} | options)))


def shown(results, task):
    return set(results[task]["denoising_patch@last"].distractor_task.values.tolist())


# ------------------------------------------------------------------------------------------------ the rule on its own
def test_a_skipped_task_is_taken_out_of_all_others_and_judged_no_more(model):
    preparation = prepare(model)
    records, rounds = settle(preparation, ALWAYS, skips=lambda task, distractors: task == "shifted")
    assert rounds == [["always_a", "always_b", "always_c", "shifted"], list(ALWAYS)]
    assert preparation.distractors == {
        "always_a": ("always_b", "always_c"),
        "always_b": ("always_a", "always_c"),
        "always_c": ("always_a", "always_b"),
        "shifted": ALWAYS,
    }
    assert [name for name, record in records.items() if record.refusal] == ["shifted"]


def test_a_task_without_a_gap_is_judged_again_before_it_is_taken_out(model):
    """`always_a` has no gap as long as its prompts show `shifted`; `always_b` has none at all."""
    preparation = prepare(model)
    no_gap = {"always_a": "shifted", "always_b": "always_c"}
    records, rounds = settle(
        preparation,
        ["always_a"],
        skips=lambda task, distractors: task == "shifted" or ("gap" if no_gap.get(task) in distractors else ""),
    )
    assert rounds == [["always_a", "always_b", "always_c", "shifted"], list(ALWAYS), ["always_a", "always_c"]]
    assert {task: record.refused_by for task, record in records.items()} == {
        "always_a": "",
        "always_b": "gap",
        "always_c": "",
        "shifted": "min_accuracy",
    }
    assert preparation.distractors["always_a"] == ("always_c",)


def test_where_no_task_is_skipped_each_is_assessed_once_and_nothing_changes(model):
    preparation, untouched = prepare(model), prepare(model)
    _, rounds = settle(preparation, ["always_a"], skips=lambda task, distractors: False)
    assert len(rounds) == 1
    assert preparation.distractors == untouched.candidates
    for name, prepared in preparation.prepared.items():
        assert prepared.scored[0].fingerprint() == untouched.of(name).scored[0].fingerprint()


# ------------------------------------------------------------------------------------------------------------- in a run
def test_a_task_that_the_model_cannot_do_corrupts_no_other(all_finished):
    results = hc.load(all_finished)
    assert shown(results, "always_a") == {"always_b", "always_c"}
    manifest = RunResults(results).manifest
    assert manifest.distractors["always_a"] == ("always_b", "always_c")
    assert manifest.distractors["shifted"] == ALWAYS


def test_a_task_marked_as_distractor_only_corrupts_others_all_the_same(model):
    results = hc.run(model, suite=counting_suite(shifted_corrupts=True), tasks=["always_a"], **OPTIONS)
    assert shown(results, "always_a") == {"always_b", "always_c", "shifted"}


def test_a_task_without_others_falls_back_to_shuffled_labels_and_says_so(mini, caplog):
    options = {"suite": ["country_capital"], "n_prompts": 8, "methods": OPTIONS["methods"]}
    results = hc.run(mini, **options)
    assert RunResults(results).manifest.tasks["country_capital"].corruption == "shuffled_labels"
    assert shown(results, "country_capital") == {"shuffled_labels"}
    assert any("shuffled" in record.getMessage() for record in caplog.records if record.levelname == "WARNING")
