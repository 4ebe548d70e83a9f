"""What is free on each device, what a limit means, and work that is halved and goes on where memory runs out."""

import contextvars
import gc
import logging
import math
import re
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from batches import random_batch
from toys import Toy

from headcats.base.errors import ModelError, OptionError
from headcats.base.guard import is_out_of_memory
from headcats.models.adapter import adapt
from headcats.models.continued import Continued
from headcats.sweeps import engine, memory, paths, runs, within_memory
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.intervention import Change
from headcats.sweeps.runs import Run
from headcats.sweeps.within_memory import budget, free_memory, in_parts, share_memory


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
    batch = random_batch(5)
    exact = sweep(toy.model, batch, "denoising_patch", path=path)
    tried: list[int] = []
    owner, name = (runs, "record") if path == "auto" else (runs.Run, "_captured")
    prompts_of = (lambda continued: continued) if path == "auto" else batch.clean.__getitem__
    limited = tired(getattr(owner, name), 2, tried, lambda args, options: len(prompts_of(args[1])))
    monkeypatch.setattr(owner, name, limited)
    model = adapt(toy.model)
    found = sweep(model, batch, "denoising_patch", path=path)
    assert [rows for rows in tried if rows > 1] == 2 * [5, 2, 2]  # each run is made in parts of 2, 2 and 1
    assert np.abs(found.patched - exact.patched).max() < 1e-5


