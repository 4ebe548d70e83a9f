"""Commands on results and models of a hub on this machine: what they print and write, and how they fail."""

import json
import re
from pathlib import Path

import huggingface_hub
import pytest
from hub_server import Fault, Hub
from test_architecture import save_results

NAME = "somebody/toy"
ADDRESS = f"hf://{NAME}"

pytestmark = [
    pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning"),
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
    for command in (["report", ADDRESS], ["figure", "head_grid", ADDRESS, "--out", "grid.html"]):
        assert headcats(*command).code == 0, command
    written = sorted(path.relative_to(Path.cwd()).as_posix() for path in Path.cwd().rglob("*.*"))
    pages = ["toy/heads.csv", "toy/overlap_map.html", "toy/report.html"]
    assert written == ["grid.html", *pages]
    cache = Path(huggingface_hub.constants.HF_HUB_CACHE)
    names = {path.name for path in cache.rglob("snapshots/*/*")}
    assert names == {"manifest.json", "blocks"}, "nothing but what was fetched"
    page = Path("toy/report.html").read_text(encoding="utf-8")
    assert f"headcats report {ADDRESS}" in page
    assert f'hc.load("{ADDRESS}")'.replace('"', "&#34;") in page
    assert "headcats evidence DIR" in page
    assert str(cache) not in page


def test_what_fails_is_one_sentence(headcats, hub: Hub, saved: Path) -> None:
    headcats("map", ADDRESS).check_one_message(ADDRESS, "public dataset")
    headcats("push", saved, NAME)
    hub.faults.append(Fault("GET /api/datasets", 429, times=99))
    headcats("report", ADDRESS).check_one_message("(429)")
    hub.faults.clear()
    figure = headcats("figure", "relabelled_tasks", ADDRESS, "--out", "relabelled.html")
    figure.check_one_message(f"`headcats evidence {ADDRESS}`")
    headcats("evidence", ADDRESS).check_one_message(f"`headcats merge {ADDRESS} --out DIR`")
    headcats("merge", saved, "--out", ADDRESS).check_one_message("`headcats push`")
