"""Calls that fail on workers: cut, done again elsewhere, or the end of the run."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from cluster_faults import Study

import headcats as hc
from headcats.cluster.pool import Pool
from headcats.errors import ClusterError, DataError, ModelWarning

pytestmark = pytest.mark.ci


@dataclass(frozen=True)
class Numbers:
    """Adds up numbers, in one of several ways."""

    numbers: tuple[int, ...]
    way: str = "sum"

    @property
    def title(self) -> str:
        return f"{self.way} of {len(self.numbers)}"

    @property
    def group(self) -> int:
        return self.numbers[0]

    def on(self, model: Any, shared: Any) -> int:
        if self.way == "at most 2" and len(self.numbers) > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        if self.way == "deadly" or (self.way == "deadly in fours" and len(self.numbers) > 2):
            os._exit(1)
        if self.way == "refused":
            raise DataError("these are no numbers")
        if self.way == "warns":
            logging.getLogger("headcats").warning("a line of a worker")
            warnings.warn("a warning of a worker", ModelWarning, stacklevel=2)
        return sum(self.numbers) + shared

    def halves(self) -> list["Numbers"]:
        half = len(self.numbers) // 2
        parts = [self.numbers[:half], self.numbers[half:]]
        return [replace(self, numbers=part) for part in parts] if half else []


@pytest.fixture
def pool(study: Study, nodes: Any) -> Iterator[Pool]:
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with hc.Cluster(nodes.address).connected() as cluster, cluster.workers(study.model) as workers:
        yield workers


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


def test_a_call_whose_workers_die_is_done_elsewhere_and_cut_the_second_time(pool: Pool) -> None:
    assert done(pool, Numbers((1, 2, 3, 4), "deadly in fours")) == {(1, 2): 103, (3, 4): 107}
    assert (pool.repeated, pool.cut) == (2, 1)


def test_a_deadly_call_ends_the_run(pool: Pool) -> None:
    with pytest.raises(ClusterError, match=r"4 workers died one after the other on deadly of 1"):
        done(pool, Numbers((1,), "deadly"))


def test_errors_and_warnings_of_workers_are_those_of_this_process(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.warns(ModelWarning, match="a warning of a worker") as caught:
        done(pool, *(Numbers((number,), "warns") for number in range(4)))
    assert len(caught) == 1
    assert caplog.text.count("a line of a worker") == 1
    with pytest.raises(DataError, match="these are no numbers"):
        done(pool, Numbers((1,), "refused"))
