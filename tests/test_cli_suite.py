"""The command line with joint methods."""

import csv
import json
import logging
import re
import sys
import warnings

import numpy as np
import pytest
import xarray as xr
from covering import some
from figures.examples import EXAMPLES
from typer.testing import CliRunner

import headcats as hc
from headcats import cli, registry
from headcats.cli import console
from headcats.cli.short_answer import MOST_LINES
from headcats.results.folder import ResultsFolder

TASKS = "country_capital,capital_country,plural,next_letter"
HEADS = (6, 8)
SUITE_METHODS = {
    "ov_relation": ("ov_map", "relations"),
    "head_gating": ("always_any", "gates"),
    "function_probe": ("importance_grid", "importance"),
    "token_probe": ("layer_token", "token_map"),
}


def command(capfd, monkeypatch, *arguments):
    """Exit code, and all that was printed in one line."""
    monkeypatch.setattr(sys, "argv", ["headcats", *map(str, arguments)])
    logger, code = logging.getLogger("headcats"), 0
    handlers, level = list(logger.handlers), logger.level
    capfd.readouterr()
    try:
        cli.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    finally:
        logger.handlers, logger.level = handlers, level
    out, err = capfd.readouterr()
    return code, " ".join((out + err).replace("│", " ").split())


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A folder with `ov_relation` of a few tasks."""
    folder = tmp_path_factory.mktemp("suite") / "r"
    hc.run("mini", methods=["ov_relation"], tasks=TASKS.split(","), out=folder, progress=False)
    return folder


def test_run_says_what_it_found_and_draws_it(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, text = command(capfd, monkeypatch, "run", "--methods", "ov_relation", "--tasks", TASKS, "--out", "r")
    assert code == 0, text
    assert "1 of 4 parts" in text
    assert "next_letter: " in text
    assert "3 of 3 relations" in text
    assert (tmp_path / "r" / "ov_map.html").exists()
    assert not (tmp_path / "r" / "overlap_map.html").exists()


def test_map_of_relations(capfd, monkeypatch, scored):
    code, text = command(capfd, monkeypatch, "map", scored, "--method", "ov_relation", "--csv", "--details")
    assert code == 0, text
    assert "Knowledge 2 5 L0H2" in text
    assert "saturates" in text
    assert "country_capital Knowledge 96" in text
    with open(scored / "heads-ov_relation.csv", encoding="utf-8") as file:
        assert {row["category"] for row in csv.DictReader(file)} == {"Knowledge", "Linguistic"}
    reading = [word for key, value in registry.lookup("preset", "maps2025").reading.items()
               for word in (f"--{key.replace('_', '-')}", value)]  # fmt: skip
    names = ("overlap_map-ov_relation.html", "heads-ov_relation.csv")
    first = {name: (scored / name).read_bytes() for name in names}
    paper = command(capfd, monkeypatch, "map", scored, "--method", "ov_relation", "--csv", "--details", *reading)
    assert paper[0] == 0, paper[1]
    for name in names:
        assert (scored / name).read_bytes() == first[name], "not replaced"
        stem, _, suffix = name.rpartition(".")
        assert (scored / f"{stem}-threshold-value=0.15.{suffix}").exists()
    assert " 0.15 " in paper[1]
    again = command(capfd, monkeypatch, "map", scored, "--details")
    assert "ov_relation," in again[1].split()[:4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["map", "--method", "ov_relation", "--rule", "fdr:alpha=0.01"],
            "fdr reads more than one number per",
        ),
        (["map", "--method", "ov_relation", "--rule", "fdr"], "fdr reads more than one number per"),
        (["map", "--method", "head_gating"], "These results hold no head_gating: `headcats run --methods head_gating"),
        (
            ["map", "--method", "token_probe"],
            "token_probe sorts no heads into categories, so there is no map of it, and these results hold no such",
        ),
        (["map", "--method", "ov_relation", "--metric", "prob"], "The map of ov_relation does not read --metric"),
        (["map", "--method", "ov_relation", "--min-tasks", "3"], "no category has more than 2 relations."),
        (["map", "--and", "ov_relation"], "--and takes another method than ov_relation"),
        (["map", "--and", "mean_ablation"], "these results hold none, only ov_relation."),
        (["figure", "ov_map", "--out", "x.html", "--and", "ov_relation"], "reads no memberships"),
        (
            ["figure", "always_any", "--out", "x.html"],
            "--methods head_gating --tasks next_letter,country_capital,capital_country,plural --out DIR` adds",
        ),
        (
            ["figure", "layer_token", "--out", "x.html"],
            "suite 'icl' has none. `headcats run --suite sentences --methods token_probe --out NEW_DIR`",
        ),
        (["figure", "ov_map", "--method", "ov_relation:preset=maps2025-llama3", "--out", "x.html"], "and not 'ov_rela"),
        (["figure", "method_agreement", "--out", "x.html"], "Agreement needs at least two methods"),
        (
            ["figure", "method_agreement", "--out", "x.html", "--sign", "suppressing"],
            "Figure 'method_agreement', which shows all methods, does not read --sign: leave that out.",
        ),
        (
            ["figure", "method_agreement", "--out", "x.html", "--method", "ov_relation"],
            "Figure 'method_agreement', which shows all methods, does not read --method: leave that out.",
        ),
        (
            ["figure", "ov_map", "--out", "x.html", "--rule", "threshold:value=0.5", "--metric", "prob"],
            "Figure 'ov_map' of a joint method does not read --metric and --rule: leave that out.",
        ),
        (["compare"], "Agreement needs at least two methods; there is ov_relation"),
        (["compare"], "To look at what there is: `headcats figure ov_map "),
        (["evidence"], "`headcats evidence` reads scores of tasks, and these results hold none, only ov_relation."),
        (["evidence", "--method", "ov_relation"], "so it has no scores of tasks; `headcats figure ov_map "),
        (["map", "--method", "mean_ablaton"], "'mean_ablaton'. Did you mean 'mean_ablation'"),
        (["figure", "head_grid", "--out", "x.html"], "To look at that: `headcats figure ov_map "),
        (
            ["figure", "head_grid", "--method", "function_probe", "--out", "x.html"],
            "These results hold ov_relation. To look at that: `headcats figure ov_map ",
        ),
        (
            ["figure", "importance_grid", "--method", "mean_ablaton", "--out", "x.html"],
            "'mean_ablaton'. Did you mean 'mean_ablation'",
        ),
    ],
)
def test_what_cannot_be_shown_is_said(capfd, monkeypatch, tmp_path, scored, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, text = command(capfd, monkeypatch, arguments[0], *(arguments[1:2] if arguments[0] == "figure" else []),
                         scored, *(arguments[2:] if arguments[0] == "figure" else arguments[1:]))  # fmt: skip
    assert code == 2
    assert message in text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["head_gating", "head_gating:preset=chg-mini"])
def test_gates_have_a_map_and_figures_of_their_own(capfd, monkeypatch, tmp_path, two_methods, method):
    monkeypatch.chdir(tmp_path)
    code, text = command(capfd, monkeypatch, "map", two_methods, "--method", method, "--csv", "--json")
    assert code == 0, text
    made = json.loads(text[: text.rindex("}") + 1])
    always = hc.suite_blocks(hc.load(two_methods))["head_gating:preset=chg-mini"].facilitation.min("seed")
    assert [entry["heads"] for entry in made["categories"]] == (always >= 0.5).sum(("layer", "head")).values.tolist()
    assert made["rule"] == "threshold(value=0.5)"
    assert len(list(two_methods.glob("heads-head_gating*.csv"))) == 1
    for figure in ("overlap_map", "set_counts", "layer_profile"):
        asked = ["figure", figure, two_methods, "--method", method, "--out", f"{figure}.svg", "--sign", "suppressing"]
        code, text = command(capfd, monkeypatch, *asked, "--rule", "top_fraction:p=0.1")
        assert code == 0, text


def test_heads_of_two_methods(capfd, monkeypatch, two_methods):
    asked = ["map", two_methods, "--method", "ov_relation", "--and", "head_gating", "--json"]
    code, text = command(capfd, monkeypatch, *asked)
    assert code == 0, text
    made = json.loads(text[: text.rindex("}") + 1])
    blocks = hc.suite_blocks(hc.load(two_methods))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.errors.StatisticsWarning)  # one relation is enough
        weights = hc.categories.relation_members(blocks["ov_relation"])
        gates = hc.categories.block_members(blocks["head_gating:preset=chg-mini"])
    for entry in made["categories"]:
        both = (weights.member.sel(category=entry["category"]) == 1) & (
            gates.member.sel(category=entry["category"]) == 1
        )
        assert entry["heads"] == int(both.sum())
        assert entry["first"] == int(weights["size"].sel(category=entry["category"]))
    assert made["and"] == "head_gating:preset=chg-mini"
    assert len(list(two_methods.glob("overlap_map-ov_relation-and-head_gating*.html"))) == 1
    code, text = command(capfd, monkeypatch, *asked, "--min-tasks", "2")
    assert code == 2
    assert "A map of two joint methods" in text


def test_a_map_that_there_cannot_be_names_the_figure(capfd, monkeypatch, tmp_path, two_methods):
    block = EXAMPLES["layer_token"](6, 8).assign_attrs(label="token_probe", model="toy")
    ResultsFolder(two_methods).write_block("_suite", "token_probe", block)
    code, text = command(capfd, monkeypatch, "map", two_methods, "--method", "token_probe")
    assert code == 2
    command_line = f"`headcats figure layer_token {two_methods} --method token_probe --out layer_token.html`"
    assert command_line in text
    monkeypatch.chdir(tmp_path)
    code, text = command(capfd, monkeypatch, *text.partition("`headcats ")[2].partition("`")[0].split())
    assert code == 0, text


def test_several_folders_without_scored_tasks_are_not_compared(capfd, monkeypatch, scored):
    code, text = command(capfd, monkeypatch, "compare", scored, scored)
    assert code == 2
    assert "only ov_relation" in text


@pytest.mark.parametrize("asked", [["--suite", "sentences"], ["--preset", "orgad2025"]])
def test_methods_that_tasks_without_demonstrations_do_not_fit(capfd, monkeypatch, tmp_path, asked):
    monkeypatch.chdir(tmp_path)
    code, text = command(capfd, monkeypatch, "run", *asked, "--methods", "denoising_patch")
    assert code == 2
    assert "denoising_patch needs" in text
    assert "--n-demos 5" in text
    assert not list(tmp_path.iterdir())


def test_relations_are_listed_by_the_categories_of_the_run_alone(capfd, monkeypatch, scored):
    code, text = command(capfd, monkeypatch, "map", scored, "--method", "ov_relation", "--details")
    assert code == 0, text
    assert "Translation" not in text
    assert "3 categories" not in text
    assert "skipped: next_letter" in text


@pytest.mark.parametrize("width", some([80, 120], in_ci=1))
def test_runs_and_maps_of_relations_end_in_short(monkeypatch, tmp_path, width):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console.out, "width", width)
    run = CliRunner().invoke(cli.app, ["run", "--methods", "ov_relation", "--tasks", TASKS, "--out", "r", "-q"])
    said = run.stdout.splitlines()
    assert len(said) <= MOST_LINES
    assert said[0].startswith("ov_relation on mini: 3 of 3 relations")
    assert "Figure: r/ov_map.html" in run.stdout
    mapped = CliRunner().invoke(cli.app, ["map", "r"]).stdout
    rows = [[cell.strip() for cell in row.split("│")] for row in mapped.splitlines() if "│" in row]
    assert len(mapped.splitlines()) <= MOST_LINES
    assert [(row[0], row[2]) for row in rows] == [("Knowledge", "2"), ("Linguistic", "1")]
    assert all(row[1].startswith("L0H") for row in rows)
    assert "Algorithmic" in mapped  # no relation of it could be judged


def test_every_figure_of_a_suite_method_is_drawn_from_its_block(capfd, monkeypatch, tmp_path, scored):
    monkeypatch.chdir(tmp_path)
    code, text = command(capfd, monkeypatch, "figure", "ov_map", scored, "--out", "map.html")
    assert (code, text) == (0, "Wrote map.html")
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "model mini" in page


def gates(seed):
    draws = np.random.default_rng(seed)
    grid = ("dataset", "seed", "layer", "head")
    names = ("g0", "g_plus", "g_minus", "facilitation", "interference", "irrelevance")
    made = {name: (grid, draws.random((2, 3, *HEADS))) for name in names}
    axes = {"dataset": ["Knowledge", "Linguistic"], "seed": [0, 1, 2], "layer": range(6), "head": range(8)}
    return xr.Dataset(made, coords=axes, attrs={"method": "head_gating", "model": "mini"})


@pytest.fixture
def two_methods(tmp_path, scored):
    """The same folder with made-up gates."""
    target, source = ResultsFolder(tmp_path / "two"), ResultsFolder(scored)
    manifest = source.read_manifest()
    block = source.read_block("_suite", "ov_relation")
    about = {"categories": json.dumps(manifest.category_entries())}
    target.write_block("_suite", "ov_relation", block)
    target.write_block("_suite", "head_gating:preset=chg-mini", gates(0).assign_attrs(about))
    manifest.methods = ("ov_relation", "head_gating:preset=chg-mini", "function_probe", "token_probe")
    manifest.beside = ()
    target.write_manifest(manifest)
    return target.path


def test_compare_puts_all_methods_on_one_grid(capfd, monkeypatch, tmp_path, two_methods):
    table = tmp_path / "agreement.csv"
    code, text = command(capfd, monkeypatch, "compare", two_methods, "--csv", table, "--details")
    assert code == 0, text
    assert "1 ov_relation " in text
    assert "mini facilitation" in text
    assert "Ranked most differently" in text
    with open(table, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["group"] for row in rows} == {"Knowledge", "Linguistic"}
    mine = next(row for row in rows if row["group"] == "Knowledge" and row["method"] != row["other"])
    assert -1 <= float(mine["rank_correlation"]) <= 1


@pytest.mark.parametrize(
    ("figure", "method"),
    [
        ("always_any", []),
        ("always_any", ["--method", "head_gating"]),
        *((name, []) for name in ("gate_seeds", "relation_table", "method_agreement")),
    ],
)
def test_figures_of_two_methods(capfd, monkeypatch, tmp_path, two_methods, figure, method):
    code, text = command(capfd, monkeypatch, "figure", figure, two_methods, "--out", tmp_path / "f.html", *method)
    assert code == 0, text
    assert (tmp_path / "f.html").stat().st_size > 1_000_000


def test_presets_are_listed_and_set_options(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, text = command(capfd, monkeypatch, "list", "presets")
    assert code == 0
    assert re.search(r"todd2024 .*2310\.15213", text)
    code, text = command(
        capfd, monkeypatch, "run", "--preset", "maps2025", "--tasks", "plural", "--out", "r", "--n-prompts", 4
    )
    assert code == 0, text
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["methods"] == ["ov_relation"]
    code, text = command(capfd, monkeypatch, "run", "--preset", "maps2024")
    assert code == 2
    assert "'maps2025'" in text


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("importance_grid", "Figure: r/importance_grid.html"),
        ("always_any", "Not drawn: always_any expects `facilitation`"),
    ],
)
def test_a_method_of_another_package_is_drawn_by_the_figure_that_it_names(capfd, monkeypatch, tmp_path, named, message):
    monkeypatch.setitem(registry._tables, "method", dict(registry._tables["method"]))
    declaration = hc.methods.Declaration(name="lengths", kind="joint", figure=named)
    hc.methods.declare(declaration, "headcats.methods.ov_relation.fit:OVRelation")
    monkeypatch.chdir(tmp_path)
    code, text = command(capfd, monkeypatch, "run", "--methods", "lengths", "--tasks", "plural", "--out", "r")
    assert code == 0, text
    assert "lengths on mini" in text
    assert message in text
    assert (tmp_path / "r" / f"{named}.html").exists() == ("Figure" in message)


def test_options_of_a_figure(capfd, monkeypatch, tmp_path, two_methods):
    page = tmp_path / "f.html"
    options = ["--set", "score=facilitation", "--set", "threshold=0.25"]
    code, text = command(capfd, monkeypatch, "figure", "always_any", two_methods, "--out", page, *options)
    assert code == 0, text
    assert "facilitation \\u2265 0.25" in page.read_text(encoding="utf-8")
    code, text = command(capfd, monkeypatch, "figure", "ov_map", two_methods, "--out", page, "--set", "title=5")
    assert code == 0, "a number as title"
    refused = {
        "threshold=much": "Option threshold of figure always_any must be a number; got 'much'",
        "score": "--set takes NAME=VALUE; got 'score'. Options of always_any: score",
        "scores=x": "Unknown option 'scores' of figure always_any. Did you mean 'score'",
    }
    for wrong, message in refused.items():
        code, text = command(capfd, monkeypatch, "figure", "always_any", two_methods, "--out", page, "--set", wrong)
        assert code == 2
        assert message in text


@pytest.mark.parametrize("figure", ["ov_map", "always_any"])
def test_a_copy_of_a_figure_for_publication(capfd, monkeypatch, tmp_path, two_methods, figure):
    page = tmp_path / "f.html"
    options = ["--set", "layout=paper", "--set", "marks=none", "--set", "title="]
    code, text = command(capfd, monkeypatch, "figure", figure, two_methods, "--out", page, *options)
    assert code == 0, text
    drawn = page.read_text(encoding="utf-8")
    assert '"annotations":[{' in drawn
    assert "in at least one relation" not in drawn
    assert "largest score of" not in drawn
    asked = ["figure", figure, two_methods, "--out", page, "--set", "marks=few"]
    code, text = command(capfd, monkeypatch, *asked)
    assert code == 2
    assert "Known: all, none" in text


@pytest.mark.parametrize(("method", "label"), [("ov_relation", ""), ("head_gating", ":preset=chg-mini")])
def test_importance_grid_shows_any_method(capfd, monkeypatch, tmp_path, two_methods, method, label):
    page = tmp_path / "f.html"
    asked = ["figure", "importance_grid", two_methods, "--out", page, "--method", method]
    code, text = command(capfd, monkeypatch, *asked)
    assert code == 0, text
    assert f"{method}{label}, model mini" in page.read_text(encoding="utf-8")


def test_a_list_is_an_option_of_a_figure(capfd, monkeypatch, tmp_path, two_methods):
    block = EXAMPLES["layer_token"](6, 8).assign_attrs(label="token_probe", model="toy")
    ResultsFolder(two_methods).write_block("_suite", "token_probe", block)
    roles = block["role"].values.tolist()[:2]
    for given in (",".join(roles), json.dumps(roles)):
        code, text = command(capfd, monkeypatch, "figure", "layer_token", two_methods, "--out", tmp_path / "f.html",
                             "--set", f"highlight={given}")  # fmt: skip
        assert code == 0, text
        assert f"rectangle: {', '.join(roles)}" in (tmp_path / "f.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("figure", ["importance_grid", "layer_token"])
def test_figures_of_made_up_blocks(capfd, monkeypatch, tmp_path, two_methods, figure):
    method = {"importance_grid": "function_probe", "layer_token": "token_probe"}[figure]
    example = EXAMPLES[figure](6, 8).assign_attrs(label=method, model="toy")
    ResultsFolder(two_methods).write_block("_suite", method, example)
    code, text = command(capfd, monkeypatch, "figure", figure, two_methods, "--out", tmp_path / "f.html")
    assert code == 0, text
    assert f"{method}, model toy" in (tmp_path / "f.html").read_text(encoding="utf-8")
