"""`headcats run --revisions`, and the commands that show a series."""

import csv
import json

import pytest
from counting import SUITE, counting_checkpoints
from simulated_series import STRONG, TASKS, heads, results_of, series_of, written
from typer.testing import CliRunner

import headcats as hc
from headcats import cli
from headcats.base.errors import HeadcatsError, OptionError
from headcats.cli import console
from headcats.cli.answer import MOST_LINES

LATER = {"Knowledge": heads(L0H0=0.4, L1H3=0.3), "Linguistic": heads(L0H0=0.4)}

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    revisions = {
        "step1": results_of(STRONG, skipped=TASKS),
        "step2": results_of(STRONG, skipped=["l2"]),
        "step3": results_of(LATER, seed=1),
    }
    return written(series_of(revisions), tmp_path_factory.mktemp("cli") / "series")


def command(*arguments):
    """Output of a command; its error is raised."""
    done = CliRunner().invoke(cli.app, list(map(str, arguments)))
    if isinstance(done.exception, HeadcatsError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_map_gives_the_numbers_of_every_revision(folder):
    numbers = json.loads(command("map", folder, "--csv", "--json"))
    assert [(entry["revision"], entry["step"]) for entry in numbers["revisions"]] == [
        ("step1", 1),
        ("step2", 2),
        ("step3", 3),
    ]
    first, second, third = (
        {category["category"]: category for category in entry["categories"]} for entry in numbers["revisions"]
    )
    assert (first["Knowledge"]["heads"], first["Knowledge"]["skipped"]) == (None, 2)
    assert (second["Linguistic"]["tasks"], second["Linguistic"]["skipped"]) == (1, 1)
    (comes,), (goes,) = third["Knowledge"]["comes"], third["Knowledge"]["goes"]
    assert (comes["head"], comes["found"], goes["head"], goes["found"]) == ("L1H3", True, "L1H2", True)
    assert comes["difference"] == pytest.approx(0.3, abs=0.05)
    assert set(numbers["revisions"][0]["skipped"]) == set(TASKS)
    assert (folder / "checkpoints.html").is_file()
    with open(folder / "heads.csv", encoding="utf-8") as file:
        assert {row["name"] for row in csv.DictReader(file)} >= {"L0H0", "L1H2", "L1H3"}


def test_map_ends_in_short(folder, monkeypatch):
    monkeypatch.setattr(console.out, "width", 80)
    lines = command("map", folder).splitlines()
    rows = {
        cells[0].strip(): [cell.strip() for cell in cells[1:]] for line in lines if len(cells := line.split("│")) > 1
    }
    assert len(lines) <= MOST_LINES
    # At step2, the first that is judged, and at step3; L1H3 comes and L1H2 goes.
    assert rows["Knowledge"] == ["2", "2", "2", "2"]
    assert any(line.startswith("! step1: all 4 tasks") for line in lines)
    assert f"headcats evidence {folder}/step3" in " ".join(lines)


def test_figure_draws_chosen_heads_and_says_what_is_of_a_series(folder, tmp_path):
    command("figure", "checkpoints", folder, "--set", "heads=L0H0,L1H3", "--out", tmp_path / "f.html")
    assert (tmp_path / "f.html").is_file()
    with pytest.raises(OptionError, match="--revisions"):
        command("figure", "checkpoints", folder / "step3", "--out", tmp_path / "g.html")
    with pytest.raises(HeadcatsError, match="step3"):
        command("figure", "head_grid", folder, "--out", tmp_path / "g.html")
    with pytest.raises(OptionError, match="--sign"):
        command("map", folder, "--sign", "suppressing")
    assert not (tmp_path / "g.html").exists()


def test_report_is_a_page_that_links_those_of_the_revisions(folder, monkeypatch):
    revisions = {f"step{n}": folder / f"step{n}" / "report.html" for n in (1, 2, 3)}
    written = iter(revisions.values())
    monkeypatch.setattr("headcats.reports.page.writing.write_run", lambda *given: next(written))
    command("report", folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    for step in revisions:
        assert f'href="{step}/report.html"' in page
    assert 'data-figure="checkpoints"' in page
    assert 'data-head="L1H3"' in page


@pytest.mark.slow  # the run itself: scale/test_series_run.py
def test_run_scores_the_revisions_and_writes_their_pages(tmp_path, monkeypatch):
    pages = []
    monkeypatch.setattr(
        "headcats.reports.page.writing.write_run", lambda *of_run: pages.append(of_run) or tmp_path / "p"
    )
    monkeypatch.chdir(tmp_path)
    checkpoints = counting_checkpoints(tmp_path / "models")
    plan = ["--suite", SUITE, "--tasks", "always_a,always_b", "--n-prompts", 8, "--n-demos", 2]
    plan += ["--methods", "denoising_patch", "--model", checkpoints, "--device", "cpu", "--json", "-q"]
    numbers = json.loads(command("run", *plan, "--revisions", "step10, step20"))
    out = tmp_path / "results" / "models-counting-revisions"
    assert (tmp_path / numbers["files"]["report"]).samefile(out / "report.html")
    assert list(hc.load(out)) == ["step10", "step20"]
    goes = numbers["revisions"][1]["categories"][0]["goes"]
    assert [(head["head"], head["found"]) for head in goes] == [("L0H0", True)]
    assert len(pages) == 2


def test_revisions_that_cannot_be_run_are_refused(tmp_path):
    plan = ["run", "--suite", SUITE, "--model", tmp_path, "--out", tmp_path / "r"]
    with pytest.raises(OptionError, match="--revision"):
        command(*plan, "--revisions", "step10", "--revision", "main")
    with pytest.raises(OptionError, match=r"got \[\]"):
        command(*plan, "--revisions", ",")
    assert list(tmp_path.iterdir()) == []
