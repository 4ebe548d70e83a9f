"""Free memory of CPUs within the limits of containers, and of other devices by their own word."""

import contextvars
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch

from headcats.sweeps import free_memory as module
from headcats.sweeps.free_memory import budget, free_memory, share_memory

CPU = torch.device("cpu")
AVAILABLE = 10_000


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 10,000 free bytes and no control groups yet: their folder."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=AVAILABLE))
    monkeypatch.setattr(module, "_CGROUPS", tmp_path)
    monkeypatch.setattr(module, "_CGROUPS_OF_PROCESS", tmp_path / "own")
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
