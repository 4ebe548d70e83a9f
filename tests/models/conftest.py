"""Tiny models of both layouts and classes, local folders of them, and a machine without network."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from toys import LAYOUTS, Toy, save_folder, tiny_model

_HOOKED = pytest.mark.needs_tl3("HookedTransformer")


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("models")
    return {layout: save_folder(base / layout, layout) for layout in LAYOUTS}


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    """A copy to break."""
    return Path(shutil.copytree(folders["llama"], tmp_path / "broken"))


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Every look-up of a host fails at once; yields the hosts asked for."""
    asked: list[Any] = []

    def refuse(host: Any, *args: Any, **options: Any) -> Any:
        asked.append(host)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for variable in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    huggingface_hub.close_session()
    yield asked
    huggingface_hub.close_session()


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache of huggingface_hub."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture(scope="session", params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="session")
def toy(layout: Any) -> Toy:
    return tiny_model(layout)


@pytest.fixture(
    scope="session",
    params=[("gpt2", "bridge"), ("llama", "bridge"), pytest.param(("llama", "hooked"), marks=_HOOKED)],
    ids="-".join,
)
def any_toy(request: pytest.FixtureRequest) -> Toy:
    """Both layouts as a bridge, and a HookedTransformer."""
    return tiny_model(*request.param)
