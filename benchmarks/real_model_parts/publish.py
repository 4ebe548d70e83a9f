"""A finished study as the repository holds it."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.place import find_place


def publish(study: Path, to: Path) -> None:
    """Copy results without pages and intermediate tables; the manifest names the model as if it lay beside it."""
    manifest = open_results(find_place(str(study))).manifest
    manifest.model = replace(manifest.model, source=f"./{manifest.model.name}")
    new = to.with_name(f"{to.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(study, new, ignore=shutil.ignore_patterns(".*", "*.html"))
    ResultsFolder(new).write_manifest(manifest)
    shutil.rmtree(to, ignore_errors=True)
    os.replace(new, to)
