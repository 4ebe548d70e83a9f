"""Calls that fail on workers: cut, done again elsewhere, or the end of the run."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from cluster_faults import Study, workers

import headcats as hc
from headcats.cluster import pool as of_pools
from headcats.cluster.pool import Pool
from headcats.errors import ClusterError, DataError, MemoryLimitError, ModelWarning

pytestmark = pytest.mark.ci


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
                file.write(f"{os.getpid()}\n")
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


@pytest.fixture(scope="module")
def workers_of_module(study: Study, nodes: Any) -> Iterator[Pool]:
    """Two workers, which take longer to start than all calls."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with hc.Cluster(nodes.address).connected() as cluster, cluster.workers(study.model) as pool:
        yield pool


@pytest.fixture
def pool(workers_of_module: Pool) -> Pool:
    workers_of_module.repeated = workers_of_module.cut = 0
    return workers_of_module


def done(pool: Pool, *calls: Numbers) -> dict[tuple[int, ...], int]:
    return {call.numbers: result for call, result in pool.map(calls, shared=100)}


def test_a_call_that_takes_too_much_memory_is_cut_until_it_fits(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    assert done(pool, Numbers((1, 2, 3, 4, 5, 6), "at most 2"), Numbers((7, 8, 9))) == {
        (1,): 101,
        (2, 3): 105,
        (4,): 104,
        (5, 6): 111,
        (7, 8, 9): 124,
    }
    assert pool.cut == 3
    assert pool.repeated == 0
    assert "Memory of a worker ran out on at most 2 of 6" in caplog.text


def test_what_cannot_be_cut_is_tried_on_a_second_worker(pool: Pool, tmp_path: Path) -> None:
    """A shortage that is foreseen is one too."""
    call = Numbers((1,), "a large worker", str(tmp_path / "tried"))
    done(pool, *(Numbers((number,)) for number in range(2)))
    while pool._starting:
        for reference in pool._finished():
            pool._started(reference)
    with pytest.raises(ClusterError, match=r"ran out twice on a large worker of 1, which cannot be cut.*limit is 1 GB"):
        done(pool, call)
    tried = Path(call.tried).read_text(encoding="utf-8").split()
    assert len(tried) == len(set(tried)) == 2
    Path(call.tried).write_text("large", encoding="utf-8")
    assert done(pool, call) == {(1,): 101}
    first, second = pool._idle
    job = of_pools._Job(call, too_small=first)
    assert [pool._next([job], actor) for actor in (first, second)] == [None, job]
    del pool._idle[second]
    assert pool._next([job], first) == job  # nobody else is there
    pool._idle[second] = None


def test_a_call_whose_workers_die_is_done_elsewhere_and_cut_the_second_time(pool: Pool) -> None:
    assert done(pool, Numbers((1, 2, 3, 4), "deadly in fours")) == {(1, 2): 103, (3, 4): 107}
    assert (pool.repeated, pool.cut) == (2, 1)


def test_a_deadly_call_ends_the_run(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_pools, "_DEATHS", 2)
    with pytest.raises(ClusterError, match=r"2 workers died one after the other on deadly of 1"):
        done(pool, Numbers((1,), "deadly"))


@pytest.mark.slow
def test_an_idle_worker_that_died_loads_the_model_again(pool: Pool) -> None:
    """Ray starts it again by itself, without a model."""
    import ray

    calls = [Numbers((number,), "asks the model") for number in range(2)]
    before = done(pool, *calls)
    processes = workers()
    for process in processes:
        process.kill()
    psutil.wait_procs(processes, timeout=60)
    back = [actor.__ray_ready__.options(max_task_retries=-1).remote() for actor in pool._idle]
    assert all(ray.get(back))
    assert done(pool, *calls) == before
    assert pool.repeated == 0


def test_errors_and_warnings_of_workers_are_those_of_this_process(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.warns(ModelWarning, match="a warning of a worker") as caught:
        done(pool, *(Numbers((number,), "warns") for number in range(4)))
    assert len(caught) == 1
    assert caplog.text.count("a line of a worker") == 1
    with pytest.raises(DataError, match="these are no numbers"):
        done(pool, Numbers((1,), "refused"))


def test_no_worker_is_left_behind_by_an_error(pool: Pool) -> None:
    """The last test of these workers."""
    with pytest.raises(KeyError, match="a fault of headcats"):
        done(pool, Numbers((1,), "broken"))
    processes = workers()
    assert len(processes) == 2
    pool.close()
    psutil.wait_procs(processes)
    assert workers() == []


@pytest.mark.slow
def test_a_worker_without_a_place_is_not_waited_for_when_the_others_are_gone(
    study: Study, nodes: Any, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is room for two: those of the other tests end first, or this one would wait for a place."""
    import ray

    pool.close()
    psutil.wait_procs(workers(), timeout=60)
    assert workers() == []
    monkeypatch.setattr(of_pools, "_PATIENCE", 0.0)
    monkeypatch.setattr(of_pools, "_LOOKS", 0.1)
    with hc.Cluster(nodes.address).connected() as cluster, cluster.workers(study.model) as pool:
        pool.size = 1
        done(pool, Numbers((1,)))
        pool.size, pool._actor = 2, pool._actor.options(resources={"of no node": 1})
        ray.kill(pool._actors[0])
        with pytest.raises(ClusterError, match="No worker is left"):
            done(pool, Numbers((1,)), Numbers((2,)))
