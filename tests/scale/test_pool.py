"""Calls that fail on workers: cut, done again elsewhere, or the end of the run; of workers that are in this process."""

import copy
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray_here import RayHere

from headcats.base.errors import ClusterError, DataError, MemoryLimitError, ModelWarning
from headcats.models.adapter import HookedModel
from headcats.scale import pool as of_pools
from headcats.scale import worker as of_workers
from headcats.scale.pool import Pool
from headcats.scale.worker import Order


@dataclass(frozen=True)
class Numbers:
    """Adds up numbers, in one of several ways."""

    numbers: tuple[int, ...]
    way: str = "sum"
    tried: str = ""
    """A file for what each worker that tries it notes."""

    @property
    def title(self) -> str:
        return f"{self.way} of {len(self.numbers)}"

    @property
    def group(self) -> int:
        return self.numbers[0]

    def on(self, model: Any, shared: Any) -> int:
        if self.way == "a large worker":
            with open(self.tried, "a", encoding="utf-8") as file:
                file.write(f"{id(model)}\n")
            if "large" not in Path(self.tried).read_text(encoding="utf-8"):
                raise MemoryLimitError("the limit is 1 GB")
        if self.way == "at most 2" and len(self.numbers) > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        if self.way == "deadly" or (self.way == "deadly in fours" and len(self.numbers) > 2):
            os._exit(1)
        if self.way == "refused":
            raise DataError("these are no numbers")
        if self.way == "asks the model":
            return len(model.layers)
        if self.way == "broken":
            raise KeyError("a fault of headcats")
        if self.way == "warns":
            logging.getLogger("headcats").warning("a line of a worker")
            warnings.warn("a warning of a worker", ModelWarning, stacklevel=2)
        return sum(self.numbers) + shared

    def halves(self) -> list["Numbers"]:
        half = len(self.numbers) // 2
        parts = [self.numbers[:half], self.numbers[half:]]
        return [replace(self, numbers=part) for part in parts] if half else []


