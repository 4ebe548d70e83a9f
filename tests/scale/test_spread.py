"""A run whose cells are done elsewhere; here by workers that are this process."""

import contextlib
import gc
import logging
import pickle
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from counting import STUDY, SUITE
from in_process import InProcess

import headcats as hc
from headcats.base.errors import OptionError
from headcats.results.folder import ResultsFolder
from headcats.results.run_results import RunResults
from headcats.study.progress import PartsClock
from headcats.sweeps import within_memory

ONE = STUDY | {"tasks": ["always_a"], "methods": ["denoising_patch"]}


class Workers(InProcess):
    """`bytes` is all that they are sent; `alive` counts the blocks that are kept when the next cell is done."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[int] = []
        self.bytes = b""

    def map(self, calls: Iterable[Any], *, shared: Any = None) -> Iterator[tuple[Any, Any]]:
        calls = list(calls)
        self.bytes += pickle.dumps([calls, shared])
        blocks: list[weakref.ref[Any]] = []
        for call, result in super().map(calls, shared=shared):
            if block := getattr(result[0], "block", None):
                blocks.append(weakref.ref(block))
            yield call, result
            del result, block
            gc.collect()
            self.alive.append(sum(reference() is not None for reference in blocks))


@pytest.fixture(scope="module")
def spread(counting_model, tmp_path_factory):
    """The workers and the folder of a run."""
    workers, folder = Workers(), tmp_path_factory.mktemp("spread") / "folder-that-nobody-else-sees"
    hc.run(counting_model, out=folder, cluster=workers, **STUDY)
    return workers, folder


def test_numbers_are_those_of_a_run_in_one_process(finished, spread):
    assert hc.load(finished).equals(hc.load(spread[1]))


def test_workers_need_not_see_the_results_folder(spread):
    workers, folder = spread
    assert b"mean_ablation" in workers.bytes
    assert folder.name.encode() not in workers.bytes


def test_blocks_that_are_written_are_not_kept(spread):
    assert len(spread[0].alive) > 4
    assert max(spread[0].alive) == 1


def test_a_block_says_on_which_device_a_worker_made_it(finished, spread):
    for folder, device in ((spread[1], "cpu"), (finished, "")):
        records = [record for _, _, record in ResultsFolder(folder).read_manifest().cells()]
        assert len(records) > 3
        assert {record.device for record in records} == {device}
        assert all(("device" in record.to_dict()) == bool(device) for record in records)


@pytest.mark.parametrize(
    ("method", "read"),
    [
        ("denoising_patch", []),
        ("mean_ablation:reference=task", ["always_b"]),
        ("mean_ablation", ["always_a", "always_b"]),
    ],
)
def test_workers_get_the_reference_prompts_that_methods_read(counting_model, method, read):
    cluster = InProcess()
    hc.run(counting_model, cluster=cluster, **STUDY | {"methods": [method], "tasks": ["always_b"]})
    *of_assessments, of_cells = [list(shared.references.batches_of.__self__) for shared in cluster.shared]
    assert of_cells == read
    assert not any(of_assessments)


def test_memory_of_this_process_decides_nothing_for_workers(counting_model, monkeypatch, caplog):
    """1000 bytes are free here, and enough is where the work is done."""
    expected, free = hc.run(counting_model, **ONE), {"bytes": 1000}
    monkeypatch.setattr(within_memory, "free_memory", lambda device: free["bytes"])

    @contextlib.contextmanager
    def at_work() -> Iterator[None]:
        with monkeypatch.context() as patched:
            patched.setitem(free, "bytes", 10**9)
            yield

    with caplog.at_level(logging.INFO, "headcats"):
        results = hc.run(counting_model, cluster=InProcess(at_work), **ONE)
    assert "Memory" not in caplog.text
    assert results.equals(expected)
    with pytest.raises(OptionError, match=r"limit is 1 kB"):
        hc.run(counting_model, cluster=InProcess(at_work), memory=1000, **ONE)


def test_a_limit_is_that_of_each_worker(counting_model, caplog):
    with caplog.at_level(logging.INFO, "headcats"):
        hc.run(counting_model, cluster=InProcess(), memory="1GB", **ONE)
    (line,) = [line for line in caplog.messages if line.startswith("Memory")]
    assert "worker" in line.partition(":")[0]


def test_tasks_that_workers_do_bring_the_seconds_of_their_blocks(counting_model, monkeypatch):
    brought = {}

    class Clock(PartsClock):
        def finished(self, part, *, skipped=False, seconds=None):
            super().finished(part, skipped=skipped, seconds=seconds)
            brought[part] = seconds

    monkeypatch.setattr("headcats.study.method_run.PartsClock", Clock)
    manifest = RunResults(
        hc.run(counting_model, cluster=InProcess(), **STUDY | {"suite": SUITE, "methods": ["zero_ablation@last"]})
    ).manifest
    taken = Counter[str]()
    for task, _, record in manifest.cells():
        taken[task] += record.seconds
    assert brought.pop("shifted") is None, "skipped when it was looked at"
    assert brought == pytest.approx(taken, abs=0.002)
