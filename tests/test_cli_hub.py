"""Commands on results and models of a hub on this machine: what they print and write, and how they fail."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import huggingface_hub
import pytest
from hub_server import Fault, Hub
from test_architecture import save_results

from headcats import cli

NAME = "somebody/toy"
ADDRESS = f"hf://{NAME}"
HEAVY = """
import sys
from headcats.cli import main
sys.argv[0] = "headcats"
try:
    main()
finally:
    print([name for name in ("torch", "transformer_lens", "circuitsvis") if name in sys.modules])
"""

pytestmark = [
    pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning"),
]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def headcats(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Command]:
    """Function: arguments -> exit code, stdout, stderr of one command, run in an empty folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    logger = logging.getLogger("headcats")
    handlers, level = list(logger.handlers), logger.level

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["headcats", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            logger.handlers = list(handlers)
        return code, *capfd.readouterr()

    yield command
    logger.setLevel(level)


@pytest.fixture
def saved(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Results that were written without a model, and a token that may share them."""
    hub.writers["of-somebody"] = {"somebody"}
    monkeypatch.setenv("HF_TOKEN", "of-somebody")
    save_results(tmp_path / "saved")
    return tmp_path / "saved"


def check_one_message(done: tuple[int, str, str], message: str) -> None:
    code, out, err = done
    assert (code, out) == (2, "")
    assert re.fullmatch(f"Error: .*{message}.*\\.\n", err), err


def test_push_says_where_it_is_and_brings_it_up_to_date(headcats: Command, hub: Hub, saved: Path) -> None:
    code, out, _ = headcats("push", saved, NAME, "--private")
    commit = hub.repositories["dataset", NAME].refs["main"]
    assert code == 0
    assert commit in out
    assert f"headcats map {ADDRESS}" in " ".join(out.split())
    assert hub.repositories["dataset", NAME].private
    code, out, _ = headcats("push", saved, NAME, "--revision", "draft", "--json")
    commit = hub.repositories["dataset", NAME].refs["draft"]
    assert json.loads(out) == {"address": f"{ADDRESS}@{commit}", "name": NAME, "commit": commit}


def test_pages_about_results_of_the_hub_go_into_a_folder_of_their_name(
    headcats: Command, hub: Hub, saved: Path
) -> None:
    headcats("push", saved, NAME)
    code, out, err = headcats("map", ADDRESS, "--csv")
    assert code == 0
    assert "Note" not in err
    assert "L0H0" in out
    assert headcats("report", ADDRESS)[0] == 0
    assert headcats("figure", "head_grid", ADDRESS, "--out", "grid.html")[0] == 0
    assert headcats("compare", ADDRESS, "--halves", "1", "--csv", "pairs.csv")[0] == 0
    assert headcats("export", ADDRESS, "--format", "csv", "--out", "effects.csv")[0] == 0
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
    assert headcats("map", f"{ADDRESS}@main")[0] == 0


def test_what_fails_is_one_sentence(headcats: Command, hub: Hub, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_one_message(headcats("map", ADDRESS), f"Could not read {ADDRESS}: the hub has no public dataset of that name")
    check_one_message(headcats("push", saved, "others/toy"), "to hf://others/toy: the token has no right to that")
    headcats("push", saved, NAME)
    hub.faults.append(Fault("GET /api/datasets", 429, {"Retry-After": "3600"}, times=99))
    check_one_message(headcats("report", ADDRESS), r"the hub takes no more requests for now \(429\); wait some minutes")
    hub.faults.clear()
    assert headcats("map", ADDRESS)[0] == 0
    message = f"reads what `headcats evidence {ADDRESS}` saves, and {ADDRESS} holds none"
    check_one_message(headcats("figure", "ablation_curves", ADDRESS, "--out", "curves.html"), message)
    for command in ("evidence", "views"):
        message = f"copy it with `headcats merge {ADDRESS} --out DIR`, and name the copy"
        check_one_message(headcats(command, ADDRESS), message)
    message = f"{ADDRESS} is on the hub: name a folder, and share it with `headcats push` afterwards"
    check_one_message(headcats("merge", saved, "--out", ADDRESS), message)
    monkeypatch.delenv("HF_TOKEN")
    check_one_message(headcats("push", saved, NAME), "there is no token; make one that may write on http")


def test_a_gated_model_is_one_sentence(headcats: Command, hub: Hub) -> None:
    hub.add("lab/gated", {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": b""}, gated=401)
    code, out, err = headcats("run", "--model", "lab/gated")
    assert (code, out) == (2, "")
    error = err.splitlines()[-1]
    assert error.startswith("Error: Could not load 'lab/gated' from the Hugging Face hub: it is gated and no token")
    assert "Traceback" not in err
    assert list(Path.cwd().iterdir()) == []


def test_a_process_finds_another_hub_by_its_variable_and_needs_no_torch(
    headcats: Command, hub: Hub, saved: Path, tmp_path: Path
) -> None:
    headcats("push", saved, NAME)
    environment = os.environ | {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", HEAVY, "merge", ADDRESS, "--out", "copy"],
        capture_output=True, encoding="utf-8", check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Wrote copy: 2 tasks.", "[]"]
    assert Path("copy/blocks/plural/denoising_patch@last.nc").is_file()
