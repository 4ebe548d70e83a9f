"""Commands on results and models of a hub on this machine: what they print and write, and how they fail."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest
from hub_server import Fault, Hub
from test_architecture import save_results

NAME = "somebody/toy"
ADDRESS = f"hf://{NAME}"

pytestmark = [
    pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning"),
]


@pytest.fixture
def saved(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Results that were written without a model, and a token that may share them."""
    hub.writers["of-somebody"] = {"somebody"}
    monkeypatch.setenv("HF_TOKEN", "of-somebody")
    save_results(tmp_path / "saved")
    return tmp_path / "saved"


def test_push_says_where_it_is_and_brings_it_up_to_date(headcats, hub: Hub, saved: Path) -> None:
    done = headcats("push", saved, NAME, "--private")
    commit = hub.repositories["dataset", NAME].refs["main"]
    assert done.code == 0
    assert commit in done.out
    assert f"headcats map {ADDRESS}" in done.text
    assert hub.repositories["dataset", NAME].private
    done = headcats("push", saved, NAME, "--revision", "draft", "--json")
    commit = hub.repositories["dataset", NAME].refs["draft"]
    assert json.loads(done.out) == {"address": f"{ADDRESS}@{commit}", "name": NAME, "commit": commit}


def test_pages_about_results_of_the_hub_go_into_a_folder_of_their_name(headcats, hub: Hub, saved: Path) -> None:
    headcats("push", saved, NAME)
    done = headcats("map", ADDRESS, "--csv")
    assert done.code == 0
    assert not re.search("Note: (?!Categories)", done.err)
    assert "L0H0" in done.out
    for command in (
        ["report", ADDRESS],
        ["figure", "head_grid", ADDRESS, "--out", "grid.html"],
        ["compare", ADDRESS, "--halves", "0", "--csv", "pairs.csv"],
        ["export", ADDRESS, "--format", "csv", "--out", "effects.csv"],
    ):
        assert headcats(*command).code == 0, command
    written = sorted(path.relative_to(Path.cwd()).as_posix() for path in Path.cwd().rglob("*.*"))
    pages = ["toy/heads.csv", "toy/overlap_map.html", "toy/report.html"]
    assert written == ["effects.csv", "grid.html", "pairs.csv", *pages]
    cache = Path(huggingface_hub.constants.HF_HUB_CACHE)
    names = {path.name for path in cache.rglob("snapshots/*/*")}
    assert names == {"manifest.json", "blocks"}, "nothing but what was fetched"
    page = Path("toy/report.html").read_text(encoding="utf-8")
    assert f"headcats report {ADDRESS}" in page
    assert f'hc.load("{ADDRESS}")'.replace('"', "&#34;") in page
    assert "headcats evidence DIR" in page
    assert str(cache) not in page


def test_what_fails_is_one_sentence(headcats, hub: Hub, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*command: object) -> str:
        done = headcats(*command)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        return done.err

    assert re.match(f"Error: .*{ADDRESS}: .*public dataset", refused("map", ADDRESS))
    assert re.match("Error: .*hf://others/toy: .*right", refused("push", saved, "others/toy"))
    headcats("push", saved, NAME)
    hub.faults.append(Fault("GET /api/datasets", 429, {"Retry-After": "3600"}, times=99))
    assert r"(429)" in refused("report", ADDRESS)
    hub.faults.clear()
    assert headcats("map", ADDRESS).code == 0
    assert f"`headcats evidence {ADDRESS}`" in refused("figure", "ablation_curves", ADDRESS, "--out", "curves.html")
    for command in ("evidence", "views"):
        assert f"`headcats merge {ADDRESS} --out DIR`" in refused(command, ADDRESS)
    assert "`headcats push`" in refused("merge", saved, "--out", ADDRESS)
    monkeypatch.delenv("HF_TOKEN")
    assert "no token" in refused("push", saved, NAME)


def test_a_gated_model_is_one_sentence(headcats, hub: Hub) -> None:
    hub.add("lab/gated", {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": b""}, gated=401)
    headcats("run", "--model", "lab/gated").check_one_message("'lab/gated'", "gated", "no token")
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.slow  # without another process: results/test_sources.py, and torch: test_architecture.py
def test_a_process_finds_another_hub_by_its_variable(headcats, hub: Hub, saved: Path, tmp_path: Path) -> None:
    headcats("push", saved, NAME)
    environment = os.environ | {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "headcats", "merge", ADDRESS, "--out", "copy"],
        capture_output=True, encoding="utf-8", check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert Path("copy/blocks/plural/denoising_patch@last.nc").is_file()
