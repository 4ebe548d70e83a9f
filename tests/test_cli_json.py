"""`--json` of every command: valid JSON on stdout and nothing else, with the keys that the help names."""

import importlib
import json
import logging
import re
import shutil
import sys
import warnings

import pytest
from counting import SUITE, counting_folder

import headcats as hc
from headcats import cli
from headcats.cli.commands import callback
from headcats.errors import StatisticsWarning, StorageError
from headcats.results.declaration import registered_declarations

QUICK = ["--suite", SUITE, "--n-prompts", "12", "--n-demos", "2"]
METHODS = ["denoising_patch", "mean_ablation"]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    return counting_folder(tmp_path_factory.mktemp("json") / "counting-model")


@pytest.fixture(scope="module")
def results(model_folder, tmp_path_factory):
    """A finished run of the small suite."""
    path = tmp_path_factory.mktemp("json") / "results"
    model = hc.load_model(model_folder, device="cpu")
    hc.run(model, suite=SUITE, n_prompts=12, n_demos=2, methods=METHODS, out=path)
    return path


@pytest.fixture
def headcats(capfd, monkeypatch, tmp_path):
    """Function: arguments -> exit code, stdout, stderr, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    logger = logging.getLogger("headcats")

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["headcats", *map(str, arguments), "--json"])
        handlers, level = list(logger.handlers), logger.level
        capfd.readouterr()
        code = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        finally:
            logger.handlers = handlers
            logger.setLevel(level)
        return code, *capfd.readouterr()

    return command


def not_json(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.fixture
def answered(headcats):
    """Function: arguments -> what is printed, whose keys are all named in the help of the command."""

    def command(name, *arguments):
        code, out, err = headcats(name, *arguments)
        assert code == 0, err
        found = json.loads(out, parse_constant=not_json)
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


def test_run_with_a_profile(answered, model_folder):
    quick = [*QUICK, "--out", "r", "--no-views", "--quiet"]
    found = answered("run", "--model", model_folder, *quick, "--profile")
    seconds = {row["purpose"]: row["seconds"] for row in found["profile"]}
    purposes = {"model", "metrics", "sweeps", "prompts", "saving", "statistics", "pages", "loading", "other"}
    assert set(seconds) == purposes
    assert min(seconds.values()) >= 0
    assert seconds["model"] > seconds["metrics"] > 0


def test_map(answered, results):
    found = answered("map", results, "--csv")
    assert set(found) >= {"method", "rule", "categories", "heads", "shared", "overlap", "sentences", "files"}
    assert {row["head"] for row in found["heads"]} == {"L0H0"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
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
    assert [row["k"] for row in found["shared"]] == [1, 2, 3]
    assert len(found["overlap"]) == 3
    assert found["files"] == {"map": str(results / "overlap_map.html"), "heads": str(results / "heads.csv")}
    assert any("smallest reachable p" in line for line in found["sentences"])


def test_where_no_head_can_be_judged_the_reason_is_there(headcats, model_folder, tmp_path):
    model = hc.load_model(model_folder, device="cpu")
    hc.run(model, suite=SUITE, tasks=["always_a"], n_prompts=3, n_demos=2, methods=METHODS[:1], out=tmp_path / "r")
    code, out, err = headcats("map", "r")
    assert json.loads(out)["not_judged"]
    assert "Note: No head" in err
    assert code == 0


def test_run(answered, model_folder):
    run = ["run", "--model", model_folder, *QUICK, "--out", "r", "--methods", "denoising_patch"]
    found = answered(*run)
    assert (found["folder"], found["model"], found["suite"]) == ("r", "counting-model", SUITE)
    assert found["methods"] == ["denoising_patch@last"]
    refused = {row["task"]: row["refusal"] for row in found["tasks"]}
    assert "accuracy 0.00" in refused.pop("shifted")
    assert set(refused.values()) == {None}
    assert {row["head"] for row in found["map"]["heads"]} == {"L0H0"}
    assert found["files"] == {"map": "r/overlap_map.html", "report": "r/report.html"}
    assert found["views"] == ["r/views/knowledge.html", "r/views/linguistic.html"]


def test_where_nothing_can_be_scored_validate_ends_with_3_and_a_run_with_2(headcats, model_folder, tmp_path):
    refused = ["--model", model_folder, *QUICK, "--tasks", "shifted"]
    code, out, _ = headcats("validate", *refused)
    assert code == 3
    assert set(json.loads(out)["shifted"]) <= named_in_help("validate")
    code, out, err = headcats("run", *refused, "--out", "r")
    assert (code, out) == (2, "")
    assert "accuracy 0.00" in err


def test_plan(answered, headcats):
    study = ["--tasks", "plural,antonym", "--methods", "denoising_patch,mean_ablation@last", "--n-prompts", "8"]
    found = answered("plan", "--shape", "llama-3-8b", "--devices", "2", *study)
    assert found["shape"]["name"] == "llama-3-8b"
    assert [row["part"] for row in found["parts"]] == ["unpatched runs", "denoising_patch@last", "mean_ablation@last"]
    assert set(found["parts"][0]) | set(found) | set(found["shape"]) | set(found["hardware"]) <= named_in_help("plan")
    assert found["hours"] == pytest.approx(found["device_hours"] / 2)
    code, out, err = headcats("plan", "--shape", "llama-3-70b", *study)
    assert (code, out) == (2, "")
    assert "--devices 2" in " ".join(err.split())


def test_figure(answered, results, tmp_path):
    found = answered("figure", "head_grid", results, "--out", "x.html")
    assert set(found) == named_in_help("figure") == {"figure", "file", "title"}
    assert (tmp_path / found["file"]).exists()


def test_compare(answered, results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "r")
    found = answered("compare", folder, "--halves", 2, "--csv", "pairs.csv")
    labels = ["denoising_patch@last", "mean_ablation@all"]
    assert [row["protocol"] for row in found["protocols"]] == [f"{label}, logit_diff" for label in labels]
    assert found["protocols"][0]["heads"] == {"Knowledge": 1, "Linguistic": 1, "Algorithmic": None}
    assert {row["category"] for row in found["pairs"]} == {"Knowledge", "Linguistic", "Algorithmic"}
    assert found["replicated"][0]["any"] == ["L0H0"]
    assert found["halves"]["splits"] == 2
    assert found["methods"] is found["models"] is found["differences"] is None
    assert found["files"] == {"saved": str(folder / "evidence" / "robustness"), "csv": "pairs.csv"}
    two = answered("compare", folder, folder, "--method", "mean_ablation")
    assert two["differences"] == {}
    assert two["files"] == {}, "not saved"


def test_evidence_and_its_figure(headcats, answered, results, model_folder, tmp_path):
    folder = shutil.copytree(results, tmp_path / "r")
    figure = ["figure", "ablation_curves", folder, "--out", "x.html"]
    code, out, err = headcats(*figure)
    assert (code, out) == (2, "")
    assert "`headcats evidence" in " ".join(err.split())
    found = answered("evidence", folder, "--model", model_folder, "--n-prompts", 8, "--relabellings", 19)
    assert [row["category"] for row in found["verdicts"]] == ["Knowledge", "Linguistic", "Algorithmic"]
    assert {row["verdict"] for row in found["verdicts"]} == {"inconclusive"}
    assert found["error_rate"] == 0.0  # three labellings of three tasks: none can be told from the others
    assert sorted(f"{name}.nc" for name in found["tables"]) == sorted(found["files"])
    assert found["tables"]["specificity"]["coords"]["category"]["data"][0] == "Knowledge"
    assert found["options"]["relabellings"] == 19
    assert found["reading"]
    title = answered(*figure)["title"]
    for part in ("denoising_patch@last", "logit_diff", "counting-model"):
        assert part in title
    for others in (["--method", "mean_ablation"], ["--sign", "suppressing"], ["--rule", "threshold:value=0.2"]):
        assert headcats(*figure, *others)[0] == 2, others


def test_report(headcats, answered, results, tmp_path):
    found = answered("report", results, "--method", "mean_ablation", "--out", "page.html")
    assert found == {"sentences": [], "files": {"report": "page.html"}}
    assert set(found) | {"report"} == named_in_help("report")
    assert "mean_ablation" in (tmp_path / "page.html").read_text(encoding="utf-8")
    for wrong in (["--rule", "fdrr"], ["--sign", "up"], ["--method", "no_method"], ["--out", "page.pdf"]):
        code, out, err = headcats("report", results, *wrong)
        assert (code, out) == (2, ""), wrong
        assert "Error: " in err


def test_views(answered, results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "r")
    # Their model is a folder that they keep the path of: as far from this copy as from the original.
    found = answered("views", folder, "--heads", 1, "--prompts", 1)
    assert [row["heads"] for row in found["views"]] == [["L0H0"], ["L0H0"]]
    assert all((tmp_path / path).exists() for path in found["files"].values())
    assert list(found["left_out"]) == ["Algorithmic"]


def test_merge(answered, results, model_folder, tmp_path):
    model = hc.load_model(model_folder, device="cpu")
    hc.run(model, suite=SUITE, n_prompts=12, n_demos=2, methods=["noising_patch"], tasks=["always_c"], out="more")
    found = answered("merge", results, "more", "--out", "all")
    assert found == {"folder": "all", "tasks": ["always_a", "always_b", "always_c"], "joint_methods": [], "losses": []}
    small = answered("merge", "all", "--out", "small", "--store", "compact")
    assert {loss["store"] for loss in small["losses"]} == {"compact"}
    assert {*found, *small["losses"][0]} == named_in_help("merge") - {"whole"}


@pytest.mark.parametrize("kind", ["tasks", "suites", "methods", "rules", "metrics", "figures", "presets"])
def test_list(answered, kind):
    found = answered("list", kind)
    more = {"tasks": {"category", "suite"}, "methods": {"kind", "paper", "cost"}}
    assert all(set(entry) == {"name", "what"} | more.get(kind, set()) for entry in found)
    assert named_in_help("list") == {"name", "what", "n"}.union(*more.values())
    assert all(set(entry) == {"name", "n"} for entry in answered("list"))


def test_methods_are_listed_with_what_they_declare(answered):
    entries = {entry["name"]: entry for entry in answered("list", "methods")}
    for name, declaration in registered_declarations().items():
        for key in ("kind", "paper", "cost"):
            assert entries[name][key] == getattr(declaration, key)
    assert entries["ov_relation"]["kind"] == "joint"


@pytest.mark.parametrize(
    "arguments",
    [
        ["map", "nowhere"],
        ["report", "nowhere"],
        ["views", "nowhere"],
        ["compare", "nowhere"],
        ["evidence", "nowhere"],
        ["figure", "no_figure", "nowhere", "--out", "x.html"],
        ["merge", "nowhere", "--out", "x"],
        ["list", "nothing"],
        ["run", "--suite", "no_suite"],
        ["validate", "--suite", "no_suite"],
    ],
)
def test_an_error_is_one_message_on_stderr_and_no_json(headcats, arguments):
    code, out, err = headcats(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")


def test_a_map_of_a_folder_that_cannot_be_written_has_its_numbers_and_no_page(answered, headcats, results, monkeypatch):
    def refuse(*_):
        raise StorageError("Could not write overlap_map.html: Permission denied.")

    # As an attribute of the package, its module is hidden by the decorator of that name.
    monkeypatch.setattr(importlib.import_module("headcats.figures.figure"), "write", refuse)
    found = answered("map", results)
    assert found["files"] == {"map": None}
    assert found["heads"]
    code, _, err = headcats("map", results)
    assert code == 0
    assert "Permission denied" in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["{results}", "overlap_map", "--out", "x.html"], "The figure comes first: headcats figure overlap_map"),
        (["overlap_map", "{results}", "--out", "nowhere/x.html"], "There is no folder nowhere for x.html"),
    ],
    ids=["order", "folder"],
)
def test_a_figure_that_cannot_be_drawn_is_refused_before_anything_is_read(headcats, results, arguments, told):
    code, out, err = headcats("figure", *(one.format(results=results) for one in arguments))
    assert (code, out) == (2, "")
    assert told in " ".join(err.split())
