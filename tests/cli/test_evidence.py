"""`headcats evidence`: what it prints and writes, and how it fails."""

import re
import shutil

import pytest

TABLES = (
    "Damage by heads of (rows) to tasks of (columns)",
    "Damage on words that two categories share",
    "Heads ablated one after the other",
    "Self-repair",
    "Tested heads (chosen without the task)",
    "Reading",
)
SMALL = ("--n-prompts", 4, "--relabellings", 19, "--details")


def test_it_prints_every_table_and_the_reading_and_saves_them(headcats, results, counting_model_folder, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    done = headcats("evidence", folder, "--model", counting_model_folder, *SMALL, "--seed", 1)
    assert done.code == 0, done.err
    assert all(title in done.text for title in TABLES)
    assert re.search(r"[\d.]+ (s|min|h) for \d+ ablations? \(", done.text)
    for name in ("denoising_patch@last", "logit_diff", "inconclusive"):
        assert name in done.text
    assert not re.search(r"-0\.0+(?!\d)", done.text)
    assert "query items" in done.text
    assert "replace earlier" not in done.text
    assert {path.name for path in (folder / "evidence").iterdir()} == {
        "relabelling.nc", "specificity.nc", "contrasts.nc", "curves.nc", "self_repair.nc",
    }  # fmt: skip


@pytest.mark.slow
def test_evidence_of_another_kind_has_files_of_its_own(headcats, results, counting_model_folder, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    given = ["evidence", folder, "--model", counting_model_folder, *SMALL]
    for number, more in enumerate(([], ["--effect", "total", "--positions", "all"], ["--seed", 3])):
        done = headcats(*given, *more)
        assert done.code == 0, done.err
        assert ("replace earlier" in done.text) == (number == 2)
    assert {path.name for path in folder.glob("evidence*")} == {"evidence", "evidence-ablated@all"}


WRONG = {
    "RESULTS --rule fdr": "option: --rule",
    "RESULTS --model mini": "'mini'",
    "RESULTS --positions x1": "'x1'",
    "nowhere --effect half": "'half'",
    "nowhere --relabellings 18": "'--relabellings'",
    "nowhere --n-prompts 1": "'--n-prompts'",
    "RESULTS --model nowhere --method denoise": "'denoise'",
}


def test_what_cannot_be_done_is_one_message(headcats, results, mini, monkeypatch):
    monkeypatch.setattr("headcats.study.loading.load_model", lambda *source, **options: mini)
    for line, part in WRONG.items():
        done = headcats("evidence", *(results if word == "RESULTS" else word for word in line.split()))
        assert done.code == 2, line
        assert part in done.text
        assert "Traceback" not in done.text
        assert not (results / "evidence").exists()
