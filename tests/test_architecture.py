"""The tree as designed: imports go one way, every module imports alone, reading results needs no torch."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simulated import CATEGORIES, block
from simulated_series import STRONG, results_of, series_of, written

from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, ModelRecord, PlanRecord, TaskRecord

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "headcats"
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in PACKAGE.rglob("*.py")
)


def python(code: str, *arguments: str, **options) -> subprocess.CompletedProcess:
    """Run `code` in a fresh process."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, check=False, encoding="utf-8", **options
    )


# --------------------------------------------------------------------------------------------- importing everything
IMPORT_AND_CALL = """
import importlib, json, sys, types
from importlib.machinery import SourceFileLoader
modules, orders, problems, codes = json.loads(sys.argv[1]), json.loads(sys.argv[2]), [], {}
read_code = SourceFileLoader.get_code

def code_once(loader, name):  # compiled once, executed anew at every import
    if name not in codes:
        codes[name] = read_code(loader, name)
    return codes[name]

SourceFileLoader.get_code = code_once

def forget():
    for name in [n for n in sys.modules if n.split(".")[0] == "headcats"]:
        del sys.modules[name]

def check_public_names():
    import headcats
    from headcats import registry
    namespaces = {}
    for name in headcats.__all__:
        item = getattr(headcats, name)
        if isinstance(item, types.ModuleType):
            namespaces[name] = item
        elif not callable(item) and name != "__version__":
            problems.append(f"{order}: headcats.{name} is {item!r}, which nobody can call")
    for name, namespace in namespaces.items():
        for member in getattr(namespace, "__all__", ()):
            if not callable(getattr(namespace, member)):
                item = getattr(namespace, member)
                problems.append(f"{order}: headcats.{name}.{member} is {item!r}, which nobody can call")
    for kind in ("method", "metric", "rule", "figure"):
        namespace = getattr(headcats, kind + "s")
        found = registry.names(kind)
        if not found:
            problems.append(f"{order}: no {kind} is registered")
        for name in found:
            item = getattr(namespace, name, None)
            if not callable(item):
                problems.append(f"{order}: {namespace.__name__}.{name} is {item!r}, which nobody can call")

# In one process: the libraries below us are loaded once.
for order in orders:
    forget()
    for module in modules[::-1] if order == "backwards" else modules:
        if order == "alone":  # as in a process that imports this module first
            forget()
        try:
            importlib.import_module(module)
        except Exception as error:
            problems.append(f"{order}: {module}: {type(error).__name__}: {error}")
    check_public_names()
print(json.dumps(problems))
"""


@pytest.mark.parametrize(
    "orders",
    [
        pytest.param(["forwards", "backwards"], marks=pytest.mark.ci),
        pytest.param(["alone"], marks=pytest.mark.slow),  # every module as the first one
    ],
)
def test_every_module_imports_and_every_public_name_is_callable(orders: list[str]):
    """An import cycle shows in at least one order."""
    modules = [m for m in MODULES if not m.endswith("__main__")]
    done = python(IMPORT_AND_CALL, json.dumps(modules), json.dumps(orders))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_no_module_has_the_name_of_a_public_function():
    """`hc.name` would be the function or the module, depending on what was imported first."""
    import headcats

    functions = {name for name in headcats.__all__ if not hasattr(getattr(headcats, name), "__path__")}
    modules = {m.split(".")[1] for m in MODULES if m != "headcats"}
    assert functions & modules <= set(_namespaces())


def _namespaces() -> list[str]:
    import types

    import headcats

    return [name for name in headcats.__all__ if isinstance(getattr(headcats, name), types.ModuleType)]


def test_a_misspelt_public_name_is_an_attribute_error():
    import headcats

    with pytest.raises(AttributeError, match="load_modl"):
        headcats.load_modl  # noqa: B018
    assert set(headcats.__all__) <= set(dir(headcats))


# --------------------------------------------------------------------------------------------------- who imports whom
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"


