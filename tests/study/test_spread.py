"""A run whose cells are done elsewhere; here by workers that are this process."""

import gc
import pickle
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from in_process import InProcess

import headcats as hc
from headcats.results.folder import ResultsFolder


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
            if block := getattr(result, "block", None):
                blocks.append(weakref.ref(block))
            yield call, result
            del result, block
            gc.collect()
            self.alive.append(sum(reference() is not None for reference in blocks))


@pytest.fixture(scope="module")
def spread(model, options, tmp_path_factory):
    """The workers and the folder of a run."""
    workers, folder = Workers(), tmp_path_factory.mktemp("spread") / "folder-that-nobody-else-sees"
    hc.run(model, out=folder, cluster=workers, **options)
    return workers, folder


def test_numbers_are_those_of_a_run_in_one_process(finished, spread):
    assert set(hc.diff(finished, spread[1]).state.values.tolist()) == {"same bits"}


def test_workers_need_not_see_the_results_folder(spread):
    workers, folder = spread
    assert b"mean_ablation" in workers.bytes
    assert folder.name.encode() not in workers.bytes


def test_blocks_that_are_written_are_not_kept(spread):
    assert len(spread[0].alive) > 4
    assert max(spread[0].alive) == 1


def test_a_block_says_on_which_device_a_worker_made_it(finished, spread):
    for folder, device in ((spread[1], "cpu"), (finished, "")):
        records = [
            record for of_task in ResultsFolder(folder).read_manifest().blocks.values() for record in of_task.values()
        ]
        assert len(records) > 3
        assert {record.device for record in records} == {device}
        assert all(("device" in record.to_dict()) == bool(device) for record in records)
