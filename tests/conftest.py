"""What every test shares: one thread, fixed seeds, a deterministic Hypothesis, version marks, models and runs."""

import gc
import importlib.metadata
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import huggingface_hub
import numpy as np
import pytest
from covering import ALL
from hub_server import Hub, serving
from hypothesis import settings
from made_once import made_once
from same_registry import same_registry

from headcats.base import registry

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from toys import Toy

    from headcats.models.adapter import HookedModel

# Of the shell that the tests are started from; each changes what the command line prints, or what Ray connects to.
for variable in ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE",
                 "COLUMNS", "LINES", "RAY_ADDRESS"):  # fmt: skip
    os.environ.pop(variable, None)

settings.register_profile(
    "deterministic", derandomize=True, deadline=None, print_blob=True, max_examples=200 if ALL else 10
)
settings.load_profile("deterministic")

TRANSFORMER_LENS_MAJOR = int(importlib.metadata.version("transformer-lens").split(".")[0])


# torch is imported where tests run: the process that hands them out under `-n` starts seconds earlier without.
@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Sums are added in one order; their last bits still depend on the processor."""
    import torch

    torch.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Freeze what is imported: it lives to the end, so nothing is gained by looking through it again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        gc.enable()


@pytest.fixture(scope="session")
def _every_kind_is_loaded(_one_thread: None) -> None:
    """Import the items of every kind, so that no test is the first to register them and takes them away again."""
    for kind in get_args(registry.Kind):
        registry.names(kind)


@pytest.fixture(autouse=True)
def _alone(_every_kind_is_loaded: None) -> Iterator[None]:
    """A test starts from the same random state in any order, and what it registers goes with it."""
    import torch

    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - libraries under test may still read the global state
    torch.default_generator.manual_seed(0)  # `torch.manual_seed` looks for GPUs, too, which takes a millisecond
    with same_registry():
        yield


@pytest.fixture
def joint_methods(_alone: None) -> None:
    """The joint methods of the tests are registered, with their figure, presets and suite."""
    import example_joint

    example_joint.register_all()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what the installed transformer-lens cannot run, in the only words that .ci/run accepts; what needs a browser
    is slow.

    With `HEADCATS_ORDER=SEED` files come in a random order, and so do the tests within each.
    """
    if "HEADCATS_ORDER" in os.environ:
        draws = random.Random(os.environ["HEADCATS_ORDER"])
        of_file = {path: draws.random() for path in dict.fromkeys(item.path for item in items)}
        items.sort(key=lambda item: (of_file[item.path], draws.random()))
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            item.add_marker("slow")
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(3600))
        for major in (3, 4):
            for mark in item.iter_markers(f"needs_tl{major}"):
                if major != TRANSFORMER_LENS_MAJOR:
                    reason = f"needs transformer-lens {major} ({mark.args[0]})"
                    item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def toy() -> "Toy":
    """A tiny model, rotary, with grouped keys and values; nobody may change it."""
    from toys import tiny_model

    return tiny_model("llama", n_layers=2)


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(("gpt2", "bridge"), id="gpt2", marks=pytest.mark.both_versions),
        pytest.param(("llama", "bridge"), id="llama", marks=pytest.mark.both_versions),
        pytest.param(("llama", "hooked"), id="hooked", marks=pytest.mark.needs_tl3("HookedTransformer")),
    ],
)
def each_toy(request: pytest.FixtureRequest) -> "Toy":
    """Tiny models of both layouts, and of the other class of TransformerLens."""
    from toys import tiny_model

    layout, backend = request.param
    return tiny_model(layout, backend, n_layers=2)


@pytest.fixture(scope="session")
def counting_model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The counting model as a folder on disk; never written to."""
    from counting import counting_folder

    return made_once(tmp_path_factory, "counting-model", lambda home: counting_folder(home / "model")) / "model"


@pytest.fixture(scope="session")
def counting_model(counting_model_folder: Path) -> "HookedModel":
    """The counting model, loaded; nobody may change it."""
    import headcats as hc

    return hc.load_model(counting_model_folder, device="cpu")


@pytest.fixture(scope="session")
def mini() -> "HookedModel":
    """The bundled model; nobody may change it."""
    import headcats as hc

    return hc.load_model("mini", device="cpu")


@pytest.fixture(scope="session")
def counting_run(tmp_path_factory: pytest.TempPathFactory, counting_model: "HookedModel") -> Path:
    """Results folder of a run of the counting suite with three methods, and the evidence for it; never written to.

    `page/report.html` beside it is its report.
    """
    from counting import counting_suite

    import headcats as hc
    from headcats.base.errors import HeadcatsWarning

    def make(home: Path) -> None:
        methods = ["denoising_patch", "second_corruption_patch", "mean_ablation"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadcatsWarning)
            hc.run(
                counting_model, suite=counting_suite(), methods=methods, n_prompts=12, n_demos=2, out=home / "results"
            )
            hc.run_evidence(counting_model, home / "results", n_prompts=4, relabellings=19)
        hc.report(home / "results", home / "page" / "report.html")  # copies of the folder have the tables that it keeps

    return made_once(tmp_path_factory, "counting-run", make) / "results"


def _scope_of_browser(fixture_name: str, config: pytest.Config) -> Literal["session", "module"]:
    """Give the session where only pages are looked at: nothing else in the process can run an event loop meanwhile."""
    return "session" if config.option.markexpr == "browser" else "module"


@pytest.fixture(scope=_scope_of_browser)
def browser() -> Iterator["Browser"]:
    """Headless Chromium."""
    from browser import opened_browser

    with opened_browser() as found:
        yield found


@pytest.fixture
def unchecked_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what headcats itself refuses: CI's type checks would be first."""
    import jaxtyping

    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No program is started and pip is not imported, also where whoever tries goes on without."""
    started: list[Any] = []

    def refuse(*args: Any, **options: Any) -> Any:
        started.append(args)
        raise OSError("no program may be started here")

    for module, name in ((subprocess, "Popen"), (os, "system"), (os, "posix_spawn")):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setitem(sys.modules, "pip", None)
    yield
    assert started == []


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
        monkeypatch.setattr(time, "sleep", lambda seconds: None)
        huggingface_hub.close_session()
        yield served
        huggingface_hub.close_session()
