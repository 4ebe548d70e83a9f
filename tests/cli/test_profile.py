"""`--profile`: seconds by purpose, and all of them together, by clocks of the test."""

import json
from typing import Any

import pytest

from headcats.cli import profile
from headcats.cli.answer import Answer


class Process:
    """Began at second 100."""

    def create_time(self) -> float:
        return 100.0


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Function: seconds by purpose -> what is told of them at second 120."""
    monkeypatch.setattr(profile.psutil, "Process", Process)
    monkeypatch.setattr(profile.time, "time", lambda: 120.0)

    def tell(**spent: float) -> tuple[dict[str, float], list[Any]]:
        monkeypatch.setattr(profile, "spent", spent)
        answer = Answer(as_json=True)
        profile.tell_profile(answer)
        answer.end()
        put = json.loads(capsys.readouterr().out)
        return {row["purpose"]: row["seconds"] for row in put["profile"]}, put["sentences"]

    return tell


def test_what_comes_before_the_command_is_in_the_time_of_all(told: Any) -> None:
    seconds, _ = told(model=9.0, metrics=1.0, loading=2.0)
    assert sum(seconds.values()) == 20
    assert seconds["other"] == 8


def test_the_share_of_model_and_metrics_is_told_where_they_took_any_time(told: Any) -> None:
    (sentence,) = told(model=9.0, metrics=1.0, loading=2.0)[1]
    assert "1.80" in sentence
    assert told(prompts=1.0)[1] == []
