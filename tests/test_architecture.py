"""The tree as designed: imports go one way, every module imports alone, reading results needs no torch."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

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
IMPORT_EACH = """
import importlib, json, sys
problems = []
for module in json.loads(sys.argv[1]):  # in one process: the libraries below us are loaded once
    for name in [name for name in sys.modules if name.split(".")[0] == "headcats"]:
        del sys.modules[name]
    try:
        importlib.import_module(module)
    except Exception as error:
        problems.append(f"{module}: {type(error).__name__}: {error}")
print(json.dumps(problems))
"""


@pytest.mark.slow
def test_every_module_can_be_the_first_that_is_imported():
    """An import cycle shows in one of them."""
    done = python(IMPORT_EACH, json.dumps([module for module in MODULES if not module.endswith("__main__")]))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_a_misspelt_public_name_is_an_attribute_error():
    import headcats

    with pytest.raises(AttributeError, match="load_modl"):
        headcats.load_modl  # noqa: B018
    assert set(headcats.__all__) <= set(dir(headcats))


# --------------------------------------------------------------------------------------------------- who imports whom
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


def test_the_core_neither_imports_nor_names_papers():
    """They come in by entry points alone; the stub of the package is what type checkers and editors read."""
    papers = PACKAGE / "papers"
    rooms = [path.name for path in papers.iterdir() if (path / "__init__.py").exists()] if papers.exists() else []
    named = re.compile("|".join(["headcats[./]papers[./]", "import papers", *rooms]))
    core = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyi", ".toml", ".jinja", ".js")]
    offenders = [path for path in core if papers not in path.parents and named.search(path.read_text(encoding="utf-8"))]
    assert offenders == []


# ------------------------------------------------------------------------------------------------- without torch
# One after another in one process, until one imports what is heavy.
RUN_COMMANDS = """
import contextlib, io, json, sys
from headcats.cli import main
problems = []
for arguments, expected in json.loads(sys.argv[1]):
    sys.argv = ["headcats", *arguments]
    code, printed = 0, io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            code = main() or 0
        except SystemExit as error:
            code = error.code or 0
    heavy = [name for name in ("torch", "transformer_lens", "circuitsvis") if name in sys.modules]
    if code or heavy or expected not in printed.getvalue():
        problems.append([arguments, code, heavy, printed.getvalue()[-300:]])
        break
print(json.dumps(problems))
"""


def problems_of(commands: dict[tuple[str, ...], str], folder: Path) -> list[Any]:
    """The first command that fails, prints not what is expected or imports torch: its code, heavy modules and text."""
    done = python(RUN_COMMANDS, json.dumps(list(commands.items())), cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


LOOKING_AROUND = {
    ("--help",): "validate",
    ("--version",): "transformer-lens",
    ("list", "tasks"): "plural",
    ("list", "suites"): "icl",
    ("list", "methods"): "denoising_patch",
    ("list", "rules"): "fdr",
    ("list", "figures"): "overlap_map",
    ("list", "presets", "--json"): "[",
    ("run", "--help"): "--no-attention",
    ("push", "--help"): "--private",
    ("compare", "saved"): "protocol",
}
READING = {
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
            plan=PlanRecord(suite="icl", metrics=("logit_diff",)),
            model=ModelRecord("planted", layers=(0, 1), heads=(4, 4)),
            categories=tuple(CategoryRecord(**entry) for entry in CATEGORIES),
            tasks={task: TaskRecord(category) for task, category in tasks.items()},
            methods=("denoising_patch@last",),
            created="2026-01-01T00:00:00+00:00",
        )
    )


def test_looking_around_needs_no_torch(tmp_path: Path) -> None:
    save_results(tmp_path / "saved")
    assert problems_of(LOOKING_AROUND | {("map", "saved", "--csv"): "L0H0"}, tmp_path) == []
    assert "L0H0" in (tmp_path / "saved" / "heads.csv").read_text(encoding="utf-8")
    assert (tmp_path / "saved" / "overlap_map.html").stat().st_size > 1_000_000, "plotly.js inside"


@pytest.mark.slow
def test_reading_results_needs_no_torch(tmp_path: Path) -> None:
    save_results(tmp_path / "saved")
    written(series_of({"step1": results_of(STRONG), "step2": results_of(STRONG, seed=1)}), tmp_path / "series")
    assert problems_of(dict.fromkeys(READING, ""), tmp_path) == []
    assert [file for file in READING.values() if not (tmp_path / file).exists()] == []
    assert "plural" in (tmp_path / "grid.html").read_text(encoding="utf-8")
