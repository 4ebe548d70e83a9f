"""The report of a run with the views that it links, as files of the site."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def report_of(run: Path) -> dict[str, bytes]:
    """Path beside the report -> content. The run itself is not written to."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / run.name
        shutil.copytree(run, copy)
        subprocess.run([sys.executable, "-m", "headcats", "report", str(copy)], check=True, capture_output=True)
        pages = [copy / "report.html", *sorted((copy / "views").rglob("*.html"))]
        return {path.relative_to(copy).as_posix(): path.read_bytes() for path in pages}
