"""`headcats evidence`: what it prints and writes, and how it fails."""

import re
import shutil
import sys
import warnings

import pytest
from counting import SUITE, counting_folder

import headcats as hc
from headcats import cli

TABLES = (
    "Damage by heads of (rows) to tasks of (columns)",
    "Damage on words that two categories share",
    "Heads ablated one after the other",
    "Self-repair",
    "Tested heads (chosen without the task)",
    "Reading",
)


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    return counting_folder(tmp_path_factory.mktemp("evidence-cli") / "model")


@pytest.fixture(scope="module")
def results(model_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence-cli") / "results"
    model = hc.load_model(model_folder, device="cpu")
    hc.run(model, suite=SUITE, n_prompts=40, n_demos=2, methods=["denoising_patch"], out=folder)
    return folder


@pytest.fixture
def headcats(capfd, monkeypatch):
    """Function: arguments -> exit code, and all that was printed, in one line."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["headcats", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        printed = capfd.readouterr()
        return code, " ".join((printed.out + printed.err).replace("│", " ").split())

    return command


def test_it_prints_every_table_and_the_reading_and_saves_them(headcats, results, model_folder, tmp_path):
    shutil.copytree(results, tmp_path / "results")
    code, text = headcats(
        "evidence",
        tmp_path / "results",
        "--model",
        model_folder,
        "--n-prompts",
        8,
        "--relabellings",
        19,
        "--seed",
        1,
        "--details",
    )
    assert code == 0, text
    assert all(title in text for title in TABLES)
    assert re.search(r"[\d.]+ (s|min|h) for \d+ ablations? \(", " ".join(text.split())), text
    for name in ("denoising_patch@last", "logit_diff", "inconclusive"):
        assert name in text
    assert not re.search(r"-0\.0+(?!\d)", text)
    assert "query items" in text
    assert "replace earlier ones" not in text
    assert {path.name for path in (tmp_path / "results" / "evidence").iterdir()} == {
        "relabelling.nc", "specificity.nc", "contrasts.nc", "curves.nc", "self_repair.nc",
    }  # fmt: skip


@pytest.mark.ci
def test_evidence_of_another_kind_has_files_of_its_own(headcats, results, model_folder, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    given = ["evidence", folder, "--model", model_folder, "--n-prompts", 8, "--relabellings", 19, "--details"]
    for number, more in enumerate(([], ["--effect", "total", "--positions", "all"], ["--seed", 3])):
        code, text = headcats(*given, *more)
        assert code == 0, text
        assert ("replace earlier" in text) == (number == 2)
    assert {path.name for path in folder.glob("evidence*")} == {"evidence", "evidence-ablated@all"}


def test_ctrl_c_is_one_line(headcats, results, model_folder, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("headcats.study.evidence_run.run_evidence", stop)
    code, text = headcats("evidence", results, "--model", model_folder)
    assert code == 130
    assert re.search(r"Stopped .* zero\.$", text)


WRONG = {
    "folder": (["nowhere"], "nowhere is not a results folder"),
    "rule": (["RESULTS", "--rule", "fdr"], "No such option: --rule"),
    "model": (["RESULTS", "--model", "mini"], "The results are of model 'model', and 'mini' is another one"),
    "positions": (["RESULTS", "--positions", "x1"], "positions must be 'last' or 'all'; got 'x1'"),
    "effect": (["nowhere", "--effect", "half"], "effect must be 'total' or 'task_specific'; got 'half'"),
    "relabellings": (["nowhere", "--relabellings", "18"], "Invalid value for '--relabellings'"),
    "prompts": (["nowhere", "--n-prompts", "1"], "Invalid value for '--n-prompts'"),
    "method": (["RESULTS", "--model", "nowhere", "--method", "denoise"], "hold no block of 'denoise'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_done_is_one_message(headcats, results, model_folder, what):
    arguments, message = WRONG[what]
    places = {"RESULTS": results, "MODEL": model_folder}
    code, text = headcats("evidence", *(places.get(word, word) for word in arguments))
    assert code == 2
    assert message in text
    assert "Traceback" not in text
    assert not (results / "evidence").exists()