def test_recordings_that_are_made_again_are_halved_too(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr(memory, "prompts_per_part", lambda *args, **options: 8)
    monkeypatch.setattr(memory.Footprint, "keeps_recordings", lambda *args: False)
    run = Run(adapt(toy.model), Continued.alone(random_batch(8).clean), budget=10**9)
    run.replay(6)
    assert run.logits is not None  # made with all the memory there was
    monkeypatch.setattr(runs, "record", tired(runs.record, 3, tried, lambda args, options: len(args[1])))
    covered = [place for prompts, _ in run.recordings(6) for place in range(*prompts.indices(8))]
    assert covered == list(range(8))
    assert tried == [8, 4, 2, 2, 2, 2]


def test_a_check_that_ran_out_of_memory_is_made_again(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    model = adapt(toy.model)
    with monkeypatch.context() as patch:
        patch.setattr(paths, "record", tired(paths.record, 0, [], lambda args, options: 1))
        paths.forget(model)
        assert "memory" in paths.self_check(model, Continued.alone(random_batch().clean), change=Change(6)).reason
    assert paths.self_check(model, Continued.alone(random_batch().clean), change=Change(6)).passed


CPU = torch.device("cpu")


def out_of_memory(
    text: str = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.",
) -> Exception:
    return RuntimeError(text)


class TestParts:
    def test_half_and_half_again_with_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        tried: list[tuple[int, int]] = []

        def work(part: slice) -> int:
            tried.append((part.start, part.stop))
            if part.stop - part.start > (7 if part.start < 12 else 3):
                raise out_of_memory()
            return part.start

        with caplog.at_level(logging.WARNING, "headcats"):
            results = list(in_parts(work, 16, 24, devices=[CPU]))
        assert tried == [(0, 16), (0, 8), (0, 4), (4, 8), (8, 12), (12, 16), (12, 14), (14, 16)]
        assert results == [(slice(*part), part[0]) for part in (*tried[2:5], *tried[6:])]
        (record,) = caplog.records
        assert record.args == ("cpu", 16)

    @pytest.mark.parametrize("size", [1, 5])
    def test_the_smallest_piece_too_large(self, size: int) -> None:
        tried: list[int] = []

        def work(part: slice) -> None:
            tried.append(part.stop)
            raise out_of_memory()

        with pytest.raises(ModelError, match="Memory of cpu"):
            list(in_parts(work, size, size, devices=[CPU]))
        assert tried == {1: [1], 5: [5, 2, 1]}[size]

    def test_other_errors_pass(self) -> None:
        def work(part: slice) -> None:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            list(in_parts(work, 8, 8, devices=[CPU]))

    def test_what_an_earlier_attempt_or_part_held_is_gone_before_the_next(self) -> None:
        tensors: list[weakref.ref[torch.Tensor]] = []

        def work(part: slice) -> torch.Tensor:
            assert all(ref() is None for ref in tensors)
            big = torch.zeros(part.stop - part.start)
            tensors.append(weakref.ref(big))
            if len(big) > 2:
                raise out_of_memory()
            return big

        gc.disable()
        try:
            parts = in_parts(work, 8, 8, devices=[CPU])
            assert [len(next(parts)[1]) for _ in range(4)] == [2] * 4
        finally:
            gc.enable()
        assert len(tensors) == 6


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

    def work(part: slice) -> None:
        sizes.append(part.stop - part.start)
        if sizes[-1] > 1:
            raise torch.OutOfMemoryError("out of memory")

    list(in_parts(work, 2, 2, devices=[CPU, torch.device(kind)]))
    assert sizes == [2, 1, 1]
    assert emptied == [kind]


AVAILABLE = 10_000


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 10,000 free bytes and no control groups yet: their folder."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=AVAILABLE))
    monkeypatch.setattr(within_memory, "_CGROUPS", tmp_path)
    monkeypatch.setattr(within_memory, "_CGROUPS_OF_PROCESS", tmp_path / "own")
    return tmp_path


def group(folder: Path, limit: str, used: int, cached: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\n")


def test_this_machine_has_some() -> None:
    assert 0 <= free_memory(CPU) <= psutil.virtual_memory().total


def test_without_control_groups_the_system_decides(machine: Path) -> None:
    assert free_memory(CPU) == AVAILABLE


def test_processes_that_share_it_have_a_part_each(machine: Path) -> None:
    contextvars.Context().run(lambda: (share_memory(4), check(AVAILABLE // 4)))
    check(AVAILABLE)


def check(free: int) -> None:
    assert free_memory(CPU) == free
    assert budget(None, CPU) == free // 2


@pytest.mark.parametrize(
    ("limit", "used", "cached", "free"),
    [
        ("3000", 1000, 0, 2000),
        ("3000", 2900, 400, 500),  # cached files make room
        ("3000", 3500, 0, 0),
        *((unlimited, 1000, 0, AVAILABLE) for unlimited in ("max", "", "9223372036854771712")),
    ],
)
def test_the_limit_of_a_container_less_what_is_used(
    machine: Path, limit: str, used: int, cached: int, free: int
) -> None:
    (machine / "own").write_text("7:cpu:/app\n0::/app\n")
    group(machine / "app", limit, used, cached)
    assert free_memory(CPU) == free


def test_the_smallest_of_enclosing_containers(machine: Path) -> None:
    (machine / "own").write_text("0::/app/inner\n")
    group(machine / "app" / "inner", "9000", 100)
    group(machine / "app", "4000", 1000)
    assert free_memory(CPU) == 3000


def test_seen_from_inside_the_path_is_that_of_the_host(machine: Path) -> None:
    (machine / "own").write_text("0::/app\n")
    group(machine, "2500", 500)
    assert free_memory(CPU) == 2000


def test_a_file_that_cannot_be_read_is_no_limit(machine: Path) -> None:
    (machine / "own").write_text("0::/app\n")
    group(machine / "app", "3000", 1000)
    (machine / "app" / "memory.current").unlink()
    assert free_memory(CPU) == AVAILABLE


def test_cuda_counts_what_torch_holds_unused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (700, 1000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 200)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 150)
    assert free_memory(torch.device("cuda")) == 750


def test_mps_has_what_the_system_recommends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 1000)
    monkeypatch.setattr(torch.mps, "current_allocated_memory", lambda: 300)
    assert free_memory(torch.device("mps")) == 700
    monkeypatch.setattr(torch.mps, "current_allocated_memory", lambda: 1300)
    assert free_memory(torch.device("mps")) == 0


class TestBudget:
    def test_numbers_and_texts(self) -> None:
        expected = {
            12: 12,
            "4GB": 4 * 10**9,
            "512 MB": 512 * 10**6,
            "1.5GiB": 3 * 2**29,
            "2g": 2 * 10**9,
            " 10 kb ": 10_000,
            "1TiB": 2**40,
            "300 bytes": 300,
            "4000": 4000,
            # More than there is: no limit.
            10**5000: 10**18,
            400 * "9" + "GB": 10**18,
            "99999999999999 TB": 10**18,
        }
        assert {limit: budget(limit, CPU) for limit in expected} == expected

    def test_half_of_what_is_free(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(within_memory, "free_memory", lambda device: 1001)
        assert budget(None, CPU) == 500

    @pytest.mark.usefixtures("unchecked_types")
    def test_anything_else_is_refused_with_examples(self) -> None:
        texts = ("much", "", "GB", "-1GB", "0GB", "0", "1.GB", "4 XB", "4GB8", "1e9 B", "4,5 GB", "infGB", "nan")
        for limit in (*texts, 0, -5, True, math.nan, math.inf):
            with pytest.raises(OptionError, match=f"'1.5GiB'; got {re.escape(repr(limit))}"):
                budget(limit, CPU)
