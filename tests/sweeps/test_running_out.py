"""Memory that runs out all the same: work is halved and goes on, whichever part of a sweep it happens in."""

import gc
import logging
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from batches import random_batch
from toys import Toy

from headcats.errors import DataError, ModelError
from headcats.metrics import Targets, metric
from headcats.models import HookedModel, adapt
from headcats.sweeps import engine, joint_sweep, memory, self_check, sweep
from headcats.sweeps.running_out import halving, is_out_of_memory
from headcats.sweeps.runs import Run


def tired(work: Any, limit: int, tried: list[int], size: Any) -> Any:
    """`work` that has no memory for more than `limit`."""

    def limited(*args: Any, **options: Any) -> Any:
        tried.append(size(args, options))
        if tried[-1] > limit:
            raise torch.OutOfMemoryError("out of memory")
        return work(*args, **options)

    return limited


@pytest.mark.parametrize("path", ["auto", "hooked"])
def test_rows_are_halved_once_and_stay_so(
    toy: Toy, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    batch, tried = random_batch(3), list[int]()
    exact = sweep(toy.model, batch, "denoising_patch", path=path)
    name, sets = ("replayed", 1) if path == "auto" else ("hooked", 2)
    monkeypatch.setattr(engine, name, tired(getattr(engine, name), 2, tried, lambda args, options: len(args[sets])))
    with caplog.at_level(logging.WARNING, "headcats"):
        found = sweep(toy.model, batch, "denoising_patch", path=path)
    assert tried == [8, 4, 2, 2, 2, 2]
    assert sum("ran out with" in record.message for record in caplog.records) == 1
    assert np.abs(found.patched - exact.patched).max() < 1e-5


@pytest.mark.parametrize("path", ["auto", "hooked"])
def test_prompts_are_halved_in_unpatched_runs(toy: Toy, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from headcats.sweeps import runs

    batch = random_batch(5)
    exact = sweep(toy.model, batch, "denoising_patch", path=path)
    tried: list[int] = []
    owner, name = (runs, "record") if path == "auto" else (HookedModel, "capture")
    limited = tired(getattr(owner, name), 2, tried, lambda args, options: len(args[1]))
    monkeypatch.setattr(owner, name, limited)
    model = adapt(toy.model)
    found = sweep(model, batch, "denoising_patch", path=path)
    assert [rows for rows in tried if rows > 1] == 2 * [5, 2, 2]  # each run is made in parts of 2, 2 and 1
    assert np.abs(found.patched - exact.patched).max() < 1e-5


def test_nothing_is_left_half_done_after_parts_that_failed(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    from headcats.sweeps import runs

    calls: list[int] = []
    right = runs.record

    def fails_on_the_second_part(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise torch.OutOfMemoryError("out of memory")
        return right(*args, **options)

    monkeypatch.setattr(memory, "prompts_per_part", lambda *args, **options: 4)
    monkeypatch.setattr(runs, "record", fails_on_the_second_part)
    run = Run(adapt(toy.model), random_batch(8).clean, budget=10**9)
    covered = [place for prompts, _ in run.recordings(6) for place in range(*prompts.indices(8))]
    assert covered == list(range(8))


def test_recordings_that_are_made_again_are_halved_too(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    from headcats.sweeps import runs

    tried: list[int] = []
    monkeypatch.setattr(memory, "prompts_per_part", lambda *args, **options: 8)
    monkeypatch.setattr(Run, "_keeps_recordings", False)
    run = Run(adapt(toy.model), random_batch(8).clean, budget=10**9)
    run.replay(6)
    assert run.logits is not None  # made with all the memory there was
    monkeypatch.setattr(runs, "record", tired(runs.record, 3, tried, lambda args, options: len(args[1])))
    covered = [place for prompts, _ in run.recordings(6) for place in range(*prompts.indices(8))]
    assert covered == list(range(8))
    assert tried == [8, 4, 2, 2, 2, 2]


def test_not_even_one_row(toy: Toy) -> None:
    def never(size: int) -> int:
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")

    with pytest.raises(ModelError, match="ran out with one row at a time"):
        halving(never, 8, device=torch.device("cpu"))


def test_other_errors_are_no_lack_of_memory() -> None:
    def wrong(size: int) -> int:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        halving(wrong, 8, device=torch.device("cpu"))


def test_a_check_that_ran_out_of_memory_is_made_again(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    model = adapt(toy.model)
    with monkeypatch.context() as patch:
        patch.setattr(self_check, "record", tired(self_check.record, 0, [], lambda args, options: 1))
        self_check.forget(model)
        assert self_check.self_check(model, random_batch().clean, first=6).reason == "memory ran out during its check"
    assert self_check.self_check(model, random_batch().clean, first=6).passed


@pytest.mark.parametrize("positions", ["last", "all"])
def test_a_metric_of_the_pair_may_read_the_clean_logits(toy: Toy, positions: str) -> None:
    @metric(reads="pair")
    def loss_of_difference(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
        rows = torch.arange(len(logits))
        return sum(
            sign * (side[rows, targets.answer] - side[rows, targets.distractor])
            for sign, side in ((1, logits), (-1, targets.clean_logits))
        )

    batch = random_batch()
    fast, slow = (
        sweep(toy.model, batch, "denoising_patch", metrics=["loss_of_difference"], positions=positions, path=path)
        for path in ("auto", "hooked")
    )
    assert float(abs(slow.patched).max()) > 0.1
    assert float(abs(fast.patched - slow.patched).max()) < 1e-5


@pytest.mark.parametrize("sets", [["L0H1"], ["L0H1", ["L1H1"]]])
def test_a_head_is_no_set(toy: Toy, sets: Any) -> None:
    with pytest.raises(DataError, match="takes sets of heads"):
        joint_sweep(toy.model, random_batch(), "denoising_patch", sets)


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("512 MB", 512 * 10**6), ("1.5GiB", 3 * 2**29), ("2g", 2 * 10**9), ("4000000", 4000000)],
)
def test_memory_as_people_write_it(text: str, size: int) -> None:
    assert memory.budget(text, torch.device("cpu")) == size


CPU = torch.device("cpu")


def out_of_memory(
    text: str = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.",
) -> Exception:
    return RuntimeError(text)


class TestHalving:
    def test_work_that_fits_is_done_once(self, caplog: pytest.LogCaptureFixture) -> None:
        tried: list[int] = []
        assert halving(lambda size: tried.append(size) or size, 48, device=CPU) == 48
        assert tried == [48]
        assert not caplog.records

    def test_half_and_half_again_with_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        tried: list[int] = []

        def work(size: int) -> str:
            tried.append(size)
            if size > 7:
                raise out_of_memory()
            return f"did {size}"

        with caplog.at_level(logging.WARNING, "headcats"):
            assert halving(work, 48, device=CPU) == "did 6"
        assert tried == [48, 24, 12, 6]
        (record,) = caplog.records
        assert record.getMessage().startswith("Memory of cpu ran out with 48 rows at a time: going on with fewer.")

    @pytest.mark.parametrize("size", [1, 5])
    def test_the_smallest_piece_too_large(self, size: int) -> None:
        tried: list[int] = []

        def work(size: int) -> None:
            tried.append(size)
            raise out_of_memory()

        with pytest.raises(ModelError, match=r"ran out with one row at a time. Use fewer or shorter prompts"):
            halving(work, size, device=CPU)
        assert tried == {1: [1], 5: [5, 2, 1]}[size]

    def test_other_errors_pass(self) -> None:
        def work(size: int) -> None:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            halving(work, 8, device=CPU)

    def test_what_the_failed_attempt_held_is_gone_before_the_next(self) -> None:
        held: list[weakref.ref[torch.Tensor]] = []

        def work(size: int) -> bool:
            before = [ref() is None for ref in held]
            big = torch.zeros(size)
            held.append(weakref.ref(big))
            if size > 2:
                raise out_of_memory()
            return all(before)

        gc.disable()
        try:
            assert halving(work, 8, device=CPU)
        finally:
            gc.enable()
        assert len(held) == 3

    def test_a_real_one(self) -> None:
        """An allocation that no machine can make."""
        sizes: list[int] = []

        def work(size: int) -> int:
            sizes.append(size)
            return len(torch.empty(1 << 50 if size > 1 else 1))

        assert halving(work, 4, device=CPU) == 1
        assert sizes == [4, 2, 1]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (MemoryError(), True),
        (out_of_memory(), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: not enough memory: you tried"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 8.1 GB, max allowed: 9.0 GB)"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("Invalid buffer size: 24.00 GiB"), True),
        (RuntimeError("Internal Error: Insufficient Memory (kIOGPUCommandBufferCallbackErrorOutOfMemory)"), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_out_of_memory_on_any_device(error: BaseException, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_caches_of_the_device_are_given_back(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied: list[str] = []
    for name in ("cuda", "mps"):
        monkeypatch.setattr(getattr(torch, name), "empty_cache", lambda name=name: emptied.append(name))
    sizes: list[int] = []

    def work(size: int) -> None:
        sizes.append(size)
        if size > 1:
            raise torch.OutOfMemoryError("out of memory")

    halving(work, 2, device=torch.device(kind))
    assert sizes == [2, 1]
    assert emptied == [kind]
