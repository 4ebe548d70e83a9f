"""Counting the seconds of imports hides no test module that cannot be imported."""

import os
import subprocess
import sys
from pathlib import Path


def test_a_module_that_cannot_be_imported_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("def test_it(): ...\n1 / 0\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "minutes", "--import-mode=importlib"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, "ZeroDivisionError" in done.stdout) == (2, True)
