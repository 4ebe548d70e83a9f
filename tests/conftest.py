"""What every test shares: one thread, fixed seeds, a deterministic Hypothesis, version marks and checks of shapes."""

import gc
import importlib.metadata
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import huggingface_hub
import numpy as np
import pytest
from hub_server import Hub, serving
from hypothesis import settings

from headcats import registry

if TYPE_CHECKING:
    from playwright.sync_api import Browser

N_EXAMPLES = 50 if "CI" in os.environ else 10  # .ci/run sets it
settings.register_profile("deterministic", derandomize=True, deadline=None, print_blob=True, max_examples=N_EXAMPLES)
settings.load_profile("deterministic")

TRANSFORMER_LENS_MAJOR = int(importlib.metadata.version("transformer-lens").split(".")[0])


# torch is imported where tests run: the process that hands them out under `-n` starts seconds earlier without.
@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Sums are added in one order, so numbers are the same on every machine with these versions."""
    import torch

    torch.set_num_threads(1)


def pytest_collection_finish() -> None:
    """What the modules of the tests hold stays to the end, so that nothing is gained by looking through it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(autouse=True)
def fixed_seeds(_one_thread: None) -> None:
    """Every test starts from the same random state, alone or in any order."""
    import torch

    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - libraries under test may still read the global state
    torch.manual_seed(0)


# A few files that take minutes: begun last, they would run alone while the other processes wait.
LONGEST = ("test_faults.py", "test_fuzzing.py", "test_examples.py")
_CASE = pytest.StashKey[int]()  # its place among the cases of a test
_SHAPES_EVERY = 4  # cases: checks of shapes take as long as the rest of a test


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Longest first; skip what the installed transformer-lens cannot run, in the only words that .ci/run accepts."""
    items.sort(key=lambda item: item.path.name not in LONGEST)
    n_cases: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        item.stash[_CASE] = n_cases[test]
        n_cases[test] += 1
        for major in (3, 4):
            for mark in item.iter_markers(f"needs_tl{major}"):
                if len(mark.args) != 1 or not isinstance(mark.args[0], str) or not mark.args[0].strip():
                    raise pytest.UsageError(f"{item.nodeid}: needs_tl{major} takes its reason as its one argument")
                if major != TRANSFORMER_LENS_MAJOR:
                    reason = f"needs transformer-lens {major} ({mark.args[0]})"
                    item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def _registry_as_it_was() -> Iterator[None]:
    """What a test registers is gone after it: other tests go over everything that is registered."""
    before = {
        kind: {name: registry.lookup(kind, name) for name in registry.names(kind)} for kind in get_args(registry.Kind)
    }
    yield
    for kind, items in before.items():
        registry._tables[kind].clear()
        registry._tables[kind].update(items)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Headless Chromium, until the module ends."""
    from browser import opened_browser

    with opened_browser() as found:
        yield found


@pytest.fixture(autouse=True)
def _shapes_of_some_cases(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--jaxtyping-packages`, the shapes of the first case of every test and of every fourth one after it."""
    import jaxtyping

    if request.node.stash[_CASE] % _SHAPES_EVERY:
        monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def unchecked_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what headcats itself refuses: CI's type checks would be first."""
    import jaxtyping

    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub on this machine in place of the real one, an empty cache, no token, and nobody waits."""
    constants = huggingface_hub.constants
    for variable in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy", "HF_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    with serving() as served:
        replaced = {
            "ENDPOINT": served.endpoint,
            "HUGGINGFACE_CO_URL_TEMPLATE": served.endpoint + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": str(tmp_path / "cache" / "hub"),
            "HF_TOKEN_PATH": str(tmp_path / "cache" / "token"),
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_XET": True,
        }
        for name, value in replaced.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setattr(time, "sleep", served.waits.append)
        huggingface_hub.close_session()
        yield served
        huggingface_hub.close_session()