@pytest.fixture
def pool(order: Order, counting_model: HookedModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Two workers, each with the model in an adapter of its own."""
    ray = RayHere(monkeypatch)
    monkeypatch.setattr(of_workers, "load_model", lambda *source, **options: copy.copy(counting_model))
    monkeypatch.setattr(of_pools, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray", ray)
    pool = Pool(order, size=2, resources={})
    yield pool
    pool.close()


def both_ready(pool: Pool) -> None:
    pool._start(2)
    while pool._starting:
        for reference in pool._finished():
            pool._started(reference)


def done(pool: Pool, *calls: Numbers) -> dict[tuple[int, ...], int]:
    return {call.numbers: result for call, result in pool.map(calls, shared=100)}


def test_as_many_workers_as_there_are_calls_up_to_the_size(pool: Pool) -> None:
    assert done(pool) == {}
    assert done(pool, Numbers((1,))) == {(1,): 101}
    assert len(pool._actors) == 1
    assert done(pool, *(Numbers((number,)) for number in range(5))) == {(n,): 100 + n for n in range(5)}
    assert len(pool._actors) == 2
    pool.close()
    assert all(actor.killed for actor in pool._actors)


def test_a_call_that_takes_too_much_memory_is_cut_until_it_fits(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    assert done(pool, Numbers((1, 2, 3, 4, 5, 6), "at most 2"), Numbers((7, 8, 9))) == {
        (1,): 101,
        (2, 3): 105,
        (4,): 104,
        (5, 6): 111,
        (7, 8, 9): 124,
    }
    assert (pool.cut, pool.repeated) == (3, 0)
    assert "at most 2 of 6" in caplog.text


def test_what_cannot_be_cut_is_tried_on_a_second_worker(pool: Pool, tmp_path: Path) -> None:
    """A shortage that is foreseen is one too."""
    call = Numbers((1,), "a large worker", str(tmp_path / "tried"))
    both_ready(pool)
    with pytest.raises(ClusterError, match=r"twice .*1 GB"):
        done(pool, call)
    tried = Path(call.tried).read_text(encoding="utf-8").split()
    assert len(tried) == len(set(tried)) == 2
    assert (pool.cut, pool.repeated) == (0, 1)
    Path(call.tried).write_text("large", encoding="utf-8")
    assert done(pool, call) == {(1,): 101}


def test_who_does_which_call(pool: Pool) -> None:
    """One of the group that it has just had, else of one that nobody has; what did not fit goes to another."""
    both_ready(pool)
    first, second = pool._idle
    job = of_pools._Job(Numbers((1,)), too_small=first)
    assert [pool._next([job], actor) for actor in (first, second)] == [None, job]
    del pool._idle[second]
    assert pool._next([job], first) == job  # nobody else is there
    pool._idle = {first: 7, second: None}
    pool._busy = {"a call": (second, of_pools._Job(Numbers((8,))))}
    waiting = [of_pools._Job(Numbers((group, 1))) for group in (8, 9, 7)]
    assert [pool._next(waiting, first).call.group for _ in range(3)] == [7, 9, 8]
    pool._busy = {}


def test_a_call_whose_workers_die_is_done_elsewhere_and_cut_the_second_time(pool: Pool) -> None:
    assert done(pool, Numbers((1, 2, 3, 4), "deadly in fours")) == {(1, 2): 103, (3, 4): 107}
    assert (pool.repeated, pool.cut) == (2, 1)


@pytest.mark.parametrize(("numbers", "deaths"), [((1,), 4), ((1, 2, 3), 4)])
def test_a_deadly_call_ends_the_run(pool: Pool, numbers: tuple[int, ...], deaths: int) -> None:
    with pytest.raises(ClusterError, match=rf"^{deaths} workers .*deadly of 1"):
        done(pool, Numbers(numbers, "deadly"))
    assert pool.repeated == deaths - 1


def test_an_idle_worker_that_died_loads_the_model_again(pool: Pool) -> None:
    """Ray starts it again by itself, without a model."""
    both_ready(pool)
    calls = [Numbers((number,), "asks the model") for number in range(2)]
    before = done(pool, *calls)
    for actor in pool._actors:
        actor.die()
    assert done(pool, *calls) == before
    assert pool.repeated == 0


def test_a_worker_that_cannot_hold_the_model_ends_the_run_or_is_left_out(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    both_ready(pool)
    first, second = pool._actors
    first.die()
    monkeypatch.setattr(of_workers, "load_model", lambda *source, **options: 1 / 0)
    assert done(pool, *(Numbers((number,)) for number in range(3))) == {(0,): 100, (1,): 101, (2,): 102}
    assert list(pool._idle) == [second]
    assert "is left out" in caplog.text
    with pytest.raises(ClusterError, match="ZeroDivisionError"):
        done(Pool(pool._order, size=1, resources={}), Numbers((1,)))


def test_errors_and_warnings_of_workers_are_those_of_this_process(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.warns(ModelWarning, match="of a worker") as caught:
        done(pool, *(Numbers((number,), "warns") for number in range(4)))
    assert len(caught) == 1
    assert caplog.text.count("a line of a worker") == 1
    with pytest.raises(DataError, match="no numbers"):
        done(pool, Numbers((1,), "refused"))
    with pytest.raises(KeyError, match="fault of headcats"):
        done(pool, Numbers((1,), "broken"))


def test_workers_that_are_gone_are_waited_for_and_not_for_ever(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = iter(range(50, 10_000, 50))
    monkeypatch.setattr(of_pools, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    done(pool, Numbers((1,)))
    pool._actors[0].killed = True
    pool.size = 1
    with pytest.raises(ClusterError, match="worker is left"):
        done(pool, Numbers((1,)))
    assert "worker is ready" in caplog.text
    assert next(clock) == 50 + 600 + 50 + 50  # ten minutes from the first look, and one look more
