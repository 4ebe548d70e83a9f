"""What a run keeps of the rows of a file: with the results, and with the suite that they hold."""

import json
import os

import pytest
from counting import INPUTS

import headcats as hc
from headcats.results.run_results import RunResults
from headcats.results.sources import located
from headcats.tasks.stored import stored_suite

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
DUPLICATE = "duplicate of an earlier row"
OPTIONS = {"n_prompts": 8, "n_demos": 2, "methods": ["denoising_patch"], "progress": False}


@pytest.fixture
def folder(tmp_path):
    """Two tasks; one of them has the same row twice."""
    for name, word in (("one", "w40"), ("two", "w41")):
        rows = [(given, word) for given in INPUTS] + ([(INPUTS[0], word)] if name == "one" else [])
        (tmp_path / f"{name}.csv").write_text(
            "input,output\n" + "".join(map("%s,%s\n".__mod__, rows)), encoding="utf-8"
        )
    (tmp_path / "notes.txt").write_text("not data", encoding="utf-8")
    return tmp_path


def test_a_run_keeps_them_and_goes_on_with_them(model, folder, tmp_path):
    out = tmp_path / "results"
    hc.run(model, suite=folder, tasks=["one"], out=out, **OPTIONS)
    rows = RunResults(hc.load(out)).manifest.tasks["one"].rows
    assert (rows.kept, rows.dropped) == (24, {DUPLICATE: 1})
    assert rows.examples[DUPLICATE].startswith("one.csv, line 26")
    before = (out / "suite.json").read_text(encoding="utf-8")
    stored, _ = stored_suite(before, source="x")
    assert stored.ignored == ("notes.txt",)
    # As `headcats run --out` does where no suite is named.
    hc.run(model, suite=stored, out=out, **OPTIONS)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["tasks"]["one"]["rows"]["dropped"] == {DUPLICATE: 1}
    assert manifest["tasks"]["two"]["rows"] == {"kept": 24, "dropped": {}, "examples": {}}
    assert (out / "suite.json").read_text(encoding="utf-8") == before
    assert located(manifest["suite_source"], out) == os.path.relpath(folder)