@pytest.mark.ci
def test_the_contract_sees_an_import_upwards(tmp_path):
    """On a copy in which the lowest module imports a higher one; `lint-imports` itself runs with the other checks."""
    shutil.copytree(
        PACKAGE, tmp_path / "headcats", ignore=shutil.ignore_patterns("__pycache__", "mini", "mini_cognitive")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with open(tmp_path / "headcats" / "errors.py", "a", encoding="utf-8") as file:
        file.write("\nimport headcats.registry\n")
    done = python(LINT, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert "headcats.errors -> headcats.registry" in done.stdout


def imported_names(path: Path) -> set[str]:
    """Full names of everything a file imports, wherever in the file it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_only_models_imports_transformer_lens():
    """One adapter stands between headcats and the classes of TransformerLens."""
    importers = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        if any(name.split(".")[0] == "transformer_lens" for name in imported_names(path))
    }
    assert importers == {"models"}


def test_the_folders_of_bundled_models_hold_no_code():
    """Training is in `benchmarks/training`, so that the wheel holds what it made and not how."""
    assert [path for folder in ("mini", "mini_cognitive") for path in (PACKAGE / "models" / folder).rglob("*.py")] == []


# ------------------------------------------------------------------------------------------------- without torch
# One after another in one process; the last one after an import of torch.
RUN_COMMANDS = """
import contextlib, io, json, sys
from headcats.cli import main
commands, answers = json.loads(sys.argv[1]), []
for arguments in [*commands, ["--version"]]:
    sys.argv = ["headcats", *arguments]
    code, printed = 0, io.StringIO()
    if len(answers) == len(commands):
        import torch
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            code = main() or 0
        except SystemExit as error:
            code = error.code or 0
    heavy = [name for name in ("torch", "transformer_lens", "circuitsvis") if name in sys.modules]
    answers.append({"code": code, "heavy": heavy, "printed": printed.getvalue()})
print(json.dumps(answers))
"""


def run_commands(commands: list[tuple[str, ...]], folder: Path) -> dict[tuple[str, ...], dict]:
    """Exit code, heavy modules and text of every command, and of one `with torch`."""
    done = python(RUN_COMMANDS, json.dumps(commands), cwd=folder)
    assert done.returncode == 0, done.stderr
    return dict(zip([*commands, "with torch"], json.loads(done.stdout.splitlines()[-1]), strict=True))


LOOKING_AROUND = {
    ("--help",): "validate",
    ("--version",): "transformer-lens",
    ("list", "tasks"): "plural",
    ("list", "suites"): "icl",
    ("list", "rules"): "fdr",
    ("list", "figures"): "overlap_map",
    ("list", "presets", "--json"): "chg-mini",
    ("views", "--help"): "--heads",
    ("run", "--help"): "--no-views",
    ("push", "--help"): "--private",
}
READING = {
    ("map", "saved", "--csv"): "saved/heads.csv",
    ("report", "saved", "--out", "report.html"): "report.html",
    ("report", "saved", "--out", "answered.html", "--json"): "answered.html",
    ("merge", "saved", "--out", "all"): "all/manifest.json",
    ("merge", "saved", "--out", "answered", "--json"): "answered/manifest.json",
    ("figure", "head_grid", "saved", "--out", "grid.html"): "grid.html",
    ("map", "series"): "series/checkpoints.html",
    ("figure", "checkpoints", "series", "--out", "checkpoints.html"): "checkpoints.html",
    ("export", "saved", "--format", "parquet", "--out", "effects.parquet"): "effects.parquet",
}


def save_results(path: Path) -> None:
    """Two tasks of different categories, one planted head each, written without any model."""
    folder = ResultsFolder(path)
    rng = np.random.default_rng(0)
    tasks = {"plural": "Linguistic", "capital": "Knowledge"}
    for place, task in enumerate(tasks):
        differences = 0.01 * rng.standard_normal((24, 2, 4))
        differences[:, 0, place] += 1.0
        folder.write_block(task, "denoising_patch@last", block(differences))
    folder.write_manifest(
        Manifest(
            plan=PlanRecord("icl", ("logit_diff",)),
            model=ModelRecord("planted", layers=(0, 1), heads=(4, 4)),
            categories=tuple(CategoryRecord(**entry) for entry in CATEGORIES),
            tasks={task: TaskRecord(category) for task, category in tasks.items()},
            methods=("denoising_patch@last",),
            created="2026-01-01T00:00:00+00:00",
        )
    )


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> tuple[dict[tuple[str, ...], dict], Path]:
    """Exit code, heavy modules and text of every command, and the folder in which they ran."""
    folder = tmp_path_factory.mktemp("light")
    save_results(folder / "saved")
    written(series_of({"step1": results_of(STRONG), "step2": results_of(STRONG, seed=1)}), folder / "series")
    return run_commands([*LOOKING_AROUND, *READING], folder), folder


@pytest.mark.ci
@pytest.mark.parametrize("command", LOOKING_AROUND, ids=" ".join)
def test_looking_around_needs_no_torch(answers, command):
    answer = answers[0][command]
    assert (answer["code"], answer["heavy"]) == (0, []), answer["printed"]
    assert LOOKING_AROUND[command] in answer["printed"]


@pytest.mark.ci
@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_reading_results_needs_no_torch(answers, command):
    answer = answers[0][command]
    assert (answer["code"], answer["heavy"]) == (0, []), answer["printed"]
    assert (answers[1] / READING[command]).exists()


@pytest.mark.ci
def test_the_check_for_torch_sees_torch(answers):
    answer = answers[0]["with torch"]
    assert (answer["code"], answer["heavy"]) == (0, ["torch"])


@pytest.mark.ci
def test_what_is_read_is_in_what_is_written(answers):
    folder = answers[1]
    assert "L0H0" in (folder / "saved" / "heads.csv").read_text(encoding="utf-8")
    assert (folder / "saved" / "overlap_map.html").stat().st_size > 1_000_000, "plotly.js inside"
    assert "plural" in (folder / "grid.html").read_text(encoding="utf-8")
