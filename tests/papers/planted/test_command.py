"""`headcats demo`: where it writes, and what it leaves as it was."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headcats import cli
from headcats.tasks.suites import suite


def test_a_seed_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}

    def shown(out: Path, *, seed: int, tell: object) -> object:
        found["asked"] = out, seed
        raise KeyboardInterrupt

    monkeypatch.setattr("headcats.papers.planted.showing.show", shown)
    done = CliRunner().invoke(cli.app, ["demo", "--seed", "3", "--out", "here"])
    assert (done.exit_code, found["asked"]) == (130, (Path("here/seed-3"), 3))
    assert len(suite("icl").tasks) == 40  # which the demonstration leaves as it was
