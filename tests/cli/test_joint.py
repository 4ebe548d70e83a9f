"""The command line with joint methods."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from cli.done import JOINT_TASKS
from figures.examples import EXAMPLES
from reports.page.saved_runs import with_joint_block

import headcats as hc
from headcats import registry
from headcats.cli import console
from headcats.cli.answer import Answer
from headcats.cli.finished_run import tell_run
from headcats.cli.short_answer import MOST_LINES
from headcats.methods.spec import MethodSpec
from headcats.results.folder import ResultsFolder
from headcats.results.run_results import RunResults


@pytest.fixture
def of_mini(mini, monkeypatch):
    """Commands take the bundled model that the tests have loaded."""
    monkeypatch.setattr("headcats.study.loading.load_model", lambda *source, **options: mini)


@pytest.mark.usefixtures("of_mini", "no_page")
def test_run_and_map_say_what_was_found_and_draw_it(headcats, monkeypatch, relations):
    """The run is finished already."""
    monkeypatch.setattr(console.out, "width", 80)
    shutil.copytree(relations, "r")
    done = headcats("run", "--methods", "ov_relation", "--tasks", JOINT_TASKS, "--out", "r")
    assert done.code == 0, done.err
    assert "next_letter: " in done.text
    said = done.out.splitlines()
    (start,) = [place for place, line in enumerate(said) if line.startswith("ov_relation on mini: 3 of 3")]
    assert len(said[start:]) <= MOST_LINES
    assert "Figure: r/ov_map.html" in done.text
    pages = {path.name for path in Path("r").glob("*.html")}
    assert "ov_map.html" in pages
    assert "overlap_map.html" not in pages
    mapped = headcats("map", "r").out
    rows = [[cell.strip() for cell in row.split("│")] for row in mapped.splitlines() if "│" in row]
    assert len(mapped.splitlines()) <= MOST_LINES
    assert [(row[0], row[2]) for row in rows] == [("Knowledge", "2"), ("Linguistic", "1")]
    assert all(row[1].startswith("L0H") for row in rows)
    assert "Algorithmic" in mapped  # no relation of it could be judged


def test_map_of_relations(headcats, scored):
    done = headcats("map", scored, "--method", "ov_relation", "--csv", "--details")
    assert done.code == 0, done.err
    assert "Knowledge 2 5 L0H2" in done.rows
    assert "saturates" in done.text
    assert "country_capital Knowledge 96" in done.rows
    assert "skipped: next_letter" in done.text
    assert "Translation" not in done.text  # no category of the run
    with open(scored / "heads-ov_relation.csv", encoding="utf-8") as file:
        assert {row["category"] for row in csv.DictReader(file)} == {"Knowledge", "Linguistic"}
    reading = [word for key, value in registry.lookup("preset", "maps2025").reading.items()
               for word in (f"--{key.replace('_', '-')}", value)]  # fmt: skip
    paper = headcats("map", scored, "--method", "ov_relation", "--details", *reading)
    assert paper.code == 0, paper.err
    assert " 0.15 " in paper.rows
    assert (scored / "overlap_map-ov_relation-threshold-value=0.15.html").exists()


REFUSED = {
    "map r --method ov_relation --rule fdr:alpha=0.01": ("fdr",),
    "map r --method head_gating": ("no head_gating", "`headcats run --methods head_gating"),
    "map r --method token_probe": ("token_probe sorts no heads",),
    "map r --method ov_relation --metric prob": ("--metric",),
    "map r --method ov_relation --min-tasks 3": ("2 relations.",),
    "map r --and ov_relation": ("--and", "ov_relation"),
    "map r --and mean_ablation": ("only ov_relation.",),
    "figure ov_map r --out x.html --and ov_relation": ("memberships",),
    "figure always_any r --out x.html": (f"head_gating --tasks next_letter,{JOINT_TASKS[:-12]} --out DIR`",),
    "figure layer_token r --out x.html": ("'icl'", "`headcats run --suite sentences --methods token_probe --out NEW_"),
    "figure ov_map r --method ov_relation:preset=maps2025-llama3 --out x.html": ("not 'ov_rela",),
    "figure method_agreement r --out x.html": ("two methods",),
    "figure method_agreement r --out x.html --sign suppressing": ("'method_agreement'", "--sign"),
    "figure method_agreement r --out x.html --method ov_relation": ("'method_agreement'", "--method"),
    "figure ov_map r --out x.html --rule threshold:value=0.5 --metric prob": ("'ov_map'", "--metric and --rule"),
    "figure head_grid r --out x.html": ("`headcats figure ov_map ",),
    "figure importance_grid r --method mean_ablaton --out x.html": ("'mean_ablaton'", "'mean_ablation'"),
    "compare r": ("ov_relation", "`headcats figure ov_map "),
    "compare r r": ("only ov_relation",),
    "evidence r": ("`headcats evidence`", "only ov_relation."),
    "evidence r --method ov_relation": ("`headcats figure ov_map ",),
}


def test_what_cannot_be_shown_is_said(headcats, relations, monkeypatch, tmp_path):
    before = sorted(relations.rglob("*"))
    for line, parts in REFUSED.items():
        words = [str(relations) if word == "r" else word for word in line.split()]
        headcats(*words).check_one_message(*parts)
    assert not list((tmp_path / "here").iterdir())
    assert sorted(relations.rglob("*")) == before


def test_gates_have_a_map_and_figures_of_their_own(headcats, two_methods):
    done = headcats("map", two_methods, "--method", "head_gating", "--csv", "--json")
    assert done.code == 0, done.err
    made = json.loads(done.out)
    always = hc.suite_blocks(hc.load(two_methods))["head_gating:preset=chg-mini"].facilitation.min("seed")
    assert [entry["heads"] for entry in made["categories"]] == (always >= 0.5).sum(("layer", "head")).values.tolist()
    assert made["rule"] == "threshold(value=0.5)"
    assert len(list(two_methods.glob("heads-head_gating*.csv"))) == 1
    asked = ["figure", "set_counts", two_methods, "--method", "head_gating:preset=chg-mini", "--out", "f.html"]
    done = headcats(*asked, "--sign", "suppressing", "--rule", "top_fraction:p=0.1")
    assert done.code == 0, done.err


@pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")  # one relation is enough
def test_heads_of_two_methods(headcats, two_methods):
    asked = ["map", two_methods, "--method", "ov_relation", "--and", "head_gating", "--json"]
    done = headcats(*asked)
    assert done.code == 0, done.err
    made = json.loads(done.out)
    blocks = hc.suite_blocks(hc.load(two_methods))
    weights = hc.papers.ov_relation.relation_members(blocks["ov_relation"])
    gates = hc.categories.block_members(blocks["head_gating:preset=chg-mini"])
    for entry in made["categories"]:
        first, other = (members.member.sel(category=entry["category"]) == 1 for members in (weights, gates))
        sizes = [int(heads.sum()) for heads in (first & other, first, other)]
        assert [entry[key] for key in ("heads", "first", "other")] == sizes
    assert made["and"] == "head_gating:preset=chg-mini"
    assert len(list(two_methods.glob("overlap_map-ov_relation-and-head_gating*.html"))) == 1
    headcats(*asked, "--min-tasks", "2").check_one_message("two joint methods")


def test_a_map_that_there_cannot_be_names_the_figure(headcats, two_methods):
    block = EXAMPLES["layer_token"](6, 8).assign_attrs(label="token_probe", model="toy")
    ResultsFolder(two_methods).write_block("_suite", "token_probe", block)
    done = headcats("map", two_methods, "--method", "token_probe")
    named = f"`headcats figure layer_token {two_methods} --method token_probe --out layer_token.html`"
    done.check_one_message(named)
    done = headcats(*named.strip("`").split()[1:])
    assert done.code == 0, done.err


@pytest.mark.parametrize("asked", [["--suite", "sentences"], ["--preset", "orgad2025"]])
def test_methods_that_tasks_without_demonstrations_do_not_fit(headcats, tmp_path, asked):
    done = headcats("run", *asked, "--methods", "denoising_patch")
    assert done.code == 2
    assert re.search("denoising_patch needs .*--n-demos 5", done.text)
    assert not list((tmp_path / "here").iterdir())


@pytest.mark.usefixtures("of_mini", "no_page")
def test_a_method_of_another_package_is_drawn_by_the_figure_that_it_names(headcats):
    """Here by one that cannot draw it."""
    declaration = hc.methods.Declaration(name="lengths", kind="joint", figure="always_any")
    hc.methods.declare(declaration, "headcats.papers.ov_relation.fit:OVRelation")
    done = headcats("run", "--methods", "lengths", "--tasks", "plural", "--out", "r")
    assert done.code == 0, done.err
    assert "lengths on mini" in done.text
    assert "always_any expects `facilitation`" in done.text


def test_compare_puts_all_methods_on_one_grid(headcats, two_methods):
    done = headcats("compare", two_methods, "--csv", "agreement.csv", "--details")
    assert done.code == 0, done.err
    assert "1 ov_relation " in done.rows
    assert "mini facilitation" in done.rows
    with open("agreement.csv", encoding="utf-8") as file:
        assert {row["group"] for row in csv.DictReader(file)} == {"Knowledge", "Linguistic"}


@pytest.mark.usefixtures("no_page")  # the blocks are of another model
@pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
def test_joint_methods_beside_scored_tasks_are_named_and_compared(headcats, capfd, counting_run, two_methods, tmp_path):
    folder = Path(shutil.copytree(counting_run, tmp_path / "both"))
    for label in ("ov_relation", "head_gating:preset=chg-mini"):
        block = ResultsFolder(two_methods).read_block("_suite", label).isel(layer=slice(2), head=slice(4))
        about = {"method": label.partition(":")[0], "label": label, "model": "model"}
        with_joint_block(folder, label, block.drop_attrs().assign_attrs(about))
    run, specs = RunResults(hc.load(folder)), [MethodSpec.parse("denoising_patch")]
    tell_run(run, specs, folder, Answer(as_json=False, details=True))
    text = " ".join(capfd.readouterr().out.split())
    assert re.search(r"mean_ablation@\w+, ov_", text)
    assert "head_gating:preset=chg-mini" in text
    assert "figure always_any " in text
    done = headcats("compare", folder, "--csv", "pairs.csv", "--halves", 0)
    assert done.code == 0, done.err
    assert done.text.count("pairs-methods.csv") == 1
    with open("pairs-methods.csv", encoding="utf-8") as file:
        assert {"ov_relation", "head_gating:preset=chg-mini"} < {row["method"] for row in csv.DictReader(file)}
    with open("pairs.csv", encoding="utf-8") as file:
        assert "rank_correlation" not in file.readline()
