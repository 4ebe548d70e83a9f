"""`headcats evidence`: what it prints and writes, and how it fails."""

import re
import shutil

import pytest

SMALL = ("--n-prompts", 4, "--relabellings", 19, "--details")


def test_it_prints_every_table_and_the_reading(headcats, results, evidence_asked):
    done = headcats("evidence", results, "--model", "gpt2", *SMALL, "--positions", "all", "--seed", 1)
    assert done.code == 0, done.err
    ((model, folder, options),) = evidence_asked
    assert (model, folder) == ("gpt2", results)
    chosen = {"n_prompts": 4, "relabellings": 19, "positions": "all", "seed": 1, "memory": None, "cluster": None}
    assert {name: value for name, value in options.items() if name not in ("suite", "method", "metric")} == {
        **chosen, "effect": "total",
    }  # fmt: skip
    for name in ("denoising_patch@last", "logit_diff", "inconclusive"):
        assert name in done.text
    assert not re.search(r"-0\.0+(?!\d)", done.text)
    assert "query items" in done.text
    assert "replace earlier" not in done.text
    names = ("relabelling", "specificity")
    assert f"{results}/evidence-ablated@all ({', '.join(f'{name}.nc' for name in names)})" in done.text


@pytest.mark.slow
def test_evidence_of_another_kind_has_files_of_its_own(headcats, results, counting_model_folder, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    given = ["evidence", folder, "--model", counting_model_folder, *SMALL]
    for number, more in enumerate(([], ["--effect", "total", "--positions", "all"], ["--seed", 3])):
        done = headcats(*given, *more)
        assert done.code == 0, done.err
        assert ("replace earlier" in done.text) == (number == 2)
    assert {path.name for path in folder.glob("evidence*")} == {"evidence", "evidence-ablated@all"}


# All name a model: the path of that of the results leads nowhere from a copy that lies deeper.
WRONG = {
    "RESULTS --rule fdr": "--rule",
    "RESULTS --model mini": "'mini'",
    "nowhere --effect half": "'half'",
    "nowhere --relabellings 18": "'--relabellings'",
}


def test_what_cannot_be_done_is_one_message(headcats, results, mini, monkeypatch):
    monkeypatch.setattr("headcats.study.restore.load_model", lambda *source, **options: mini)
    for line, part in WRONG.items():
        done = headcats("evidence", *(results if word == "RESULTS" else word for word in line.split()))
        assert done.code == 2, line
        assert part in done.text
        assert "Traceback" not in done.text
        assert not (results / "evidence").exists()
