"""Worlds of labels: what is planted, and what is counted."""

from types import SimpleNamespace

import numpy as np
import pytest
import recovery
from recovery_parts import label_worlds, labels, session
from recovery_parts.label_partitions import PROMPTS, Bench
from recovery_parts.label_worlds import NULL, PARTLY, POWER, LabelStudy, verdicts

import headcats as hc
from headcats.evidence.relabelling import shared_words, vocabulary_blocks
from headcats.evidence.verdicts import ALPHA, SUPPORTED

STUDY = LabelStudy(relabellings=99)


def test_own_heads_are_supported_and_identical_tasks_are_not():
    own = verdicts("three heads of its own, .1", STUDY, np.random.default_rng(1))
    assert sum(own["supported"]) >= 3
    same = verdicts("identical tasks", STUDY, np.random.default_rng(1))
    assert not any(same["supported"])


def test_worlds_hold_what_they_name():
    own = POWER["three heads of its own, .1"](STUDY.labels, np.random.default_rng(0)).reshape(4, 5, 48)
    assert ((own == 0.1).all(axis=1).sum(axis=1) == 3).all()
    assert ((own > 0).any(axis=1).sum(axis=0) <= 1).all()
    fragile = NULL["fragility by category, 1 2 4 8, weakest .05 of .2"](STUDY.labels, np.random.default_rng(0))
    np.testing.assert_allclose(fragile[[5, 10, 15]].sum(axis=1) / fragile[0].sum(), [2, 4, 8])
    assert all(world(STUDY.labels, np.random.default_rng(0)).shape == (20, 48) for world in (NULL | PARTLY).values())


def test_shares_are_counted_by_what_is_claimed():
    found = [
        {
            "supported": [True, False],
            "not_supported": [False, True],
            "signature": [True, True],
            "causal": [True, False],
            "error_rate": 0.0,
        },
        {
            "supported": [False, False],
            "not_supported": [False, False],
            "signature": [True, False],
            "causal": [False, False],
            "error_rate": 0.02,
        },
    ]
    rows = {claim: labels._row("w", claim, found) for claim in ("any category", "of the categories")}
    assert rows["any category"]["supported"] == 0.5
    assert rows["any category"]["not_supported"] == 0.25
    assert rows["any category"]["signature"] == 1.0
    assert rows["of the categories"]["supported"] == 0.25
    assert labels._row("w", "the category without", found)["signature"] == 0.5
    assert rows["any category"]["error_rate"] == 0.01


def test_partitions_need_a_results_folder():
    with pytest.raises(SystemExit, match="--results"):
        session.run(recovery.options(["--work", "partitions", "--quick"]))


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
def test_dealt_to_their_own_categories_tasks_have_the_verdicts_of_evidence(tmp_path):
    tasks = ["list_first", "list_last", "successor", "next_letter", "french_english", "german_french"]
    model = hc.load_model("mini")
    hc.run(model, suite=tasks, methods=["denoising_patch"], n_prompts=32, out=tmp_path)
    bench = Bench(tmp_path, relabellings=39, seed=0)
    as_they_are = bench.verdicts(SimpleNamespace(permutation=np.asarray))
    found = hc.run_evidence(model, tmp_path, n_prompts=PROMPTS, relabellings=39)["relabelling"]
    assert as_they_are["supported"] == (found["verdict"] == SUPPORTED).values.tolist()
    for test in ("signature", "causal"):
        assert as_they_are[test] == (found[f"{test}_p"] <= ALPHA).values.tolist()
    assert as_they_are["error_rate"] == found["error_rate"]
    sets = {task: len(known) for task, known in bench.damages.items()}
    assert bench.verdicts(SimpleNamespace(permutation=np.asarray)) == as_they_are
    assert {task: len(known) for task, known in bench.damages.items()} == sets, "nothing is measured twice"


def test_words_that_tasks_share_are_not_what_a_category_is_supported_by():
    study = LabelStudy(relabellings=39)
    items, vocabulary = label_worlds._vocabularies(study)
    assert vocabulary_blocks(shared_words(items)).tolist() == vocabulary.tolist()
    found = [verdicts(label_worlds.WORDS, study, np.random.default_rng(seed)) for seed in range(8)]
    assert sum(any(study["signature"]) for study in found) <= 1


@pytest.mark.ci
def test_the_work_prints_every_world(capsys):
    session.run(recovery.options(["--work", "labels", "--quick", "--repetitions", "1", "--processes", "1"]))
    printed = capsys.readouterr().out
    assert all(name in printed for name in (NULL | POWER | PARTLY))
