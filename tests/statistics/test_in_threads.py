"""Order and errors of what is computed in threads."""

import threading

import pytest

from headcats.base.errors import OptionError
from headcats.statistics.in_threads import check_jobs, in_threads


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_results_come_in_the_order_of_the_tasks(jobs: int) -> None:
    assert in_threads(lambda task: task * 2, range(20), jobs=jobs) == [2 * task for task in range(20)]


@pytest.mark.parametrize("jobs", [2, 3])
def test_as_many_are_computed_at_once(jobs: int) -> None:
    all_there = threading.Barrier(jobs, timeout=60)  # passed only by all at once
    assert len(in_threads(lambda _: all_there.wait(), range(jobs), jobs=jobs)) == jobs


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2", 1025])
def test_other_numbers_are_refused(jobs: object) -> None:
    with pytest.raises(OptionError, match="jobs"):
        check_jobs(jobs)
