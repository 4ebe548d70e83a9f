"""A finished study as the repository holds it."""

import json
import shutil
from pathlib import Path


def publish(study: Path, to: Path) -> None:
    """Copy results without pages and intermediate tables; the manifest names the model as if it lay beside it."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(study, to, ignore=shutil.ignore_patterns(".kept", ".writer*", "*.html"))
    file = to / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    manifest["model"]["source"] = f"./{manifest['model']['name']}"
    file.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
