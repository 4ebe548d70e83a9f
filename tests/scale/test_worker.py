"""A worker without Ray: what it says when it cannot hold the model, and what it sends back."""

import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch

from headcats.base.errors import ExtensionError
from headcats.base.guard import Guard, own_traceback
from headcats.models.loading import load_model
from headcats.scale import worker as of_workers
from headcats.scale.worker import Order, Worker
from headcats.sweeps.within_memory import free_memory


def broken(logits: Any, targets: Any) -> None:
    raise ValueError("theirs")


class Measuring:
    """A call that asks for somebody else's metric."""

    def on(self, model: Any, shared: Any) -> Any:
        return Guard("Metric", "broken", broken)(broken, None, None)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("GPU 0 full"), KeyError("vocab"), OSError("gone")])
def test_whatever_keeps_the_model_from_loading_is_told(
    order: Order, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Raised, it would look to the pool as a lost node, and be tried for ever."""

    def fails(*arguments: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(of_workers, "load_model", fails)
    assert f"{type(error).__name__}: {error}" in Worker(order).prepare()


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
    assert lines[-1] == "ValueError: theirs"


def test_other_versions_or_another_model_are_told(order: Order) -> None:
    assert "this process 0.0.1" in Worker(replace(order, versions=order.versions | {"torch": "0.0.1"})).prepare()
    assert "weights_hash" in Worker(replace(order, model=replace(order.model, weights_hash="0" * 32))).prepare()
