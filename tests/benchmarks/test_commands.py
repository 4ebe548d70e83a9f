"""Every command that is timed ends well, and has its line in the table."""

import commands
import pytest
from counting import SUITE, counting_folder

import headcats as hc

pytestmark = pytest.mark.ci


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("is_measured", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_command_has_its_line(is_measured, tmp_path, monkeypatch, capsys):
    if not is_measured:
        monkeypatch.setattr(commands, "seconds", lambda *command: 0.5)
    model = hc.load_model(counting_folder(tmp_path / "model"), device="cpu")
    hc.run(model, suite=SUITE, n_prompts=12, n_demos=2, methods=["denoising_patch"], out=tmp_path / "run")
    before = contents(tmp_path / "run")
    commands.main([str(tmp_path / "run"), "--rounds", "1"])
    assert contents(tmp_path / "run") == before
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    rows = {name: list(map(float, numbers)) for name, *numbers in lines[2:]}
    assert {
        "headcats map",
        "headcats report",
        "headcats figure head_grid",
        "headcats figure overlap_map",
    } <= rows.keys()
    assert all(seconds > 0.1 for seconds, *_ in rows.values())
    assert rows[f"import {commands.LIBRARIES}"][1] == rows[f"import {commands.NEEDED}"][2] == 1
