"""A cluster of two nodes on this machine, which the tests of this folder share; none of them ends a node."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_faults import Study, knowing_hungry, local_nodes


@pytest.fixture(autouse=True)
def _hungry_is_known() -> Iterator[None]:
    with knowing_hungry():
        yield


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
def finished(study: Study, nodes: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on them; never written to."""
    out = tmp_path_factory.mktemp("finished") / "results"
    study.run(nodes.address, out)
    return out
