"""Every tutorial runs from top to bottom on the bundled model, in this environment, and is stored without outputs."""

import json
from pathlib import Path

import nbformat
import pytest

TUTORIALS = Path(__file__).parents[1] / "tutorials"
NOTEBOOKS = sorted(TUTORIALS.glob("*.ipynb"))


def test_there_is_a_tutorial():
    assert "01_first_map.ipynb" in [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_without_outputs(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(notebook)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
    assert any("assert " in "".join(cell["source"]) for cell in code[-1:]), "a tutorial ends by asserting its claim"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# jupyter_client and pyzmq warn about the event loop on some systems; nothing of ours runs in this process
@pytest.mark.filterwarnings("ignore:.*event loop:RuntimeWarning")
def test_notebook_runs(path, tmp_path, monkeypatch):
    from nbclient import NotebookClient

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # the bundled model is all it may need
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output for output in shown if output.output_type == "error"] == []
    assert any("plotly" in "".join(output.get("data", {})) or "text/html" in output.get("data", {}) for output in shown)
