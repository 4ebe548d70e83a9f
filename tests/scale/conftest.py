"""A small study, and a cluster of two nodes on this machine, which tests share; none of them ends a node."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from cluster_faults import Study, knowing_hungry, local_nodes
from counting import STUDY, SUITE

import headcats as hc
from headcats.models.adapter import HookedModel
from headcats.scale.worker import Order
from headcats.study.identity import model_record, versions
from headcats.sweeps.within_memory import share_memory


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """The metric of the studies is known, and a worker's share of the memory is given back."""
    with knowing_hungry():
        yield
    share_memory(1)


@pytest.fixture(scope="session")
def order(counting_model_folder: Path, counting_model: HookedModel) -> Order:
    model = model_record(counting_model)
    return Order(str(counting_model_folder), {"device": "cpu"}, model, versions(), torch.get_num_threads(), 3)


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A small study, and what one process makes of it."""
    return Study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="session")
def nodes(study: Study) -> Iterator[Any]:
    """Two nodes of one core."""
    with local_nodes(2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def on_nodes(study: Study, nodes: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on them; never written to."""
    out = tmp_path_factory.mktemp("on_nodes") / "results"
    study.run(nodes.address, out)
    return out


@pytest.fixture(scope="session")
def finished(counting_model: HookedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two tasks in this process; never written to."""
    out = tmp_path_factory.mktemp("finished") / "results"
    hc.run(counting_model, out=out, progress=False, **STUDY)
    return out


@pytest.fixture(scope="session")
def all_finished(counting_model: HookedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of all tasks, one of which the model cannot do; never written to."""
    out = tmp_path_factory.mktemp("all") / "results"
    hc.run(counting_model, out=out, progress=False, **STUDY | {"suite": SUITE})
    return out
