"""Seconds by purpose: each is counted once, for what is served innermost."""

import itertools
import threading
from collections.abc import Iterator

import pytest

from headcats import spending
from headcats.spending import spending as on
from headcats.spending import spent_on


@pytest.fixture
def spent(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A clock that goes on by a second whenever it is looked at, and nothing spent so far."""
    ticks: Iterator[float] = itertools.count(0.0, 1.0)
    monkeypatch.setattr(spending.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(spending, "spent", {})
    return spending.spent


def test_time_within_is_that_of_the_inner_purpose(spent: dict[str, float]) -> None:
    with on("sweeps"), on("model"):
        pass
    # Looked at: sweeps begin 0, paused 1, model begin 2, paused 3, sweeps again 4, paused 5.
    assert spent == {"sweeps": 2.0, "model": 1.0}


def test_calls_add_up_and_errors_end_them(spent: dict[str, float]) -> None:
    @spent_on("prompts")
    def write(number: int) -> int:
        return 1 // number

    assert write(1) == 1
    with pytest.raises(ZeroDivisionError):
        write(0)
    assert spent == {"prompts": 2.0}
    assert not spending._open
    assert write.__name__ == "write"


def test_a_purpose_within_itself_is_counted_once(spent: dict[str, float]) -> None:
    with on("model"), on("model"):
        pass
    assert spent == {"model": 3.0}


def test_other_threads_are_not_counted(spent: dict[str, float]) -> None:
    def work() -> None:
        with on("model"):
            pass

    with on("sweeps"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert spent == {"sweeps": 1.0}
