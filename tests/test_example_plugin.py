"""A package of somebody else adds one item of each kind, and is treated like the built-in ones everywhere."""

import importlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from for_each import for_each
from test_architecture import imported_names

import headcats as hc

PLUGIN = Path(__file__).parent / "example_plugin"
TASKS = "half_of,next_letter,list_first,capital_country,french_english"
# Several commands in one process: each import of torch takes seconds.
COMMANDS = """
import contextlib, io, json, sys
from headcats import cli
answers = {}
for name, arguments in json.loads(sys.argv[1]).items():
    sys.argv = ["headcats", *arguments]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        cli.main()
    answers[name] = printed.getvalue()
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages with the example in it, as pip leaves it."""
    site = tmp_path_factory.mktemp("site")
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (site / "headcats_example").symlink_to(PLUGIN / "headcats_example")
    metadata = site / f"headcats_example-{project['version']}.dist-info"
    metadata.mkdir()
    header = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(header, encoding="utf-8")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {module}\n" for name, module in items.items())
        for group, items in project["entry-points"].items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    return site


@pytest.fixture(scope="module")
def answers(site: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], Path]:
    """What the commands print with the package installed, and the folder in which they ran."""
    folder = tmp_path_factory.mktemp("work")
    run = ["run", "--tasks", TASKS, "--n-prompts", "8", "--n-demos", "2", "--metrics", "logit_diff,answer_odds"]
    run += ["--no-attention", "--quiet", "--json"]
    commands = {
        "methods": ["list", "methods", "--json"],
        "presets": ["list", "presets", "--json"],
        "run": [*run, "--methods", "halved_head,output_norm,denoising_patch", "--out", "a"],
        "map": ["map", "a", "--method", "halved_head", "--rule", "above_median:factor=4", "--json"],
        "layer_means": ["figure", "layer_means", "a", "--out", "layer_means.html", "--json"],
        "norm_grid": ["figure", "norm_grid", "a", "--out", "norm_grid.html", "--json"],
        "report": ["report", "a"],
    }
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), folder


def answer(answers: tuple[dict[str, str], Path], command: str) -> Any:
    return json.loads(answers[0][command])


PUBLIC = ("headcats", "headcats.methods", "headcats.metrics", "headcats.rules", "headcats.figures",
          "headcats.figures.panels", "headcats.methods.method")  # fmt: skip


def test_it_imports_public_names_alone() -> None:
    """Those of the modules that CONTRIBUTING.md names."""
    contributing = (PLUGIN.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert all(f"`{module}`" in contributing for module in PUBLIC[1:])
    names = {module: set(getattr(importlib.import_module(module), "__all__", ())) for module in PUBLIC}
    names["headcats.base.errors"] = {name for name, item in vars(hc.errors).items() if isinstance(item, type)}
    imported = [name for path in sorted(PLUGIN.rglob("*.py")) for name in imported_names(path)]
    of_headcats = {name for name in imported if name.split(".")[0] == "headcats"}
    assert len(of_headcats) > 10
    private = {
        name
        for name in of_headcats
        if name != "headcats" and (name.rpartition(".")[2] not in names.get(name.rpartition(".")[0], ()))
    }
    assert private == set()


def test_its_items_are_listed(answers: tuple[dict[str, str], Path]) -> None:
    assert {"halved_head", "output_norm"} <= {entry["name"] for entry in answer(answers, "methods")}
    assert "halves" in {entry["name"] for entry in answer(answers, "presets")}


def test_a_run_takes_its_tasks_methods_and_metric(answers: tuple[dict[str, str], Path]) -> None:
    run = answer(answers, "run")
    assert {"halved_head@last", "output_norm"} <= set(run["methods"])
    assert "half_of" in {entry["task"] for entry in run["tasks"]}
    results = hc.load(answers[1] / "a")
    assert results["next_letter/halved_head@last"]["patched"].sizes["metric"] == 2
    assert results["_suite/output_norm"]["norm"].dims == ("task", "layer", "head")


def test_its_rule_judges_its_method(answers: tuple[dict[str, str], Path]) -> None:
    judged = answer(answers, "map")
    assert (judged["method"], judged["rule"]) == ("halved_head", "above_median(factor=4)")
    assert any(head["kind"] == "helping" for head in judged["heads"])


@for_each("figure", ["layer_means", "norm_grid"])
def test_its_figures_are_drawn(answers: tuple[dict[str, str], Path], figure: str) -> None:
    assert (answers[1] / answer(answers, figure)["file"]).stat().st_size > 10_000


def test_the_report_shows_both_methods_with_their_figures(answers: tuple[dict[str, str], Path]) -> None:
    page = (answers[1] / "a" / "report.html").read_text(encoding="utf-8")
    for part in ("halved_head", "output_norm", "writes most", "figure layer_means", "figure norm_grid"):
        assert part in page, part
