"""A worker without Ray: what it says when it cannot hold the model, and what it sends back."""

import re
from typing import Any

import pytest
import torch
from counting import counting_folder

import headcats as hc
from headcats.cluster import worker as of_workers
from headcats.cluster.worker import Order, Worker
from headcats.models.loading import load_model
from headcats.study.identity import model_record, versions


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> Order:
    folder = str(counting_folder(tmp_path_factory.mktemp("worker") / "model"))
    model = hc.load_model(folder, device="cpu")
    return Order(folder, {"device": "cpu"}, model_record(model), versions(), torch.get_num_threads())


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
