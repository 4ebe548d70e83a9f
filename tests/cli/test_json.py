"""`--json` of every command: valid JSON on stdout and nothing else, with the keys that the help names."""

import importlib
import json
import re
import shutil
from pathlib import Path

import pytest
from cli.done import QUICK
from cli.test_compare import A, write
from counting import SUITE
from results.folders import change_manifest

import headcats as hc
from headcats.base.errors import StorageError
from headcats.cli.commands import callback
from headcats.results.declaration import registered_declarations


def not_json(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.fixture
def answered(headcats):
    """Function: arguments -> what is printed, whose keys are all named in the help of the command."""

    def command(name, *arguments):
        done = headcats(name, *arguments, "--json")
        assert done.code == 0, done.err
        found = json.loads(done.out, parse_constant=not_json)
        assert {key for row in rows([found]) for key in row} <= named_in_help(name)
        return found

    return command


def rows(value):
    """Every mapping that stands in a list; mappings elsewhere go from names to what they name."""
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from rows(one)


def named_in_help(command):
    """Words in backticks of what the help says of the keys, also where it leads to another command."""
    keys = callback(command).__doc__.partition("Keys of `--json`")[2]
    others = re.findall(r"`headcats (\w+) --json`", keys)
    return set(re.findall(r"`(\w+)`", keys)).union(*map(named_in_help, others))


@pytest.mark.usefixtures("no_page")
def test_run(answered, counting_model_folder):
    plan = ["--model", counting_model_folder, *QUICK, "--out", "r", "--methods", "denoising_patch", "--quiet"]
    found = answered("run", *plan, "--tasks", "always_a,shifted")
    assert (found["folder"], found["model"], found["suite"]) == ("r", "model", SUITE)
    assert found["methods"] == ["denoising_patch@last"]
    refused = {row["task"]: row["refusal"] for row in found["tasks"]}
    assert "accuracy 0.00" in refused.pop("shifted")
    assert set(refused.values()) == {None}
    assert {row["head"] for row in found["map"]["heads"]} == {"L0H0"}
    files = {"map": "overlap_map.html", "attention": "attention.json", "report": "report.html"}
    assert found["files"] == {name: f"r/{file}" for name, file in files.items()}


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_map(answered, results):
    found = answered("map", results, "--csv")
    assert set(found) >= {"method", "rule", "categories", "heads", "shared", "overlap", "sentences", "files"}
    assert {row["head"] for row in found["heads"]} == {"L0H0"}
    members = hc.categorize(hc.score(hc.load(results), method="denoising_patch"))
    listed = hc.categories.head_table(hc.overlap(members))
    assert [row["effect"] for row in found["heads"]] == pytest.approx(listed["effect"].tolist(), abs=0)
    assert found["heads"][0]["tasks"] == ["always_a", "always_b"]
    assert [row["category"] for row in found["categories"]] == ["Knowledge", "Linguistic", "Algorithmic"]
    assert found["categories"][2] | {"judged": False, "tasks": 0} == found["categories"][2]
    for row in found["categories"][:2]:
        one = members.sel(category=row["category"])
        counted = [row[key] for key in ("tasks", "tasks_needed", "heads", "heads_without_effect")]
        assert counted == [one[name].item() for name in ("n_tasks", "min_tasks", "size", "size_expected")]
    assert [(row["k"], row["observed"]) for row in found["shared"]] == [(1, 0), (2, 1), (3, 0)]
    assert (found["sharing"]["shared_pairs"], found["sharing"]["p_value"]) == (1, None)
    assert len(found["overlap"]) == 3
    assert found["files"] == {"map": str(results / "overlap_map.html"), "heads": str(results / "heads.csv")}


def test_where_no_head_can_be_judged_the_reason_is_there(headcats):
    write(Path("r"), {"denoising_patch@last": A}, items=3)
    done = headcats("map", "r", "--json")
    assert json.loads(done.out)["not_judged"]
    assert "Note: No head" in done.err
    assert done.code == 0
    assert Path("r/overlap_map.html").exists()
    drawn = headcats("figure", "head_grid", "r", "--out", "f.html")
    assert (drawn.code, "No head" in drawn.text) == (0, False)


def test_where_nothing_can_be_scored_validate_ends_with_3_and_a_run_with_2(headcats, counting_model_folder):
    refused = ["--model", counting_model_folder, *QUICK, "--tasks", "shifted", "--json"]
    done = headcats("validate", *refused)
    assert done.code == 3
    assert set(json.loads(done.out)["shifted"]) <= named_in_help("validate")
    headcats("run", *refused, "--out", "r").check_one_message("accuracy 0.00")


def test_plan(answered, headcats):
    study = ["--tasks", "plural,antonym", "--methods", "denoising_patch,zero_ablation@last", "--n-prompts", "8"]
    found = answered("plan", "--shape", "llama-3-8b", "--devices", "2", *study)
    assert found["shape"]["name"] == "llama-3-8b"
    methods = ["denoising_patch@last", "zero_ablation@last"]
    assert [row["part"] for row in found["parts"]] == ["unpatched runs", *methods, "together"]
    assert set(found["parts"][0]) | set(found) | set(found["shape"]) | set(found["hardware"]) <= named_in_help("plan")
    headcats("plan", "--shape", "llama-3-70b", *study, "--json").check_one_message("--devices 2")


def test_compare(headcats, answered, results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "r")
    found = answered("compare", folder, "--csv", "pairs.csv")
    protocols = {row["protocol"]: row["heads"] for row in found["protocols"]}
    assert {"denoising_patch@last, logit_diff", "mean_ablation@all, logit_diff"} < set(protocols)
    assert protocols["denoising_patch@last, logit_diff"] == {"Knowledge": 1, "Linguistic": 1, "Algorithmic": None}
    assert {row["category"] for row in found["pairs"]} == {"Knowledge", "Linguistic", "Algorithmic"}
    assert found["replicated"][0]["any"] == ["L0H0"]
    assert found["methods"] is found["differences"] is None
    assert found["files"] == {"csv": "pairs.csv"}
    second = shutil.copytree(folder, tmp_path / "second")
    headcats("compare", folder, second).check_one_message("the same results as r")
    change_manifest(second, lambda stored: stored.update(created="another time"))
    two = answered("compare", folder, second, "--method", "mean_ablation")
    assert two["differences"] == {}
    assert two["files"] == {}


def test_evidence_and_its_figure(headcats, answered, results, counting_run, evidence_asked, tmp_path):
    folder = shutil.copytree(counting_run, tmp_path / "r")
    figure = ["figure", "relabelled_tasks", folder, "--out", "x.html"]
    headcats("figure", "relabelled_tasks", results, *figure[3:], "--json").check_one_message("`headcats evidence")
    found = answered("evidence", folder, "--model", "gpt2", "--n-prompts", 4, "--relabellings", 19)
    assert [row["category"] for row in found["verdicts"]] == ["Knowledge", "Linguistic", "Algorithmic"]
    assert {row["verdict"] for row in found["verdicts"]} == {"inconclusive"}
    assert found["size"] is None  # nothing could be supported: three tasks, each a source of its own
    assert sorted(f"{name}.nc" for name in found["tables"]) == sorted(found["files"])
    assert found["tables"]["specificity"]["coords"]["category"]["data"][0] == "Knowledge"
    assert found["options"]["relabellings"] == 19
    assert found["reading"]
    drawn = answered(*figure)
    assert set(drawn) == named_in_help("figure") == {"figure", "file", "title"}
    title = drawn["title"]
    for part in ("denoising_patch@last", "logit_diff", "model"):
        assert part in title
    for others in (["--method", "mean_ablation"], ["--sign", "suppressing"], ["--rule", "threshold:value=0.2"]):
        assert headcats(*figure, *others).code == 2, others


def test_report(headcats, answered, results, monkeypatch):
    monkeypatch.setattr("headcats.reports.page.writing.first_screen", lambda material: None)
    monkeypatch.setattr("headcats.reports.page.writing.document", lambda material, tabs, **first: material.mapped)
    found = answered("report", results, "--method", "mean_ablation", "--out", "page.html")
    assert found == {"sentences": [], "files": {"report": "page.html"}}
    assert set(found) | {"report"} == named_in_help("report")
    assert Path("page.html").read_text(encoding="utf-8") == "mean_ablation@all"
    for wrong in (["--method", "no_method"], ["--out", "page.pdf"]):
        headcats("report", results, *wrong, "--json").check_one_message(wrong[1])


def test_merge(headcats, answered):
    write(Path("a"), {"denoising_patch@last": A}, tasks={"t0": "Algorithmic", "t2": "Knowledge"})
    write(Path("b"), {"noising_patch@last": A}, tasks={"t1": "Algorithmic"})
    found = answered("merge", "a", "b", "--out", "all")
    assert found == {"folder": "all", "tasks": ["t0", "t2", "t1"], "joint_methods": []}
    assert {*found} == named_in_help("merge")
    headcats("merge", "a", "nowhere", "--out", "more").check_one_message("nowhere")
    headcats("merge", "a", "--out", "all").check_one_message("all holds results")


@pytest.mark.usefixtures("joint_methods")
def test_list(answered):
    for kind in ("tasks", "suites", "methods", "rules", "metrics", "figures", "presets"):
        found = answered("list", kind)
        more = {"tasks": {"category", "suite"}, "methods": {"kind", "paper", "cost"}}
        assert all(set(entry) == {"name", "what"} | more.get(kind, set()) for entry in found)
    assert named_in_help("list") == {"name", "what", "n"}.union(*more.values())
    assert all(set(entry) == {"name", "n"} for entry in answered("list"))
    entries = {entry["name"]: entry for entry in answered("list", "methods")}
    for name, declaration in registered_declarations().items():
        assert [entries[name][key] for key in ("kind", "paper", "cost")] == [
            getattr(declaration, key) for key in ("kind", "paper", "cost")
        ]
    assert entries["word_weights"]["kind"] == "joint"


def test_a_map_of_a_folder_that_cannot_be_written_has_its_numbers_and_no_page(answered, headcats, results, monkeypatch):
    def refuse(*_):
        raise StorageError("Could not write overlap_map.html: Permission denied.")

    # As an attribute of the package, its module is hidden by the decorator of that name.
    monkeypatch.setattr(importlib.import_module("headcats.figures.figure"), "write", refuse)
    found = answered("map", results)
    assert found["files"] == {"map": None}
    assert found["heads"]
    done = headcats("map", results)
    assert done.code == 0
    assert "Permission denied" in done.text
