"""A worker without Ray: what it says when it cannot hold the model, and what it sends back."""

import pickle
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch
from counting import counting_folder

import headcats as hc
from headcats.cluster import worker as of_workers
from headcats.cluster.worker import Order, Worker
from headcats.errors import ExtensionError
from headcats.guard import Guard, own_traceback
from headcats.models.loading import load_model
from headcats.study.identity import model_record, versions
from headcats.sweeps.free_memory import free_memory, share_memory


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> Order:
    folder = str(counting_folder(tmp_path_factory.mktemp("worker") / "model"))
    model = hc.load_model(folder, device="cpu")
    return Order(folder, {"device": "cpu"}, model_record(model), versions(), torch.get_num_threads(), 3)


def broken(logits: Any, targets: Any) -> None:
    raise ValueError("a fault of theirs")


class Measuring:
    """A call that asks for somebody else's metric."""

    def on(self, model: Any, shared: Any) -> Any:
        return Guard("Metric", "broken", broken)(broken, None, None)


@pytest.fixture(autouse=True)
def _no_share_is_left() -> Iterator[None]:
    """A worker takes its share of the memory for as long as its process lives."""
    yield
    share_memory(1)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("no room on GPU 0"), KeyError("vocab"), OSError("gone")])
def test_whatever_keeps_the_model_from_loading_is_told(
    order: Order, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Raised, it would look to the pool as a lost node, and be tried for ever."""

    def fails(*arguments: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(of_workers, "load_model", fails)
    assert re.search(f"cannot load the model.*{type(error).__name__}: ", Worker(order).prepare())


def test_the_model_is_loaded_once(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second copy beside the first would not fit."""
    loaded = []
    monkeypatch.setattr(
        of_workers, "load_model", lambda *source, **options: loaded.append(source) or load_model(*source, **options)
    )
    worker = Worker(order)
    assert [worker.prepare(), worker.prepare()] == ["", ""]
    assert len(loaded) == 1


def test_workers_of_a_node_share_its_memory(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Worker(order).prepare() == ""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=3000))
    assert free_memory(torch.device("cpu")) == 1000


def test_an_error_of_somebody_elses_code_comes_with_its_traceback(order: Order) -> None:
    error = pickle.loads(pickle.dumps(Worker(order)._answer(Measuring()))).error
    assert isinstance(error, ExtensionError)
    lines = own_traceback(error).splitlines()
    assert "in broken" in lines[1]
    assert lines[-1] == "ValueError: a fault of theirs"
