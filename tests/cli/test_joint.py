"""The command line with joint methods."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from cli.done import JOINT_TASKS, SMALL_GATES
from reports.page.saved_runs import with_joint_block

import headcats as hc
from headcats.base import registry
from headcats.cli import console
from headcats.cli.answer import MOST_LINES
from headcats.results.folder import ResultsFolder

pytestmark = pytest.mark.usefixtures("joint_methods")


@pytest.fixture
def of_mini(mini, monkeypatch):
    """Commands take the bundled model that the tests have loaded."""
    monkeypatch.setattr("headcats.study.loading.load_model", lambda *source, **options: mini)


@pytest.mark.usefixtures("of_mini", "no_page")
def test_run_and_map_say_what_was_found_and_draw_it(headcats, monkeypatch, weighed):
    """The run is finished already."""
    monkeypatch.setattr(console.out, "width", 80)
    shutil.copytree(weighed, "r")
    done = headcats("run", "--methods", "word_weights", "--tasks", JOINT_TASKS, "--out", "r")
    assert done.code == 0, done.err
    assert "next_letter: " in done.text
    said = done.out.splitlines()
    (start,) = [place for place, line in enumerate(said) if line.startswith("word_weights on mini: 3 of 3")]
    assert len(said[start:]) <= MOST_LINES
    assert "Figure: r/head_scores.html" in done.text
    pages = {path.name for path in Path("r").glob("*.html")}
    assert "head_scores.html" in pages
    assert "overlap_map.html" not in pages
    mapped = headcats("map", "r").out
    rows = [[cell.strip() for cell in row.split("│")] for row in mapped.splitlines() if "│" in row]
    assert len(mapped.splitlines()) <= MOST_LINES
    assert [(row[0], row[2]) for row in rows] == [("Knowledge", "2"), ("Linguistic", "1")]
    assert all(re.match(r"L\dH\d", row[1]) for row in rows)
    assert "Algorithmic" in mapped  # no task of it could be judged


def test_map_of_tasks(headcats, scored):
    done = headcats("map", scored, "--method", "word_weights", "--csv", "--details")
    assert done.code == 0, done.err
    assert "saturates" in done.text
    assert "country_capital Knowledge 40" in done.rows
    assert "skipped: next_letter" in done.text
    assert "Translation" not in done.text  # no category of the run
    with open(scored / "heads-word_weights.csv", encoding="utf-8") as file:
        assert {row["category"] for row in csv.DictReader(file)} == {"Knowledge", "Linguistic"}
    reading = [word for key, value in registry.lookup("preset", "words2020").reading.items()
               for word in (f"--{key.replace('_', '-')}", value)]  # fmt: skip
    paper = headcats("map", scored, "--method", "word_weights", "--details", *reading)
    assert paper.code == 0, paper.err
    assert " 0.70 " in paper.rows
    assert (scored / "overlap_map-word_weights-threshold-value=0.7.html").exists()


REFUSED = {
    "map r --method word_weights --rule fdr:alpha=0.01": ("fdr",),
    "map r --method spoken_probe": ("spoken_probe sorts no heads",),
    "map r --method word_weights --metric prob": ("--metric",),
    "map r --method mean_ablation": ("only word_weights.",),
    "figure gate_scores r --out x.html": ("--methods made_gates",),
    "figure head_grid r --out x.html": ("`headcats figure head_scores ",),
    "compare r": ("word_weights", "`headcats figure head_scores "),
    "compare r r": ("given twice",),
    "evidence r --method word_weights": ("`headcats figure head_scores ",),
}


def test_what_cannot_be_shown_is_said(headcats, weighed, tmp_path):
    before = sorted(weighed.rglob("*"))
    for line, parts in REFUSED.items():
        words = [str(weighed) if word == "r" else word for word in line.split()]
        headcats(*words).check_one_message(*parts)
    assert not list((tmp_path / "here").iterdir())
    assert sorted(weighed.rglob("*")) == before


def test_gates_have_a_map_and_figures_of_their_own(headcats, two_methods):
    done = headcats("map", two_methods, "--method", "made_gates", "--csv", "--json")
    assert done.code == 0, done.err
    made = json.loads(done.out)
    always = hc.suite_blocks(hc.load(two_methods))[SMALL_GATES].facilitation.min("seed")
    assert [entry["heads"] for entry in made["categories"]] == (always >= 0.5).sum(("layer", "head")).values.tolist()
    assert made["rule"] == "threshold(value=0.5)"
    assert len(list(two_methods.glob("heads-made_gates*.csv"))) == 1
    asked = ["figure", "overlap_map", two_methods, "--method", SMALL_GATES, "--out", "f.html"]
    done = headcats(*asked, "--sign", "suppressing", "--rule", "top_fraction:p=0.1")
    assert done.code == 0, done.err


@pytest.mark.usefixtures("of_mini", "no_page")
def test_a_method_of_another_package_is_drawn_by_the_figure_that_it_names(headcats):
    """Here by one that cannot draw it."""
    declaration = hc.methods.Declaration(name="lengths", kind="joint", figure="checkpoints")
    hc.methods.declare(declaration, "example_joint:WordWeights")
    done = headcats("run", "--methods", "lengths", "--tasks", "plural", "--out", "r")
    assert done.code == 0, done.err
    assert "lengths on mini" in done.text
    assert "checkpoints expects" in done.text


def test_compare_puts_all_methods_on_one_grid(headcats, two_methods):
    done = headcats("compare", two_methods, "--csv", "agreement.csv", "--details")
    assert done.code == 0, done.err
    assert "1 word_weights " in done.rows
    assert "small facilitation" in done.rows
    with open("agreement.csv", encoding="utf-8") as file:
        assert {row["group"] for row in csv.DictReader(file)} == {"Knowledge", "Linguistic"}


@pytest.mark.usefixtures("no_page")  # the blocks are of another model
@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_joint_methods_beside_scored_tasks_are_compared(headcats, counting_run, two_methods, tmp_path):
    folder = Path(shutil.copytree(counting_run, tmp_path / "both"))
    for label in ("word_weights", SMALL_GATES):
        block = ResultsFolder(two_methods).read_block("_suite", label).isel(layer=slice(2), head=slice(4))
        about = {"method": label.partition(":")[0], "label": label, "model": "model"}
        with_joint_block(folder, label, block.drop_attrs().assign_attrs(about))
    done = headcats("compare", folder, "--csv", "pairs.csv")
    assert done.code == 0, done.err
    assert done.text.count("pairs-methods.csv") == 1
    with open("pairs-methods.csv", encoding="utf-8") as file:
        assert {"word_weights", SMALL_GATES} < {row["method"] for row in csv.DictReader(file)}
    with open("pairs.csv", encoding="utf-8") as file:
        assert "rank_correlation" not in file.readline()
