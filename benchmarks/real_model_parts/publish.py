"""A finished study as the repository holds it."""

import json
import shutil
from pathlib import Path


def publish(study: Path, to: Path) -> None:
    """Copy results without pages and intermediate tables; the manifest names the model as if it lay beside it."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(study, to, ignore=shutil.ignore_patterns(".kept", ".writer*", "*.html"))
    file = to / "manifest.json"
    text = file.read_text(encoding="utf-8")
    model = json.loads(text)["model"]
    source, beside = (json.dumps(name, ensure_ascii=False) for name in (model["source"], f"./{model['name']}"))
    file.write_text(text.replace(f'"source": {source}', f'"source": {beside}', 1), encoding="utf-8")
