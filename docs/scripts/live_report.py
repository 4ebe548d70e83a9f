"""The report of results, as a file of the site."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def report_of(run: Path) -> dict[str, bytes]:
    """Path beside the report -> content. The folder itself is not written to."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / run.name
        shutil.copytree(run, copy)
        subprocess.run([sys.executable, "-m", "headcats", "report", str(copy)], check=True, capture_output=True)
        return {"report.html": (copy / "report.html").read_bytes()}
